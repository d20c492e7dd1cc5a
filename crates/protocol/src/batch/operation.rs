//! Operations: the client's encoder and the server's decoder.

use std::iter::FusedIterator;

use honeycomb_layout as constants;
use honeycomb_layout::batch_operation as layout;

use crate::batch::encoding::{CountedDecoder, Decoder, Encoder, Malformed, PartSet, Parts};
use crate::batch::header::{Header, Kind};

/// An operation that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation<'a> {
    /// Returns the value of a key.
    Get(&'a [u8]),
    /// Inserts a pair or replaces its value.
    Put {
        /// The key.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
    },
    /// Inserts a pair if the key is absent.
    Insert {
        /// The key.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
    },
    /// Replaces the value of an existing key.
    Update {
        /// The key.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
    },
    /// Deletes a pair.
    Delete(&'a [u8]),
    /// Replaces a value that equals the expected one.
    CompareAndSwap {
        /// The key.
        key: &'a [u8],
        /// The expected value.
        expected: &'a [u8],
        /// The new value.
        value: &'a [u8],
    },
    /// Returns pairs in the order of their keys.
    Range {
        /// The key at which the range begins. If it is empty, the range begins at the smallest key, or at the
        /// greatest if `backward`.
        from: &'a [u8],
        /// Most pairs to return.
        pairs_max: u16,
        /// Whether the range begins at the largest key that is not greater than `from`. Not allowed together
        /// with `backward`.
        floor_start: bool,
        /// Whether the keys descend.
        backward: bool,
    },
    /// Applies a function to the elements of a value.
    Function {
        /// The key.
        key: &'a [u8],
        /// The way in which the function is applied.
        form: FunctionForm,
        /// The number of the function, as in the library.
        function: u16,
        /// The operands, the vector or the initial element, little-endian.
        operands: &'a [u8],
    },
    /// Applies a function to all pairs of a range, at one version.
    RangeFunction {
        /// The key at which the range begins. If it is empty, the range begins at the smallest key.
        from: &'a [u8],
        /// The key before which the range ends. If it is empty, the range ends after the greatest key.
        to: &'a [u8],
        /// The bytes of a [`RangeFunction`](crate::batch::RangeFunction).
        function: &'a [u8],
    },
}

/// The way in which a function is applied to the elements of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionForm {
    /// Updates a value of one element.
    UpdateScalar,
    /// Updates each element, with the same operands.
    UpdateVectorWithScalar,
    /// Updates each element with the element at the same index of the operands.
    UpdateVectorWithVector,
    /// Returns the fold of all elements, from an initial element on.
    Reduce,
    /// Returns the elements that satisfy a predicate.
    Filter,
}

impl FunctionForm {
    /// All forms.
    pub const ALL: [Self; 5] = [
        Self::UpdateScalar,
        Self::UpdateVectorWithScalar,
        Self::UpdateVectorWithVector,
        Self::Reduce,
        Self::Filter,
    ];

    /// Returns whether it changes the value.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(self, Self::Reduce | Self::Filter)
    }

    const fn opcode(self) -> usize {
        match self {
            Self::UpdateScalar => constants::BATCH_UPDATE_SCALAR,
            Self::UpdateVectorWithScalar => constants::BATCH_UPDATE_VECTOR_WITH_SCALAR,
            Self::UpdateVectorWithVector => constants::BATCH_UPDATE_VECTOR_WITH_VECTOR,
            Self::Reduce => constants::BATCH_REDUCE,
            Self::Filter => constants::BATCH_FILTER,
        }
    }

    fn of_opcode(opcode: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.opcode() == opcode)
    }
}

impl<'a> Operation<'a> {
    /// Returns the key of the operation.
    #[must_use]
    pub fn key(&self) -> &'a [u8] {
        match *self {
            Self::Get(key) | Self::Delete(key) => key,
            Self::Put { key, .. } | Self::Insert { key, .. } | Self::Update { key, .. } => key,
            Self::CompareAndSwap { key, .. } | Self::Function { key, .. } => key,
            Self::Range { from, .. } | Self::RangeFunction { from, .. } => from,
        }
    }

    /// Returns whether the operation may change a pair.
    #[must_use]
    pub fn writes(&self) -> bool {
        match self {
            Self::Get(_) | Self::Range { .. } | Self::RangeFunction { .. } => false,
            Self::Function { form, .. } => form.writes(),
            _ => true,
        }
    }

    /// The first byte without flags, and the parts.
    fn parts(&self) -> (u64, Parts<'a>) {
        let plain = Parts { key: Some(self.key()), ..Parts::default() };
        match *self {
            Self::Get(_) => (constants::BATCH_GET as u64, plain),
            Self::Put { value, .. } => (constants::BATCH_PUT as u64, Parts { value: Some(value), ..plain }),
            Self::Insert { value, .. } => {
                (constants::BATCH_INSERT as u64, Parts { value: Some(value), ..plain })
            }
            Self::Update { value, .. } => {
                (constants::BATCH_UPDATE as u64, Parts { value: Some(value), ..plain })
            }
            Self::Delete(_) => (constants::BATCH_DELETE as u64, plain),
            Self::CompareAndSwap { expected, value, .. } => {
                let parts = Parts { expected: Some(expected), value: Some(value), ..plain };
                (constants::BATCH_COMPARE_AND_SWAP as u64, parts)
            }
            Self::Range { pairs_max, floor_start, backward, .. } => {
                let first = layout::with_floor_start(constants::BATCH_RANGE as u64, floor_start.into());
                let first = layout::with_backward(first, backward.into());
                (first, Parts { number: Some(pairs_max), ..plain })
            }
            Self::Function { form, function, operands, .. } => {
                (form.opcode() as u64, Parts { value: Some(operands), number: Some(function), ..plain })
            }
            Self::RangeFunction { to, function, .. } => {
                let (expected, value) = (Some(to), Some(function));
                (constants::BATCH_RANGE_FUNCTION as u64, Parts { expected, value, ..plain })
            }
        }
    }

    #[inline]
    fn read(decoder: &mut Decoder<'a>) -> Result<Self, Malformed> {
        let first = decoder.first()?;
        let how = u64::from(first);
        let (floor_start, backward) = (layout::floor_start(how) != 0, layout::backward(how) != 0);
        let opcode = layout::opcode(how) as usize;
        let directed = floor_start || backward;
        if opcode == constants::BATCH_GET && !directed {
            let parts = decoder.parts(first, PartSet { key: true, ..PartSet::default() })?;
            return Ok(Self::Get(parts.key.unwrap_or_default()));
        }
        let is_range = opcode == constants::BATCH_RANGE;
        let form = FunctionForm::of_opcode(opcode);
        let is_range_function = opcode == constants::BATCH_RANGE_FUNCTION;
        let known = (constants::BATCH_GET..=constants::BATCH_RANGE_FUNCTION).contains(&opcode);
        if !known || (directed && !is_range) || (floor_start && backward) {
            return Err(Malformed::FirstByte(first));
        }
        let part_set = PartSet {
            key: true,
            expected: opcode == constants::BATCH_COMPARE_AND_SWAP || is_range_function,
            value: !is_range && opcode != constants::BATCH_DELETE,
            number: is_range || form.is_some(),
        };
        let parts = decoder.parts(first, part_set)?;
        let (key, value) = (parts.key.unwrap_or_default(), parts.value.unwrap_or_default());
        let (number, expected) = (parts.number.unwrap_or(0), parts.expected.unwrap_or_default());
        if let Some(form) = form {
            return Ok(Self::Function { key, form, function: number, operands: value });
        }
        Ok(match opcode {
            constants::BATCH_PUT => Self::Put { key, value },
            constants::BATCH_INSERT => Self::Insert { key, value },
            constants::BATCH_UPDATE => Self::Update { key, value },
            constants::BATCH_DELETE => Self::Delete(key),
            constants::BATCH_COMPARE_AND_SWAP => Self::CompareAndSwap { key, expected, value },
            constants::BATCH_RANGE_FUNCTION => {
                Self::RangeFunction { from: key, to: expected, function: value }
            }
            _ => Self::Range { from: key, pairs_max: number, floor_start, backward },
        })
    }
}

/// Iterates over the operations of a request. Ends after the first malformed operation.
#[derive(Debug, Clone)]
pub struct Operations<'a>(CountedDecoder<'a>);

impl<'a> Operations<'a> {
    /// Returns the operations in the bytes after a header with this count.
    #[must_use]
    pub fn new(count: u16, bytes: &'a [u8]) -> Self {
        Self(CountedDecoder::new(count, bytes))
    }
}

impl<'a> Iterator for Operations<'a> {
    type Item = Result<Operation<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(Operation::read)
    }
}

impl FusedIterator for Operations<'_> {}

/// A request that a client encodes: a datagram of operations. It can be reused.
#[derive(Debug, Clone)]
pub struct RequestDatagram {
    bytes: Vec<u8>,
    count: u16,
    writes: bool,
    payload_bytes: usize,
    encoder: Encoder,
}

impl RequestDatagram {
    /// Creates a request without operations, of at most `payload_bytes` bytes.
    #[must_use]
    pub fn new(payload_bytes: usize) -> Self {
        let bytes = vec![0; Header::SIZE];
        Self { bytes, count: 0, writes: false, payload_bytes, encoder: Encoder::default() }
    }

    /// Removes all operations.
    pub fn clear(&mut self) {
        self.bytes.truncate(Header::SIZE);
        (self.count, self.writes, self.encoder) = (0, false, Encoder::default());
    }

    /// Adds an operation. Returns false, and changes nothing, if it does not fit.
    pub fn push(&mut self, operation: &Operation<'_>) -> bool {
        let (first, parts) = operation.parts();
        let fits = self.count < u16::MAX
            && self.encoder.write(first as u8, &parts, &mut self.bytes, self.payload_bytes);
        self.count += u16::from(fits);
        self.writes |= fits && operation.writes();
        fits
    }

    /// Returns the number of operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count.into()
    }

    /// Returns whether there are no operations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns whether an operation may change a pair.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.writes
    }

    /// Returns the datagram with a header, whose kind, count and position the request sets.
    pub fn datagram(&mut self, header: Header) -> &[u8] {
        let header = Header { kind: Kind::Request, count: self.count, position: 0, ..header };
        self.bytes[..Header::SIZE].copy_from_slice(&header.bytes());
        &self.bytes
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Owned operations. They have few different sizes, so that some repeat.
    pub(crate) fn any_operation() -> impl Strategy<Value = (u8, Vec<u8>, Vec<u8>, Vec<u8>, u16)> {
        let bytes = || prop::collection::vec(0..3_u8, 0..4);
        (0..15_u8, bytes(), bytes(), bytes(), any::<u16>())
    }

    pub(crate) fn borrowed(
        (opcode, key, expected, value, pairs_max): &(u8, Vec<u8>, Vec<u8>, Vec<u8>, u16),
    ) -> Operation<'_> {
        match opcode {
            0 => Operation::Get(key),
            1 => Operation::Put { key, value },
            2 => Operation::Insert { key, value },
            3 => Operation::Update { key, value },
            4 => Operation::Delete(key),
            5 => Operation::CompareAndSwap { key, expected, value },
            14.. => Operation::RangeFunction { from: key, to: expected, function: value },
            form @ 9.. => Operation::Function {
                key,
                form: FunctionForm::ALL[usize::from(form - 9)],
                function: *pairs_max,
                operands: value,
            },
            how => Operation::Range {
                from: key,
                pairs_max: *pairs_max,
                floor_start: *how == 7,
                backward: *how == 8,
            },
        }
    }

    fn parsed(datagram: &[u8]) -> Result<Vec<Operation<'_>>, Malformed> {
        let (header, rest) = Header::parse(datagram)?;
        Operations::new(header.count, rest).collect()
    }

    #[test]
    fn repetitions_are_omitted() {
        let mut requests = RequestDatagram::new(100);
        let red = |key| Operation::Put { key, value: b"red" };
        for operation in [red(b"apple"), red(b"grape"), red(b"cherry"), Operation::Get(b"banana")] {
            assert!(requests.push(&operation));
        }
        let swap = Operation::CompareAndSwap { key: b"banana", expected: b"", value: b"sun" };
        assert!(requests.push(&swap) && requests.writes());
        let bytes = requests.datagram(Header::of(Kind::Hello))[Header::SIZE..].to_vec();
        let expected = [
            &b"\x02\x05\0\x03\0applered"[..],
            b"\x32grape",
            b"\x22\x06\0cherry",
            b"\x11banana",
            b"\x06\x06\0\0\0\x03\0bananasun",
        ];
        assert_eq!(bytes.escape_ascii().to_string(), expected.concat().escape_ascii().to_string());
    }

    #[test]
    fn a_full_request_is_unchanged() {
        let mut requests = RequestDatagram::new(Header::SIZE + 8);
        assert!(requests.push(&Operation::Get(b"apple")));
        assert!(!requests.push(&Operation::Get(b"a")));
        let expected = [Operation::Get(b"apple")];
        assert_eq!(parsed(requests.datagram(Header::of(Kind::Request))).unwrap(), expected);
        requests.clear();
        assert!(requests.is_empty() && requests.push(&Operation::Get(b"fig")));
    }

    #[test]
    fn invalid_operations_are_rejected() {
        let of = |count, bytes: &'static [u8]| Operations::new(count, bytes).collect::<Result<Vec<_>, _>>();
        assert_eq!(of(1, b"\x0f\x01\0a"), Err(Malformed::FirstByte(15)));
        assert_eq!(of(1, b"\x0e\x01\0\x01\0\x01\0abc"), Err(Malformed::FirstByte(14)));
        assert_eq!(of(1, b"\x4d\x01\0\x01\0\x01\0abc"), Err(Malformed::FirstByte(0x4d)));
        assert_eq!(of(1, b"\x48\x01\0\0\0\0\0a"), Err(Malformed::FirstByte(0x48)));
        assert_eq!(of(1, b"\x08\x01\0\0\0\x07"), Err(Malformed::Truncated));
        assert_eq!(of(1, b"\x00\x01\0a"), Err(Malformed::FirstByte(0)));
        assert_eq!(of(1, b"\x41\x01\0a"), Err(Malformed::FirstByte(0x41)));
        assert_eq!(of(1, b"\xc7\0\0\0\0"), Err(Malformed::FirstByte(0xc7)));
        assert_eq!(of(1, b"\x11a"), Err(Malformed::NothingToRepeat));
        assert_eq!(of(1, b"\x22\x01\0a"), Err(Malformed::NothingToRepeat));
        assert_eq!(of(2, b"\x01\x01\0a\x12b"), Err(Malformed::NothingToRepeat));
        assert_eq!(of(1, b"\x01\x02\0a"), Err(Malformed::Truncated));
        assert_eq!(of(1, b"\x01\x01\0ab"), Err(Malformed::TrailingBytes(1)));
        assert_eq!(of(0, b""), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn operations_round_trip(operations in prop::collection::vec(any_operation(), 0..40)) {
            let mut requests = RequestDatagram::new(1000);
            let operations: Vec<Operation<'_>> = operations.iter().map(borrowed).collect();
            operations.iter().for_each(|operation| assert!(requests.push(operation)));
            prop_assert_eq!(requests.writes(), operations.iter().any(Operation::writes));
            prop_assert_eq!(parsed(requests.datagram(Header::of(Kind::Request))).unwrap(), operations);
        }

        #[test]
        fn arbitrary_bytes_are_operations_or_rejected(
            count in 0..9_u16,
            bytes in prop::collection::vec(0..60_u8, 0..60),
        ) {
            let operations = Operations::new(count, &bytes).take(10).collect::<Vec<_>>();
            prop_assert!(operations.len() <= usize::from(count) + 1);
        }
    }
}

//! Operations on keys of unordered tables: the part of a request that reads do not have.
//!
//! ```text
//! | unordered_request, 32 bytes | key | expected value | value | zeros up to a multiple of 8 |
//! ```
//! Its two lengths are where those of the keys of other requests are. So a queue finds the next request
//! without knowledge of operations.

use honeycomb_hashtable::Operation;
use honeycomb_layout::{
    OPCODE_UNORDERED_COMPARE_AND_DELETE, OPCODE_UNORDERED_COMPARE_AND_SWAP, OPCODE_UNORDERED_DELETE,
    OPCODE_UNORDERED_FILTER, OPCODE_UNORDERED_GET, OPCODE_UNORDERED_INSERT, OPCODE_UNORDERED_PUT,
    OPCODE_UNORDERED_REDUCE, OPCODE_UNORDERED_UPDATE, OPCODE_UNORDERED_UPDATE_SCALAR,
    OPCODE_UNORDERED_UPDATE_VECTOR_WITH_SCALAR, OPCODE_UNORDERED_UPDATE_VECTOR_WITH_VECTOR,
    REQUEST_VALUE_BYTES_MAX, request, unordered_request as layout,
};

const _: () = {
    assert!(layout::SIZE == request::SIZE && layout::IDENTIFIER_OFFSET == request::IDENTIFIER_OFFSET);
    assert!(layout::TABLE_NUMBER_OFFSET == request::TABLE_NUMBER_OFFSET);
    assert!(layout::KEY_LENGTH_OFFSET == request::LOWER_LENGTH_OFFSET);
    assert!(layout::VALUES_LENGTH_OFFSET == request::UPPER_LENGTH_OFFSET);
    assert!(layout::OPCODE_OFFSET == request::OPCODE_OFFSET);
    assert!(layout::FUNCTION_NUMBER_OFFSET == 16 && layout::EXPECTED_LENGTH_OFFSET == 20);
    assert!(2 * REQUEST_VALUE_BYTES_MAX <= u16::MAX as usize);
};

/// The encoded parts of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts<'o> {
    pub(crate) opcode: usize,
    /// The number of the function; 0 without one.
    pub(crate) function: u32,
    pub(crate) expected: &'o [u8],
    /// The value, the operands of the function, its vector or its initial element.
    pub(crate) value: &'o [u8],
}

/// Whether an opcode is that of an operation on an unordered table.
#[inline]
pub(crate) fn is_unordered(opcode: usize) -> bool {
    (OPCODE_UNORDERED_GET..=OPCODE_UNORDERED_FILTER).contains(&opcode)
}

impl<'o> Parts<'o> {
    pub(crate) fn of(operation: &Operation<'o>) -> Self {
        let applied = |opcode, function, value| Self { opcode, function, expected: &[], value };
        let plain = |opcode, value| applied(opcode, 0, value);
        match *operation {
            Operation::Get => plain(OPCODE_UNORDERED_GET, &[]),
            Operation::Put(value) => plain(OPCODE_UNORDERED_PUT, value),
            Operation::Insert(value) => plain(OPCODE_UNORDERED_INSERT, value),
            Operation::Update(value) => plain(OPCODE_UNORDERED_UPDATE, value),
            Operation::Delete => plain(OPCODE_UNORDERED_DELETE, &[]),
            Operation::CompareAndSwap { expected, value } => {
                Self { expected, ..plain(OPCODE_UNORDERED_COMPARE_AND_SWAP, value) }
            }
            Operation::CompareAndDelete { expected } => {
                Self { expected, ..plain(OPCODE_UNORDERED_COMPARE_AND_DELETE, &[]) }
            }
            Operation::UpdateScalar { function, operands } => {
                applied(OPCODE_UNORDERED_UPDATE_SCALAR, function, operands)
            }
            Operation::UpdateVectorWithScalar { function, operands } => {
                applied(OPCODE_UNORDERED_UPDATE_VECTOR_WITH_SCALAR, function, operands)
            }
            Operation::UpdateVectorWithVector { function, vector } => {
                applied(OPCODE_UNORDERED_UPDATE_VECTOR_WITH_VECTOR, function, vector)
            }
            Operation::Reduce { function, initial } => applied(OPCODE_UNORDERED_REDUCE, function, initial),
            Operation::Filter { function, operands } => applied(OPCODE_UNORDERED_FILTER, function, operands),
        }
    }

    /// Decodes the operation. `None` if the opcode is not that of one, or the operation does not have one of
    /// the parts.
    pub(crate) fn operation(&self) -> Option<Operation<'o>> {
        let Self { opcode, function, expected, value } = *self;
        let operation = match opcode {
            OPCODE_UNORDERED_GET => Operation::Get,
            OPCODE_UNORDERED_PUT => Operation::Put(value),
            OPCODE_UNORDERED_INSERT => Operation::Insert(value),
            OPCODE_UNORDERED_UPDATE => Operation::Update(value),
            OPCODE_UNORDERED_DELETE => Operation::Delete,
            OPCODE_UNORDERED_COMPARE_AND_SWAP => Operation::CompareAndSwap { expected, value },
            OPCODE_UNORDERED_COMPARE_AND_DELETE => Operation::CompareAndDelete { expected },
            OPCODE_UNORDERED_UPDATE_SCALAR => Operation::UpdateScalar { function, operands: value },
            OPCODE_UNORDERED_UPDATE_VECTOR_WITH_SCALAR => {
                Operation::UpdateVectorWithScalar { function, operands: value }
            }
            OPCODE_UNORDERED_UPDATE_VECTOR_WITH_VECTOR => {
                Operation::UpdateVectorWithVector { function, vector: value }
            }
            OPCODE_UNORDERED_REDUCE => Operation::Reduce { function, initial: value },
            OPCODE_UNORDERED_FILTER => Operation::Filter { function, operands: value },
            _ => return None,
        };
        // A part that the operation does not have is absent when it is encoded again.
        (Self::of(&operation).sizes() == self.sizes()).then_some(operation)
    }

    /// The length of the first value that is too long for a request.
    pub(crate) fn too_long(&self) -> Option<usize> {
        [self.expected.len(), self.value.len()].into_iter().find(|bytes| *bytes > REQUEST_VALUE_BYTES_MAX)
    }

    fn sizes(&self) -> (u32, usize, usize) {
        (self.function, self.expected.len(), self.value.len())
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use honeycomb_hashtable as hashtable;
    use honeycomb_layout::KEY_BYTES_MAX;
    use honeycomb_testing::seed;

    use super::*;
    use crate::request::{Read, Request, Requests, TooLong, parse};
    use crate::status::Status;

    /// All operations, with these parts.
    fn operations<'o>(function: u32, expected: &'o [u8], value: &'o [u8]) -> [Operation<'o>; 12] {
        [
            Operation::Get,
            Operation::Put(value),
            Operation::Insert(value),
            Operation::Update(value),
            Operation::Delete,
            Operation::CompareAndSwap { expected, value },
            Operation::CompareAndDelete { expected },
            Operation::UpdateScalar { function, operands: value },
            Operation::UpdateVectorWithScalar { function, operands: value },
            Operation::UpdateVectorWithVector { function, vector: value },
            Operation::Reduce { function, initial: value },
            Operation::Filter { function, operands: value },
        ]
    }

    fn request<'o>(key: &'o [u8], operation: Operation<'o>) -> Request<'o> {
        let read = Read::Unordered(hashtable::Request { key, operation });
        Request { identifier: 0x0807, table: 0x2524, version: None, read }
    }

    fn encoded(request: &Request<'_>) -> Result<Vec<u8>, TooLong> {
        let mut requests = Requests::default();
        let pushed = requests.push(request);
        assert!(pushed.is_ok() || requests.bytes().is_empty(), "an error appends nothing");
        pushed.map(|()| requests.bytes().to_vec())
    }

    fn status_of(bytes: &[u8]) -> Option<Status> {
        parse(bytes).0.err().map(|rejected| rejected.status)
    }

    #[test]
    fn operations_follow_the_layout() {
        let swap = Operation::CompareAndSwap { expected: b"old", value: b"value" };
        let bytes = encoded(&request(b"key", swap)).unwrap();
        let words = [0x0807, 0, 3 << 32, 0x2524 | 3 << 16 | 8 << 32 | 12 << 48_u64];
        assert_eq!(bytes[..32], words.map(u64::to_le_bytes).concat());
        assert_eq!(&bytes[32..], b"keyoldvalue\0\0\0\0\0");
        let scalar = Operation::UpdateScalar { function: 0x1312_1110, operands: &[5] };
        let bytes = encoded(&request(b"key", scalar)).unwrap();
        let words = [0x0807, 0, 0x1312_1110, 0x2524 | 3 << 16 | 1 << 32 | 14 << 48_u64];
        assert_eq!(bytes[..32], words.map(u64::to_le_bytes).concat());
        let opcodes = operations(1, b"", b"").map(|operation| Parts::of(&operation).opcode);
        assert_eq!(opcodes, std::array::from_fn(|index| OPCODE_UNORDERED_GET + index));
    }

    #[test]
    fn every_operation_is_decoded() {
        let mut rng = StdRng::seed_from_u64(seed());
        let bytes = vec![7; REQUEST_VALUE_BYTES_MAX];
        for _ in 0..2_000 {
            let mut part = |least, most: usize| {
                let length = if rng.random() { rng.random_range(least..=most.min(20)) } else { most };
                &bytes[..length]
            };
            let (key, most) = (part(1, KEY_BYTES_MAX), REQUEST_VALUE_BYTES_MAX);
            let (expected, value) = (part(0, most), part(0, most));
            for operation in operations(rng.random(), expected, value) {
                let request = request(key, operation);
                let bytes = encoded(&request).unwrap();
                let (parsed, length) = parse(&bytes);
                assert_eq!(length, bytes.len());
                assert_eq!(format!("{:?}", parsed.unwrap()), format!("{request:?}"));
            }
        }
    }

    #[test]
    fn keys_and_values_at_below_and_above_their_limits() {
        let long = vec![7; REQUEST_VALUE_BYTES_MAX + 1];
        let (key, value) = (&long[..KEY_BYTES_MAX], &long[1..]);
        let swap = |expected, value| Operation::CompareAndSwap { expected, value };
        for bytes in [REQUEST_VALUE_BYTES_MAX - 1, REQUEST_VALUE_BYTES_MAX] {
            let bytes = encoded(&request(key, swap(value, &long[..bytes]))).unwrap();
            assert_eq!(status_of(&bytes), None);
        }
        let error = |key, operation| encoded(&request(key, operation)).unwrap_err().to_string();
        let text = "a value of 32768 bytes: at most 32767 are allowed in a request";
        assert_eq!(error(key, swap(b"", &long)), text);
        assert_eq!(error(key, swap(&long, b"")), text);
        let text = "a key of 461 bytes: at most 460 are allowed";
        assert_eq!(error(&long[..461], Operation::Get), text);
        let empty = encoded(&request(b"", Operation::Get)).unwrap();
        assert_eq!(status_of(&empty), Some(Status::KeyLength));
    }

    /// Gives each operation parts that it does not have.
    #[test]
    fn parts_of_other_operations_are_malformed() {
        for operation in operations(1, b"e", b"v") {
            let parts = Parts::of(&operation);
            assert_eq!(parts.operation(), Some(operation));
            let others = [
                (Parts { function: 2, ..parts }, parts.function == 0),
                (Parts { expected: b"ee", ..parts }, parts.expected.is_empty()),
                (Parts { value: b"vv", ..parts }, parts.value.is_empty()),
            ];
            for (other, is_malformed) in others {
                assert_eq!(other.operation().is_none(), is_malformed, "{other:?}");
            }
        }
        for opcode in [OPCODE_UNORDERED_GET - 1, OPCODE_UNORDERED_FILTER + 1] {
            assert!(!is_unordered(opcode));
            assert_eq!(Parts { opcode, function: 0, expected: b"", value: b"" }.operation(), None);
        }
    }

    #[test]
    fn an_operation_has_neither_version_nor_flags() {
        let get = request(b"key", Operation::Get);
        let with_version = encoded(&Request { version: Some(1), ..get }).unwrap();
        assert_eq!(status_of(&with_version), Some(Status::Malformed));
        for bit in 0..8 {
            let mut bytes = encoded(&get).unwrap();
            bytes[request::FLAGS_OFFSET] = 1 << bit;
            assert_eq!(status_of(&bytes), Some(Status::Malformed), "bit {bit}");
        }
    }

    #[test]
    fn arbitrary_bytes_are_decoded_or_rejected() {
        let mut rng = StdRng::seed_from_u64(seed());
        let all = operations(7, b"expected", b"value").map(|operation| encoded(&request(b"key", operation)));
        for at in 0..200_000 {
            let mut bytes = all[at % all.len()].clone().unwrap();
            for _ in 0..rng.random_range(1..4) {
                let at = rng.random_range(0..bytes.len());
                bytes[at] = if rng.random() { rng.random() } else { bytes[at] ^ 1 << rng.random_range(0..8) };
            }
            let (parsed, length) = parse(&bytes);
            assert!((1..=bytes.len()).contains(&length), "{bytes:?}");
            // A valid request is encoded to the same bytes, except for the padding, which is ignored.
            if let Ok(request) = parsed {
                let again = encoded(&request).unwrap();
                let end = request::SIZE + [26, 28].map(|at| usize::from(bytes[at])).iter().sum::<usize>();
                assert_eq!((again.len(), &again[..end]), (length, &bytes[..end]), "{bytes:?}");
            }
        }
    }
}

//! The encoding that operations and items share: a first byte with flags, sizes, then bytes. The encoder
//! omits sizes and values that repeat earlier ones of the same datagram.

use std::ops::Range;

use honeycomb_layout::{batch_item, batch_operation};

use crate::batch::header::Header;

/// Why a datagram does not belong to this protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The datagram is shorter than a header.
    #[error("datagram of {0} bytes: a batch has at least {size} bytes", size = Header::SIZE)]
    Short(usize),
    /// The kind is unknown, or the status is invalid for the kind.
    #[error("unknown kind {code} with status {status}")]
    Kind {
        /// The kind.
        code: usize,
        /// The status.
        status: usize,
    },
    /// The first byte of an operation or item is invalid.
    #[error("invalid first byte {0:#04x}")]
    FirstByte(u8),
    /// The datagram ends before its last operation or item.
    #[error("truncated: the datagram ends before its last operation or item")]
    Truncated,
    /// Bytes follow the last operation or item.
    #[error("{0} bytes after the last operation or item")]
    TrailingBytes(usize),
    /// A flag repeats sizes or a value, and there are no earlier ones.
    #[error("a flag repeats sizes or a value, and there are no earlier ones")]
    NothingToRepeat,
}

/// Flags in the first byte of operations and items.
const SAME_SIZES: u8 = 1 << batch_operation::SAME_SIZES_SHIFT;
const SAME_VALUE: u8 = 1 << batch_operation::SAME_VALUE_SHIFT;
const _: () = {
    assert!(batch_operation::SAME_SIZES_SHIFT == batch_item::SAME_SIZES_SHIFT);
    assert!(batch_operation::SAME_VALUE_SHIFT == batch_item::SAME_VALUE_SHIFT);
    assert!(batch_operation::OPCODE_BITS == batch_item::STATUS_BITS);
};
/// Bytes of an encoded size.
const SIZE_BYTES: usize = 2;

/// The parts of an operation or item. Missing parts are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Parts<'a> {
    pub(super) key: Option<&'a [u8]>,
    pub(super) expected: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
    /// Never omitted.
    pub(super) number: Option<u16>,
}

/// Which parts an operation or item has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PartSet {
    pub(super) key: bool,
    pub(super) expected: bool,
    pub(super) value: bool,
    pub(super) number: bool,
}

/// Decodes as many operations or items as a header counts. Ends after the first malformed one.
#[derive(Debug, Clone)]
pub(super) struct CountedDecoder<'a> {
    decoder: Decoder<'a>,
    left: u16,
}

impl<'a> CountedDecoder<'a> {
    pub(super) fn new(count: u16, bytes: &'a [u8]) -> Self {
        Self { decoder: Decoder::new(bytes), left: count }
    }

    /// Decodes the next one with `read`.
    #[inline]
    pub(super) fn next<T>(
        &mut self,
        read: impl FnOnce(&mut Decoder<'a>) -> Result<T, Malformed>,
    ) -> Option<Result<T, Malformed>> {
        if self.left == 0 {
            let rest = self.decoder.rest();
            self.decoder = Decoder::new(&[]);
            return (rest > 0).then_some(Err(Malformed::TrailingBytes(rest)));
        }
        self.left -= 1;
        let read = read(&mut self.decoder);
        if read.is_err() {
            *self = Self::new(0, &[]);
        }
        Some(read)
    }
}

/// Decodes operations or items one after the other.
#[derive(Debug, Clone)]
pub(super) struct Decoder<'a> {
    rest: &'a [u8],
    key: Option<usize>,
    expected: Option<usize>,
    value: Option<&'a [u8]>,
}

impl<'a> Decoder<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, key: None, expected: None, value: None }
    }

    /// The number of bytes left.
    fn rest(&self) -> usize {
        self.rest.len()
    }

    /// Decodes the first byte of an operation or item.
    #[inline]
    pub(super) fn first(&mut self) -> Result<u8, Malformed> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    /// Decodes the parts after a first byte.
    #[inline]
    pub(super) fn parts(&mut self, first: u8, part_set: PartSet) -> Result<Parts<'a>, Malformed> {
        let (same_sizes, same_value) = (first & SAME_SIZES != 0, first & SAME_VALUE != 0);
        let key = self.size(part_set.key, same_sizes, self.key)?;
        let expected = self.size(part_set.expected, same_sizes, self.expected)?;
        let value = self.size(part_set.value && !same_value, same_sizes, self.value.map(<[u8]>::len))?;
        self.key = key.or(self.key);
        self.expected = expected.or(self.expected);
        let number = if part_set.number { Some(self.number()?) } else { None };
        let key = key.map(|size| self.bytes(size)).transpose()?;
        let expected = expected.map(|size| self.bytes(size)).transpose()?;
        if let Some(size) = value {
            self.value = Some(self.bytes(size)?);
        } else if part_set.value && self.value.is_none() {
            return Err(Malformed::NothingToRepeat);
        }
        Ok(Parts { key, expected, value: self.value.filter(|_| part_set.value), number })
    }

    /// Decodes the size of a part, if `there`.
    #[inline]
    fn size(&mut self, there: bool, same: bool, last: Option<usize>) -> Result<Option<usize>, Malformed> {
        match (there, same) {
            (false, _) => Ok(None),
            (true, true) => last.map(Some).ok_or(Malformed::NothingToRepeat),
            (true, false) => Ok(Some(self.number()?.into())),
        }
    }

    #[inline]
    fn number(&mut self) -> Result<u16, Malformed> {
        let bytes = self.bytes(SIZE_BYTES)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    #[inline]
    fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(Malformed::Truncated)?;
        self.rest = rest;
        Ok(bytes)
    }
}

/// The sizes and the value that were last encoded, to omit repetitions.
#[derive(Debug, Clone, Default)]
pub(super) struct Encoder {
    key: Option<usize>,
    expected: Option<usize>,
    /// The position of the value in the output.
    value: Option<Range<usize>>,
}

impl Encoder {
    /// Appends a first byte and its parts to `out`, and returns true. Returns false, and appends nothing, if
    /// `out` would become longer than `end`.
    #[inline]
    pub(super) fn write(&mut self, first: u8, parts: &Parts<'_>, out: &mut Vec<u8>, end: usize) -> bool {
        let size = |part: Option<&[u8]>| part.map(<[u8]>::len);
        let same_value = parts.value.is_some() && parts.value == self.value.clone().map(|range| &out[range]);
        let value = parts.value.filter(|_| !same_value);
        let is_as = |part: Option<usize>, last: Option<usize>| part.is_none() || part == last;
        let same_sizes = is_as(size(parts.key), self.key)
            && is_as(size(parts.expected), self.expected)
            && is_as(size(value), self.value.as_ref().map(ExactSizeIterator::len));
        let bytes = [parts.key, parts.expected, value].into_iter().flatten();
        let sizes = bytes.clone().count();
        let length = 1
            + if same_sizes { 0 } else { sizes * SIZE_BYTES }
            + parts.number.map_or(0, |_| SIZE_BYTES)
            + bytes.clone().map(<[u8]>::len).sum::<usize>();
        if out.len() + length > end || bytes.clone().any(|part| part.len() > 0xffff) {
            return false;
        }
        let flag = |flag: u8, set: bool| if set { flag } else { 0 };
        out.push(first | flag(SAME_SIZES, same_sizes && sizes > 0) | flag(SAME_VALUE, same_value));
        if !same_sizes {
            bytes.clone().for_each(|part| out.extend_from_slice(&(part.len() as u16).to_le_bytes()));
        }
        parts.number.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        bytes.for_each(|part| out.extend_from_slice(part));
        self.key = size(parts.key).or(self.key);
        self.expected = size(parts.expected).or(self.expected);
        if let Some(value) = value {
            self.value = Some(out.len() - value.len()..out.len());
        }
        true
    }
}

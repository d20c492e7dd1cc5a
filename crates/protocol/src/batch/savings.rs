//! What operations and items are made of: a first byte, sizes, bytes; and what is left out of them because it
//! is as it was before in the same datagram.

use std::ops::Range;

use honeycomb_layout::{batch_item, batch_operation};

use crate::batch::header::Header;

/// The bytes are no datagram of this protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The header is not whole.
    #[error("a datagram of {0} bytes: a batch has at least {size}", size = Header::SIZE)]
    Short(usize),
    /// There is no such kind, or it has no such status.
    #[error("no kind {code} with status {status}")]
    Kind {
        /// The kind.
        code: usize,
        /// The status.
        status: usize,
    },
    /// An operation or an item begins with a byte that none begins with.
    #[error("nothing begins with byte {0:#04x}")]
    First(u8),
    /// The datagram ends within an operation or an item.
    #[error("the datagram ends before what its header counts")]
    CutOff,
    /// It goes on after the last one.
    #[error("{0} bytes after what the header counts")]
    Rest(usize),
    /// Sizes or a value are said to be as before, and there were none.
    #[error("sizes or a value as before, and there were none before")]
    NothingBefore,
}

/// In the first byte of operations and of items.
const SAME_SIZES: u8 = 1 << batch_operation::SAME_SIZES_SHIFT;
const SAME_VALUE: u8 = 1 << batch_operation::SAME_VALUE_SHIFT;
const _: () = {
    assert!(batch_operation::SAME_SIZES_SHIFT == batch_item::SAME_SIZES_SHIFT);
    assert!(batch_operation::SAME_VALUE_SHIFT == batch_item::SAME_VALUE_SHIFT);
    assert!(batch_operation::OPCODE_BITS == batch_item::STATUS_BITS);
};
/// Bytes of a size.
const SIZE_BYTES: usize = 2;

/// What an operation or an item holds; parts that it has not are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Parts<'a> {
    pub(super) key: Option<&'a [u8]>,
    pub(super) expected: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
    /// Not left out, and not counted as a size.
    pub(super) number: Option<u16>,
}

/// Which parts there are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shape {
    pub(super) key: bool,
    pub(super) expected: bool,
    pub(super) value: bool,
    pub(super) number: bool,
}

/// As many as a header counts, and nothing after the first that is malformed.
#[derive(Debug, Clone)]
pub(super) struct Counted<'a> {
    reader: Reader<'a>,
    left: u16,
}

impl<'a> Counted<'a> {
    pub(super) fn new(count: u16, bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes), left: count }
    }

    /// The next one, as `read` finds it.
    #[inline]
    pub(super) fn next<T>(
        &mut self,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, Malformed>,
    ) -> Option<Result<T, Malformed>> {
        if self.left == 0 {
            let rest = self.reader.rest();
            self.reader = Reader::new(&[]);
            return (rest > 0).then_some(Err(Malformed::Rest(rest)));
        }
        self.left -= 1;
        let read = read(&mut self.reader);
        if read.is_err() {
            *self = Self::new(0, &[]);
        }
        Some(read)
    }
}

/// Reads one after the other.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    key: Option<usize>,
    expected: Option<usize>,
    value: Option<&'a [u8]>,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, key: None, expected: None, value: None }
    }

    /// Bytes that were not read.
    fn rest(&self) -> usize {
        self.rest.len()
    }

    /// The next first byte.
    #[inline]
    pub(super) fn first(&mut self) -> Result<u8, Malformed> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    /// The parts that follow a first byte.
    #[inline]
    pub(super) fn parts(&mut self, first: u8, shape: Shape) -> Result<Parts<'a>, Malformed> {
        let (same_sizes, same_value) = (first & SAME_SIZES != 0, first & SAME_VALUE != 0);
        let key = self.size(shape.key, same_sizes, self.key)?;
        let expected = self.size(shape.expected, same_sizes, self.expected)?;
        let value = self.size(shape.value && !same_value, same_sizes, self.value.map(<[u8]>::len))?;
        self.key = key.or(self.key);
        self.expected = expected.or(self.expected);
        let number = if shape.number { Some(self.number()?) } else { None };
        let key = key.map(|size| self.bytes(size)).transpose()?;
        let expected = expected.map(|size| self.bytes(size)).transpose()?;
        if let Some(size) = value {
            self.value = Some(self.bytes(size)?);
        } else if shape.value && self.value.is_none() {
            return Err(Malformed::NothingBefore);
        }
        Ok(Parts { key, expected, value: self.value.filter(|_| shape.value), number })
    }

    /// The size of a part, if there is one.
    #[inline]
    fn size(&mut self, there: bool, same: bool, last: Option<usize>) -> Result<Option<usize>, Malformed> {
        match (there, same) {
            (false, _) => Ok(None),
            (true, true) => last.map(Some).ok_or(Malformed::NothingBefore),
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
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(Malformed::CutOff)?;
        self.rest = rest;
        Ok(bytes)
    }
}

/// What was last written, to leave out what is as before.
#[derive(Debug, Clone, Default)]
pub(super) struct Written {
    key: Option<usize>,
    expected: Option<usize>,
    /// Where the value is.
    value: Option<Range<usize>>,
}

impl Written {
    /// Appends a first byte and its parts if `out` becomes no longer than `end`: whether it has.
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

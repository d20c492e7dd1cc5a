//! Items of replies. Each operation has one item, and a range has one more for each of its pairs.

use std::iter::FusedIterator;

use honeycomb_layout as constants;
use honeycomb_layout::batch_item as layout;

use crate::batch::encoding::{CountedDecoder, Decoder, Malformed, PartSet, Parts};

/// The result of an operation, or a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// A write has taken effect, or this is the end of the pairs of a range.
    Done {
        /// Whether the range has further pairs.
        more: bool,
    },
    /// The value of a get, the result of a reduction or a filter, or the original value of an updated scalar.
    /// After a part of a range, the key after which its function goes on.
    Found(&'a [u8]),
    /// A pair of a range, or the result of a reduction of a range. Further items of the range follow.
    Pair {
        /// The key; empty for the result of a reduction.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
    },
    /// The key is absent.
    Absent,
    /// The key of an insert exists.
    Exists,
    /// The value differs from the expected one.
    Differs,
    /// The value exists but is longer than any datagram has room for.
    TooLarge,
    /// The value exists but the reply is full.
    NoRoom,
    /// The key is empty or too long.
    KeyLength,
    /// The store has no room for the write.
    OutOfMemory,
    /// The stored pair has a format that servers do not write, or the store failed.
    Failed,
    /// The function does not exist, has other operands, or the value does not consist of its elements.
    NotApplicable,
}

impl<'a> Item<'a> {
    /// The items that consist of one byte.
    const PLAIN: [(Self, usize); 10] = [
        (Self::Done { more: false }, constants::BATCH_DONE),
        (Self::Absent, constants::BATCH_ABSENT),
        (Self::Exists, constants::BATCH_EXISTS),
        (Self::Differs, constants::BATCH_DIFFERS),
        (Self::TooLarge, constants::BATCH_TOO_LARGE),
        (Self::NoRoom, constants::BATCH_NO_ROOM),
        (Self::KeyLength, constants::BATCH_KEY_LENGTH),
        (Self::OutOfMemory, constants::BATCH_OUT_OF_MEMORY),
        (Self::Failed, constants::BATCH_FAILED),
        (Self::NotApplicable, constants::BATCH_NOT_APPLICABLE),
    ];

    /// Returns whether further items of the same operation follow.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        matches!(self, Self::Pair { .. })
    }

    /// The first byte without flags, and the parts.
    pub(super) fn parts(&self) -> (u8, Parts<'a>) {
        let none = Parts::default();
        let status = match *self {
            Self::Found(value) => {
                return (constants::BATCH_FOUND as u8, Parts { value: Some(value), ..none });
            }
            Self::Pair { key, value } => {
                return (constants::BATCH_PAIR as u8, Parts { key: Some(key), value: Some(value), ..none });
            }
            Self::Done { more } => layout::with_more(constants::BATCH_DONE as u64, more.into()),
            Self::Absent => constants::BATCH_ABSENT as u64,
            Self::Exists => constants::BATCH_EXISTS as u64,
            Self::Differs => constants::BATCH_DIFFERS as u64,
            Self::TooLarge => constants::BATCH_TOO_LARGE as u64,
            Self::NoRoom => constants::BATCH_NO_ROOM as u64,
            Self::KeyLength => constants::BATCH_KEY_LENGTH as u64,
            Self::OutOfMemory => constants::BATCH_OUT_OF_MEMORY as u64,
            Self::Failed => constants::BATCH_FAILED as u64,
            Self::NotApplicable => constants::BATCH_NOT_APPLICABLE as u64,
        };
        (status as u8, none)
    }

    #[inline]
    fn read(decoder: &mut Decoder<'a>) -> Result<Self, Malformed> {
        let first = decoder.first()?;
        let how = u64::from(first);
        let (status, more) = (layout::status(how) as usize, layout::more(how) != 0);
        if layout::padding(how) != 0 || (more && status != constants::BATCH_DONE) {
            return Err(Malformed::FirstByte(first));
        }
        let has_key = status == constants::BATCH_PAIR;
        if has_key || status == constants::BATCH_FOUND {
            let parts = decoder.parts(first, PartSet { key: has_key, value: true, ..PartSet::default() })?;
            let value = parts.value.unwrap_or_default();
            return Ok(parts.key.map_or(Self::Found(value), |key| Self::Pair { key, value }));
        }
        if more {
            return Ok(Self::Done { more });
        }
        let plain = Self::PLAIN.into_iter().find(|(_, known)| *known == status);
        plain.map(|(item, _)| item).ok_or(Malformed::FirstByte(first))
    }
}

/// Iterates over the items of a datagram. Ends after the first malformed item.
#[derive(Debug, Clone)]
pub struct Items<'a>(CountedDecoder<'a>);

impl<'a> Items<'a> {
    /// Returns the items in the bytes after a header with this count.
    #[must_use]
    pub fn new(count: u16, bytes: &'a [u8]) -> Self {
        Self(CountedDecoder::new(count, bytes))
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<Item<'a>, Malformed>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next(Item::read)
    }
}

impl FusedIterator for Items<'_> {}

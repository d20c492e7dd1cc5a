//! Items: what a reply is made of. An operation has one, and a range one more for each of its pairs.

use std::iter::FusedIterator;

use honeycomb_layout as constants;
use honeycomb_layout::batch_item as layout;

use crate::batch::savings::{Counted, Malformed, Parts, Reader, Shape};

/// What came of an operation, or a part of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// A write has taken effect, or the pairs of a range end here.
    Done {
        /// There are further pairs in the range.
        more: bool,
    },
    /// The value of a get.
    Found(&'a [u8]),
    /// A pair of a range, whose further items follow.
    Pair {
        /// Its key.
        key: &'a [u8],
        /// Its value.
        value: &'a [u8],
    },
    /// There is no such key.
    Absent,
    /// The key of an insert is there already.
    Exists,
    /// The value is not the expected one.
    Differs,
    /// The value is there, and longer than any datagram has room for.
    TooLarge,
    /// The value is there, and the reply is full.
    NoRoom,
    /// No key can be empty or so long.
    KeyLength,
    /// The store has no room for the write.
    OutOfMemory,
    /// The pair is not one that servers write, or the store could not say.
    Failed,
}

impl<'a> Item<'a> {
    /// Those that are one byte.
    const PLAIN: [(Self, usize); 9] = [
        (Self::Done { more: false }, constants::BATCH_DONE),
        (Self::Absent, constants::BATCH_ABSENT),
        (Self::Exists, constants::BATCH_EXISTS),
        (Self::Differs, constants::BATCH_DIFFERS),
        (Self::TooLarge, constants::BATCH_TOO_LARGE),
        (Self::NoRoom, constants::BATCH_NO_ROOM),
        (Self::KeyLength, constants::BATCH_KEY_LENGTH),
        (Self::OutOfMemory, constants::BATCH_OUT_OF_MEMORY),
        (Self::Failed, constants::BATCH_FAILED),
    ];

    /// Whether the operation has further items.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        matches!(self, Self::Pair { .. })
    }

    /// The first byte without savings, and the parts.
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
        };
        (status as u8, none)
    }

    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let first = reader.first()?;
        let how = u64::from(first);
        let (status, more) = (layout::status(how) as usize, layout::more(how) != 0);
        if layout::padding(how) != 0 || (more && status != constants::BATCH_DONE) {
            return Err(Malformed::First(first));
        }
        let has_key = status == constants::BATCH_PAIR;
        if has_key || status == constants::BATCH_FOUND {
            let parts = reader.parts(first, Shape { key: has_key, value: true, ..Shape::default() })?;
            let value = parts.value.unwrap_or_default();
            return Ok(parts.key.map_or(Self::Found(value), |key| Self::Pair { key, value }));
        }
        if more {
            return Ok(Self::Done { more });
        }
        let plain = Self::PLAIN.into_iter().find(|(_, known)| *known == status);
        plain.map(|(item, _)| item).ok_or(Malformed::First(first))
    }
}

/// The items of a datagram, in their order. Ends after the first that is malformed.
#[derive(Debug, Clone)]
pub struct Items<'a>(Counted<'a>);

impl<'a> Items<'a> {
    /// The items that follow a header which counts so many.
    #[must_use]
    pub fn new(count: u16, bytes: &'a [u8]) -> Self {
        Self(Counted::new(count, bytes))
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

//! What came of an operation.

use honeycomb_protocol::batch::{Item, Refusal};

/// What came of an operation. Bytes are those of the datagram that told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// The value of a get.
    Value(&'a [u8]),
    /// The pairs of a range.
    Pairs {
        /// Keys and values in their order.
        pairs: &'a [(&'a [u8], &'a [u8])],
        /// There are further ones: continue after the last key.
        more: bool,
    },
    /// A write has taken effect.
    Done,
    /// There is no such key.
    Absent,
    /// The key of an insert is there already.
    Exists,
    /// The value is not the expected one.
    Differs,
    /// There is something, and it is longer than any datagram.
    TooLarge,
    /// There is something, and the reply to its request is full: ask again, together with less.
    NoRoom,
    /// No key can be empty or so long.
    KeyLength,
    /// The store has no room for the write.
    OutOfMemory,
    /// The store could not say, or the pair is not one that servers write.
    Failed,
    /// The server has refused the request and carried out nothing of it.
    Refused(Refusal),
    /// No reply has come: a write was carried out once or not at all.
    Unanswered,
}

impl<'a> Outcome<'a> {
    /// What the last item of an operation says, after pairs.
    pub(crate) fn of(item: Item<'a>, is_range: bool, pairs: &'a [(&'a [u8], &'a [u8])]) -> Self {
        match item {
            Item::Done { more } if is_range => Self::Pairs { pairs, more },
            Item::Found(value) => Self::Value(value),
            Item::Done { .. } => Self::Done,
            Item::Absent => Self::Absent,
            Item::Exists => Self::Exists,
            Item::Differs => Self::Differs,
            // Pairs that were told before are not lost: the next one is the trouble.
            Item::TooLarge | Item::NoRoom if !pairs.is_empty() => Self::Pairs { pairs, more: true },
            Item::TooLarge => Self::TooLarge,
            Item::NoRoom => Self::NoRoom,
            Item::KeyLength => Self::KeyLength,
            Item::OutOfMemory => Self::OutOfMemory,
            Item::Failed | Item::Pair { .. } => Self::Failed,
        }
    }
}

//! Outcomes of operations.

use honeycomb_protocol::batch::{Item, Rejection};

/// The outcome of an operation. It borrows its bytes from the received datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// The value of a get, the result of a reduction or a filter, or the original value of an updated scalar.
    Value(&'a [u8]),
    /// The pairs of a range, those that a filter selects, or one pair with an empty key and the result of a
    /// reduction.
    Pairs {
        /// Keys and values in their order.
        pairs: &'a [(&'a [u8], &'a [u8])],
        /// Whether the range has further pairs. To continue, begin after the last key.
        more: bool,
    },
    /// The result of a function for a first part of a range: the pairs of a filter, or one pair with an
    /// empty key and the result of a reduction.
    Part {
        /// Keys and values in their order.
        pairs: &'a [(&'a [u8], &'a [u8])],
        /// The key after which the range goes on.
        last: &'a [u8],
    },
    /// A write has taken effect.
    Done,
    /// The key is absent.
    Absent,
    /// The key of an insert exists.
    Exists,
    /// The value differs from the expected one.
    Differs,
    /// The value exists but is longer than any datagram.
    TooLarge,
    /// The value exists but the reply to the request is full: repeat the operation in a request with fewer
    /// operations.
    NoRoom,
    /// The key is empty or too long.
    KeyLength,
    /// The store has no room for the write.
    OutOfMemory,
    /// The store failed, or the stored pair has a format that servers do not write.
    Failed,
    /// The function does not exist, has other operands, or the value does not consist of its elements.
    NotApplicable,
    /// The server has rejected the request and executed none of it.
    Rejected(Rejection),
    /// No reply arrived. The server executed a write once or not at all.
    Unanswered,
}

impl<'a> Outcome<'a> {
    /// Returns the outcome of an operation from its last item and the pairs before it.
    pub(crate) fn of(item: Item<'a>, is_range: bool, pairs: &'a [(&'a [u8], &'a [u8])]) -> Self {
        match item {
            Item::Done { more } if is_range => Self::Pairs { pairs, more },
            Item::Found(last) if is_range => Self::Part { pairs, last },
            Item::Found(value) => Self::Value(value),
            Item::Done { .. } => Self::Done,
            Item::Absent => Self::Absent,
            Item::Exists => Self::Exists,
            Item::Differs => Self::Differs,
            // The earlier pairs are still valid: only the next one did not fit.
            Item::TooLarge | Item::NoRoom if !pairs.is_empty() => Self::Pairs { pairs, more: true },
            Item::TooLarge => Self::TooLarge,
            Item::NoRoom => Self::NoRoom,
            Item::KeyLength => Self::KeyLength,
            Item::OutOfMemory => Self::OutOfMemory,
            Item::NotApplicable => Self::NotApplicable,
            Item::Failed | Item::Pair { .. } => Self::Failed,
        }
    }
}

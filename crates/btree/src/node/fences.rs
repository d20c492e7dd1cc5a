//! The fence keys of a new node: the bounds of its key range, which determine the common prefix of its keys.

use honeycomb_layout::fences as layout;

use crate::node::key::common_length;
use crate::node::suffix::KeyParts;
use crate::node::view::View;

/// The fence keys of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fences<'a> {
    /// The smallest key routed to this node; empty for the leftmost node of a level.
    pub(crate) low: &'a [u8],
    /// The smallest key routed to the right of this node; `None` for the rightmost node of a level.
    pub(crate) high: Option<KeyParts<'a>>,
}

impl<'a> Fences<'a> {
    /// The fence keys of a node that is alone on its level.
    pub(crate) const NONE: Self = Self { low: &[], high: None };

    /// Returns the low fence key of `first` and the high fence key of `last`.
    pub(crate) fn spanning(first: View<'a>, last: View<'a>) -> Self {
        Self { low: first.low_fence(), high: last.high_fence() }
    }

    /// Returns the length of the common prefix of all keys between the fence keys.
    pub(crate) fn prefix_length(self) -> usize {
        let Some(high) = self.high else { return 0 };
        let mut shared = 0;
        for part in high.skip(0) {
            let equal = common_length(&self.low[shared..], part);
            shared += equal;
            if equal < part.len() {
                break;
            }
        }
        shared
    }

    /// Returns the bytes that the fence keys occupy.
    pub(crate) fn bytes(self) -> usize {
        layout::SIZE + self.low.len() + self.high.map_or(0, |high| high.len() - self.prefix_length())
    }

    /// Writes the fence keys and returns the number of bytes written.
    pub(crate) fn write(self, out: &mut [u8]) -> usize {
        let high = self.high.unwrap_or(KeyParts::whole(&[]));
        let length = |bytes: usize| (bytes as u16).to_le_bytes();
        out[layout::LOW_LENGTH_OFFSET..][..2].copy_from_slice(&length(self.low.len()));
        out[layout::HIGH_LENGTH_OFFSET..][..2].copy_from_slice(&length(high.len()));
        let mut at = layout::SIZE;
        let high = high.skip(self.prefix_length());
        for part in std::iter::once(self.low).chain(high) {
            out[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        at
    }
}

/// Fence keys in owned memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnedFences {
    pub(crate) low: Vec<u8>,
    pub(crate) high: Option<Vec<u8>>,
}

impl OwnedFences {
    pub(crate) fn borrow(&self) -> Fences<'_> {
        Fences { low: &self.low, high: self.high.as_deref().map(KeyParts::whole) }
    }
}

impl From<Fences<'_>> for OwnedFences {
    fn from(fences: Fences<'_>) -> Self {
        Self { low: fences.low.to_vec(), high: fences.high.map(KeyParts::to_vec) }
    }
}

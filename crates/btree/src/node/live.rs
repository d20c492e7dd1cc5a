//! What of a leaf is live: its pairs without what its log supersedes or deletes. It is counted without a
//! merge, so that a leaf that is mostly dead can be found although nobody merges it.

use crate::node::fences::Fences;
use crate::node::log::Overlay;
use crate::node::view::View;

/// The live items of one or more adjacent leaves, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Live {
    count: usize,
    /// Bytes of the items, with the prefixes that they lack.
    bytes: usize,
}

impl Live {
    /// What a leaf holds after all entries of its log.
    pub(crate) fn of(leaf: View<'_>) -> Self {
        let overlay = Overlay::new(leaf, u64::MAX);
        let (mut count, mut bytes) = (leaf.sorted_count(), leaf.sorted_end() - leaf.items_start());
        for (back_pointer, item) in overlay.entries(0..overlay.len()) {
            if item.header.replaces() {
                count -= 1;
                bytes -= leaf.item(back_pointer).bytes.len();
            }
            if !item.header.tombstone() {
                count += 1;
                bytes += item.bytes.len();
            }
        }
        Self { count, bytes: bytes + count * leaf.prefix_length() }
    }

    /// How many items there are.
    pub(crate) fn count(self) -> usize {
        self.count
    }

    pub(crate) fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Bytes of the items as they stand in their leaf.
    pub(crate) fn item_bytes(self, leaf: View<'_>) -> usize {
        self.bytes - self.count * leaf.prefix_length()
    }

    /// Together with the items of another leaf.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { count: self.count + other.count, bytes: self.bytes + other.bytes }
    }

    /// Bytes of the sorted block of a leaf with these items and fences.
    pub(crate) fn sorted_bytes(self, fences: Fences<'_>) -> usize {
        fences.bytes() + self.bytes - self.count * fences.prefix_length()
    }
}

//! The live pairs of a leaf: those that its log block neither supersedes nor deletes. They are counted
//! without a consolidation, so that a sparse leaf can be found although its log block never fills up.

use crate::node::fences::Fences;
use crate::node::log::Overlay;
use crate::node::view::View;

/// Number and size of the live items of one or more adjacent leaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Live {
    count: usize,
    /// Bytes of the items, including the prefixes that they omit.
    bytes: usize,
}

impl Live {
    /// Returns the live items of a leaf, including the effect of its whole log block.
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

    /// Returns the number of items.
    pub(crate) fn count(self) -> usize {
        self.count
    }

    pub(crate) fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Returns the bytes of the items in their leaf.
    pub(crate) fn item_bytes(self, leaf: View<'_>) -> usize {
        self.bytes - self.count * leaf.prefix_length()
    }

    /// Returns the sum with the items of another leaf.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { count: self.count + other.count, bytes: self.bytes + other.bytes }
    }

    /// Returns the bytes of the sorted block of a leaf with these items and fence keys.
    pub(crate) fn sorted_bytes(self, fences: Fences<'_>) -> usize {
        fences.bytes() + self.bytes - self.count * fences.prefix_length()
    }
}

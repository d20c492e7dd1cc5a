//! The live pairs of a leaf: those that its log block neither supersedes nor deletes. They are counted
//! without a consolidation, so that a sparse leaf can be found although its log block never fills up.

use crate::node::columns::encoding::aligned;
use crate::node::fences::Fences;
use crate::node::item::Item;
use crate::node::item_run::ItemRun;
use crate::node::log::Overlay;
use crate::node::shape::LEAF;
use crate::node::size::{NodeKind, Size};
use crate::node::view::View;

/// Number and size of the live items of one or more adjacent leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Live {
    size: Size,
    /// Bytes of the prefix with which the items were counted.
    prefix: usize,
}

impl Live {
    /// Returns the live items of a leaf, including the effect of its whole log block.
    pub(crate) fn of(leaf: View<'_>) -> Self {
        let kind = kind_of(leaf);
        let mut size = ItemRun::sorted(leaf, 0..leaf.sorted_count()).size(kind);
        let one = |item: Item<'_>| kind.one(item.header, kind.prefix, || true);
        let overlay = Overlay::new(leaf, u64::MAX);
        for (back_pointer, item) in overlay.entries(0..overlay.len()) {
            if item.header.replaces() {
                size.count -= 1;
                size.item_bytes -= one(leaf.item(back_pointer)).item_bytes;
            }
            if !item.header.tombstone() {
                size = size.and(one(item));
            }
        }
        Self { size, prefix: kind.prefix }
    }

    /// Returns the number of items.
    pub(crate) fn count(self) -> usize {
        self.size.count
    }

    pub(crate) fn is_empty(self) -> bool {
        self.size.count == 0
    }

    /// Returns the bytes of the items in their leaf.
    pub(crate) fn item_bytes(self, leaf: View<'_>) -> usize {
        let kind = kind_of(leaf);
        kind.block_bytes(self.size, Fences::NONE) - kind.block_bytes(Size::default(), Fences::NONE)
    }

    /// Returns the sum with the items of another leaf.
    pub(crate) fn and(self, other: Self) -> Self {
        let prefix = self.prefix.min(other.prefix);
        let [one, two] = [self, other].map(|live| live.with_prefix(prefix));
        Self { size: one.and(two), prefix }
    }

    /// Returns an upper limit for the bytes of the sorted block of a leaf with these items and fence keys.
    pub(crate) fn sorted_bytes(self, fences: Fences<'_>) -> usize {
        // Fences of several leaves have at most the prefix of each.
        let prefix = fences.prefix_length().min(self.prefix);
        let kind = NodeKind { level: LEAF, prefix };
        kind.block_bytes(self.with_prefix(prefix), fences)
    }

    /// Returns an upper limit for the size with a shorter prefix.
    fn with_prefix(self, prefix: usize) -> Size {
        let longer = aligned(self.prefix - prefix);
        Size { item_bytes: self.size.item_bytes + self.size.count * longer, ..self.size }
    }
}

fn kind_of(leaf: View<'_>) -> NodeKind {
    NodeKind { level: LEAF, prefix: leaf.prefix_length() }
}

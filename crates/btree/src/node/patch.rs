//! Consolidations in which no item moves because each change replaces an item of the same length, as with
//! updates of values of equal length. The new leaf is a copy of the old one in which some items are
//! overwritten in order of arrival. Entries need no sorting, and the segments stay the same.

use honeycomb_layout::node_header;

use crate::node::builder::write_header;
use crate::node::item::{Item, ItemHeader};
use crate::node::item_run::Change;
use crate::node::view::View;

/// A leaf with its log block and one more change. Each entry and the change replace a sorted item of the same
/// length.
#[derive(Clone, Copy)]
pub(crate) struct Patch<'a> {
    leaf: View<'a>,
    change: &'a Change<'a>,
}

impl<'a> Patch<'a> {
    /// Returns `None` when an item would move.
    pub(crate) fn of(leaf: View<'a>, change: &'a Change<'a>) -> Option<Self> {
        let patch = Self { leaf, change };
        patch.changes().all(|(offset, item)| fits(leaf, offset, item.header)).then_some(patch)
    }

    /// Returns the bytes of the sorted block.
    pub(crate) fn sorted_bytes(&self) -> usize {
        self.leaf.sorted_end() - self.leaf.sorted_start()
    }

    /// Writes the leaf to `buffer`.
    pub(crate) fn build(&self, buffer: &mut [u8]) {
        let (leaf, end) = (self.leaf, self.leaf.sorted_end());
        let body = node_header::SIZE..end;
        buffer[body.clone()].copy_from_slice(&leaf.from(node_header::SIZE)[..body.len()]);
        for (offset, item) in self.changes() {
            let place = &mut buffer[offset..][..item.bytes.len()];
            place.copy_from_slice(item.bytes);
            item.header.without_log_flags().write(place);
        }
        write_header(buffer, end, [leaf.left(), leaf.right()], leaf.counts());
    }

    /// Returns the changes with their offsets in the sorted block, in order of arrival.
    fn changes(&self) -> impl Iterator<Item = (usize, Item<'a>)> {
        let last = (self.change.back_pointer, Item::read(self.change.item));
        self.leaf.log_entries().map(|entry| (entry.back_pointer, entry.item)).chain([last])
    }
}

/// Returns whether an item replaces the sorted item at `offset` and has the same length.
fn fits(leaf: View<'_>, offset: usize, header: ItemHeader) -> bool {
    let replaces = header.replaces() && !header.tombstone();
    replaces && ItemHeader::read(leaf.from(offset)).item_bytes() == header.item_bytes()
}

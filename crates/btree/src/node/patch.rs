//! Merges in which nothing moves: every change replaces an item by one that is as long. So it is with updates
//! where values have one length. The new leaf is a copy of the old one with some items written over, in the
//! order in which they arrived: no entry is sorted, and segments start where they did.

use honeycomb_layout::node_header;

use crate::node::builder::write_header;
use crate::node::item::{Item, ItemHeader};
use crate::node::item_run::Change;
use crate::node::view::View;

/// A leaf with its log and one more change, each of which fits into the place of what it replaces.
#[derive(Clone, Copy)]
pub(crate) struct Patch<'a> {
    leaf: View<'a>,
    change: &'a Change<'a>,
}

impl<'a> Patch<'a> {
    /// None if something would move.
    pub(crate) fn of(leaf: View<'a>, change: &'a Change<'a>) -> Option<Self> {
        let patch = Self { leaf, change };
        patch.changes().all(|(offset, item)| fits(leaf, offset, item.header)).then_some(patch)
    }

    /// Bytes of the sorted block.
    pub(crate) fn sorted_bytes(&self) -> usize {
        self.leaf.sorted_end() - self.leaf.sorted_start()
    }

    /// Writes the leaf.
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

    /// Places in the sorted block and what is written there, later changes after earlier ones.
    fn changes(&self) -> impl Iterator<Item = (usize, Item<'a>)> {
        let last = (self.change.back_pointer, Item::read(self.change.item));
        self.leaf.log_entries().map(|entry| (entry.back_pointer, entry.item)).chain([last])
    }
}

/// Whether an item replaces the sorted one at `offset` and is as long.
fn fits(leaf: View<'_>, offset: usize, header: ItemHeader) -> bool {
    let replaces = header.replaces() && !header.tombstone();
    replaces && ItemHeader::read(leaf.from(offset)).item_bytes() == header.item_bytes()
}

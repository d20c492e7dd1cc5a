//! Consolidations in which no item moves because each change replaces an item of the same lengths, as with
//! updates of values of equal length. The new leaf is a copy of the old one in which some values are
//! overwritten in order of arrival. Entries need no sorting, and the heads stay the same.

use honeycomb_layout::node_header;

use crate::node::columns::Columns;
use crate::node::columns::encoding::{Stride, WORD_BYTES};
use crate::node::consolidation::Change;
use crate::node::header::write_header;
use crate::node::item::{Item, ItemHeader};
use crate::node::shape::BLOCK_START;
use crate::node::suffix::HEAD_BYTES;
use crate::node::view::View;

/// A leaf with its log block and one more change. Each entry and the change replace a sorted item of the same
/// lengths.
#[derive(Clone, Copy)]
pub(crate) struct Patch<'a> {
    leaf: View<'a>,
    columns: Columns<'a>,
    change: &'a Change<'a>,
}

impl<'a> Patch<'a> {
    /// Returns `None` when an item would move.
    pub(crate) fn of(leaf: View<'a>, change: &'a Change<'a>) -> Option<Self> {
        let patch = Self { leaf, columns: leaf.columns(), change };
        let common = patch.columns.stride().map(Stride::header);
        // Without the items, which take longer to read.
        let log = leaf.log_places().all(|at| patch.fits(at.back_pointer, leaf.header_at(at), common));
        (log && patch.fits(change.back_pointer, change.item.header, common)).then_some(patch)
    }

    /// Returns the bytes of the sorted block.
    pub(crate) fn sorted_bytes(&self) -> usize {
        self.leaf.sorted_end() - BLOCK_START
    }

    /// Writes the leaf to `buffer`.
    pub(crate) fn build(&self, buffer: &mut [u8]) {
        let (leaf, end) = (self.leaf, self.leaf.sorted_end());
        let body = node_header::SIZE..end;
        buffer[body.clone()].copy_from_slice(leaf.bytes(body));
        let word = if self.columns.stride_bytes() == 0 { WORD_BYTES } else { 0 };
        for (index, item) in self.changes() {
            let rest_bytes = item.header.suffix_bytes().saturating_sub(HEAD_BYTES);
            let start = self.columns.item_offset(index) + word + rest_bytes;
            buffer[start..start + item.header.value_bytes()].copy_from_slice(item.value());
        }
        write_header(buffer, end, [leaf.left(), leaf.right()], leaf.counts().0);
    }

    /// Returns the changes with the indexes of the sorted items, in order of arrival.
    fn changes(&self) -> impl Iterator<Item = (usize, Item<'a>)> {
        let last = (self.change.back_pointer, self.change.item.item());
        self.leaf.log_entries().map(|entry| (entry.place.back_pointer, entry.item)).chain([last])
    }

    /// Returns whether an item replaces the sorted item at `index` and has the same lengths, which are
    /// `common` if all sorted items have them.
    #[inline]
    fn fits(&self, index: usize, header: ItemHeader, common: Option<ItemHeader>) -> bool {
        let sorted = || common.unwrap_or_else(|| self.columns.item_header(index));
        // A tombstone has a flag that no sorted item has.
        header.replaces() && sorted() == header.without_log_flags()
    }
}

//! Consolidations in which no item moves because each change replaces an item of the same lengths, as with
//! updates of values of equal length. The new leaf is a copy of the old one in which some values are
//! overwritten in order of arrival. Entries need no sorting, and the heads stay the same.

use honeycomb_layout::node_header;
use honeycomb_memory::short_bytes;

use crate::node::columns::Columns;
use crate::node::columns::encoding::{Stride, WORD_BYTES};
use crate::node::consolidation::Change;
use crate::node::header::write_header;
use crate::node::item::ItemHeader;
use crate::node::log_entry::NewItem;
use crate::node::shape::BLOCK_START;
use crate::node::suffix::bytes_after_head;
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
        for place in leaf.log_places() {
            let (header, value) = leaf.stored_value_at(place);
            self.write_value(buffer, place.back_pointer, header, value);
        }
        let NewItem { header, value, .. } = self.change.item;
        self.write_value(buffer, self.change.back_pointer, header, value);
        write_header(buffer, end, [leaf.left(), leaf.right()], leaf.counts().0);
    }

    /// Overwrites the value of the item at `index`, whose lengths `header` has, too.
    #[inline(always)]
    fn write_value(&self, buffer: &mut [u8], index: usize, header: ItemHeader, value: &[u8]) {
        let word = if self.columns.stride_bytes() == 0 { WORD_BYTES } else { 0 };
        let rest_bytes = bytes_after_head(header.suffix_bytes());
        let start = self.columns.item_offset(index) + word + rest_bytes;
        short_bytes::copy(value, &mut buffer[start..start + value.len()]);
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

//! Leaves in rows: shortcuts to segments of items of varying length (section 3.1 of the Honeycomb paper).
//! Only the simulated accelerator needs them.

pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod search;

use std::ops::Range;

use crate::node::item::ItemHeader;
use crate::node::view::View;

/// Returns the offset of the first item.
pub(crate) fn items_start(view: View<'_>) -> usize {
    view.block_start() + view.fence_bytes()
}

/// Returns the offset after an item.
pub(crate) fn after(view: View<'_>, offset: usize) -> usize {
    offset + ItemHeader::read(view.from(offset)).item_bytes()
}

/// Returns the offset of the last item that ends at or before `offset`; `None` at the start of the block.
pub(crate) fn item_before(view: View<'_>, offset: usize) -> Option<usize> {
    let starts = (0..view.shortcut_count()).rev().map(|index| segment(view, index));
    let segment = starts.into_iter().find(|&start| start < offset)?;
    view.items(segment..offset).map(|(at, _)| at).last()
}

/// Returns the heads of the shortcuts, eight bytes each.
#[inline]
pub(crate) fn heads(view: View<'_>) -> &[u8] {
    &view.from(view.geometry().shortcut_offset(0))[..8 * view.shortcut_count()]
}

/// Returns the head of the shortcut to segment `index`.
#[inline]
pub(crate) fn head(view: View<'_>, index: usize) -> u64 {
    u64::from_le_bytes(heads(view).as_chunks().0[index])
}

/// Returns the offset of the first item of segment `index`; the end of the sorted block for the index after
/// the last.
#[inline]
pub(crate) fn segment(view: View<'_>, index: usize) -> usize {
    if index < view.shortcut_count() {
        view.u16_at(view.geometry().segment_field_offset(index))
    } else {
        view.sorted_end()
    }
}

/// Returns the range of the items of segment `index`.
#[inline]
pub(crate) fn segment_range(view: View<'_>, index: usize) -> Range<usize> {
    segment(view, index)..segment(view, index + 1)
}

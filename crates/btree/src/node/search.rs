//! Searches for a key inside one node of either layout, in steps between which a descent can prefetch.
//!
//! 1. `find_near` reads the header and the samples or shortcuts after it. It returns a first estimate.
//! 2. A descent refines the estimate with the heads of a group of a node in columns. A leaf in rows needs no
//!    such step.
//! 3. `lower_bound_in`, `find_in` and `child_in` find the item or the child.
//!
//! Search keys are suffixes, without the node's prefix. The *child position* of the leftmost child, which has
//! no item, is 0; that of another child is the index of its item plus 1.

use std::ops::Range;

use honeycomb_layout::COLUMN_HEADS_OFFSET;
use honeycomb_memory::Lid;
use honeycomb_memory::heads::Detected;

use crate::node::columns::Columns;
use crate::node::item::Item;
use crate::node::key::SearchKey;
use crate::node::rows;
use crate::node::view::View;

/// Assumed pairs in a segment, to estimate how many segments a scan reads.
const PAIRS_A_SEGMENT: usize = 4;
/// The bytes of an item that a search prefetches. Most items are shorter.
pub(crate) const ITEM_BYTES: usize = 48;

/// The part of a node in which a search continues.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Near {
    /// Rows: a segment. Columns: a group of heads; after `refine` the first item whose head is not smaller.
    start: u32,
    /// Columns, after `refine`: the first item whose head is greater.
    end: u32,
}

impl Near {
    #[inline(always)]
    pub(crate) fn of(range: Range<usize>) -> Self {
        Self { start: range.start as u32, end: range.end as u32 }
    }

    #[inline(always)]
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    #[inline(always)]
    pub(crate) fn start(self) -> usize {
        self.start as usize
    }
}

/// The position of a key in a sorted block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SortedPosition {
    /// Position of the first item whose key is not smaller; the end if there is no such item.
    pub(crate) position: usize,
    /// Whether that item has the key.
    pub(crate) found: bool,
}

/// The child position of the leftmost child.
pub(crate) const LEFTMOST: usize = 0;

/// Finds the segment or the group of heads of a key. In rows it also prefetches the segment.
#[inline(always)]
pub(crate) fn find_near(view: View<'_>, search_key: &SearchKey<'_>) -> Near {
    let start = match view.columns() {
        Some(columns) => columns.find_group(Detected, search_key.head),
        None => rows::search::find_segment(view, search_key),
    };
    Near { start: start as u32, end: 0 }
}

/// Prefetches items of a leaf in rows that a scan of about `pairs` pairs from a segment on will read.
#[inline]
pub(crate) fn prefetch_rows(view: View<'_>, near: Near, pairs: usize) {
    let end = near.start() + 2 + pairs / PAIRS_A_SEGMENT;
    view.prefetch(rows::segment(view, near.start()), rows::segment(view, end));
}

/// Returns the bytes that `find_near` prefetches.
pub(crate) fn near_bytes(view: View<'_>, near: Near) -> [Range<usize>; 3] {
    let Some(columns) = view.columns() else { return [rows::segment_range(view, near.start()), 0..0, 0..0] };
    let group = columns.group(near.start());
    let column = |start, bytes| start + bytes * group.start..start + bytes * group.end;
    let heads = column(COLUMN_HEADS_OFFSET, 8);
    if !view.is_leaf() {
        let next_heads =
            if columns.has_separator_items() { column(columns.next_heads_start(), 8) } else { 0..0 };
        return [heads, column(columns.children_start(), 8), next_heads];
    }
    let offsets = if columns.stride_bytes() == 0 { column(columns.offsets_start(), 2) } else { 0..0 };
    [heads, offsets, 0..0]
}

/// Returns the bytes of the item at a refined place; none in rows.
pub(crate) fn item_bytes(view: View<'_>, near: Near) -> Range<usize> {
    let start = near.start();
    match view.columns() {
        Some(columns) if start < columns.count() => columns.item_range(start..start + 1),
        _ => 0..0,
    }
}

/// Returns the position of the first item of a leaf whose key is not smaller than `search_key`. `near` is
/// refined.
#[inline(always)]
pub(crate) fn lower_bound_in(view: View<'_>, search_key: &SearchKey<'_>, near: Near) -> SortedPosition {
    let (position, found) = match view.columns() {
        Some(columns) => columns.lower_bound(search_key, near.range()),
        None => rows::search::lower_bound(view, search_key, near.start()),
    };
    SortedPosition { position, found }
}

/// Returns the position of the first item whose key is not smaller than `search_key`.
#[inline]
pub(crate) fn lower_bound(view: View<'_>, search_key: &SearchKey<'_>) -> SortedPosition {
    let near = find_near(view, search_key);
    let refined = view.columns().map(|columns| columns.equal_heads(Detected, search_key.head, near.start()));
    lower_bound_in(view, search_key, refined.map_or(near, Near::of))
}

/// Returns the item of a leaf that has a key. `near` is refined.
#[inline(always)]
pub(crate) fn find_in<'a>(view: View<'a>, search_key: &SearchKey<'_>, near: Near) -> Option<Item<'a>> {
    match view.columns() {
        Some(columns) => columns.find(search_key, near.range()),
        None => rows::search::find(view, search_key, near.start()),
    }
}

/// Returns the child to which an interior node routes `search_key`, and its child position.
#[inline]
pub(crate) fn child_for(view: View<'_>, search_key: &SearchKey<'_>) -> (usize, Lid) {
    child_in(view, search_key, find_near(view, search_key))
}

/// Returns the child to which `search_key` is routed, and its child position. `find_near` returned `near`.
#[inline(always)]
pub(crate) fn child_in(view: View<'_>, search_key: &SearchKey<'_>, near: Near) -> (usize, Lid) {
    let number = columns_of(view).separators_not_greater(Detected, search_key, near.start());
    (number, child_at(view, number))
}

/// Returns the columns of an interior node.
#[inline(always)]
fn columns_of(view: View<'_>) -> Columns<'_> {
    view.columns().expect("an interior node is in columns")
}

/// Returns the child of an interior node at a child position.
#[inline]
pub(crate) fn child_at(view: View<'_>, position: usize) -> Lid {
    position.checked_sub(1).map_or_else(|| view.leftmost(), |index| columns_of(view).child(index))
}

/// Returns the next child position after `position`.
pub(crate) fn child_after(view: View<'_>, position: usize) -> Option<usize> {
    (position < last_child(view)).then(|| position + 1)
}

/// Returns the last child position before `position`.
pub(crate) fn child_before(position: usize) -> Option<usize> {
    position.checked_sub(1)
}

/// Returns the position of the last child.
pub(crate) fn last_child(view: View<'_>) -> usize {
    view.sorted_count()
}

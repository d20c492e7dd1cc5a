//! Searches for a key inside one node. The heads of the shortcuts select a segment; the items of the segment
//! determine the position.
//!
//! Search keys are suffixes, without the node's prefix.

use std::cmp::Ordering;
use std::ops::Range;

use honeycomb_memory::{Lid, heads};

use crate::node::item::{ItemHeader, last_lid};
use crate::node::key::SearchKey;
use crate::node::view::View;

/// The position of a key in a sorted block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SortedPosition {
    /// Offset of the first item whose key is not smaller; `sorted_end` if there is no such item.
    pub(crate) offset: usize,
    /// Whether that item has the key.
    pub(crate) found: bool,
}

/// The child position of the leftmost child, which has no item.
pub(crate) const LEFTMOST: usize = 0;

/// Returns the last segment whose head is not greater than that of `search_key`, or the first segment if all
/// heads are greater. Also prefetches the lines of the segment: an item's offset depends on the lengths
/// before it, so without prefetching each line would be a separate cache miss.
#[inline(always)]
pub(crate) fn find_segment(view: View<'_>, search_key: &SearchKey<'_>) -> usize {
    let segment = heads::count_not_greater(view.heads(), search_key.head).saturating_sub(1);
    let bytes = view.segment_range(segment);
    view.prefetch(bytes.start, bytes.end);
    segment
}

/// Returns the last segment, `segment` or one before it, whose first key is not greater than `search_key`,
/// and its offset. Returns the first segment if all first keys are greater. Equal heads do not order the
/// keys, so this compares whole keys.
#[inline(always)]
pub(crate) fn refine_segment(view: View<'_>, search_key: &SearchKey<'_>, segment: usize) -> (usize, usize) {
    let start = view.segment(segment);
    let is_unsettled = segment > 0
        && view.head(segment) == search_key.head
        && search_key.compare_item(view.from(start)).0.is_gt();
    if !is_unsettled {
        return (segment, start);
    }
    let settled = refine_among_equal_heads(view, search_key, segment);
    (settled, view.segment(settled))
}

/// Returns the last segment before `greater` whose first key is not greater than `search_key`, or the first
/// segment if all first keys are greater. If keys have a common beginning, such as `user:1234`, many segments
/// of a node without a prefix have the same head.
#[inline(always)]
fn refine_among_equal_heads(view: View<'_>, search_key: &SearchKey<'_>, mut greater: usize) -> usize {
    // No first key before `after` is greater; all first keys from `greater` on are.
    let (mut after, key) = (heads::count_less(view.heads(), search_key.head), search_key.after_head());
    while after < greater {
        let middle = usize::midpoint(after, greater);
        if key.compare_item(view.from(view.segment(middle))).is_gt() {
            greater = middle;
        } else {
            after = middle + 1;
        }
    }
    after.saturating_sub(1)
}

/// Returns the position of the first item whose key is not smaller than `search_key`.
#[inline]
pub(crate) fn lower_bound(view: View<'_>, search_key: &SearchKey<'_>) -> SortedPosition {
    lower_bound_in(view, search_key, find_segment(view, search_key))
}

/// Returns the position of the first item whose key is not smaller than `search_key`, in the segment that
/// `find_segment` returned.
#[inline(always)]
pub(crate) fn lower_bound_in(view: View<'_>, search_key: &SearchKey<'_>, segment: usize) -> SortedPosition {
    let items = view.sorted_from(refine_segment(view, search_key, segment).1);
    let mut at = search_key.skip_smaller(items, ItemHeader::item_bytes).end;
    while at < items.len() {
        match search_key.compare_item(&items[at..]) {
            (Ordering::Less, bytes) => at += bytes,
            (order, _) => {
                return SortedPosition { offset: view.sorted_end() - items.len() + at, found: order.is_eq() };
            }
        }
    }
    SortedPosition { offset: view.sorted_end(), found: false }
}

/// Returns the position of the child to which an interior node routes `search_key`, and the child.
#[inline]
pub(crate) fn child_for(view: View<'_>, search_key: &SearchKey<'_>) -> (usize, Lid) {
    child_in(view, search_key, find_segment(view, search_key))
}

/// Returns the position of the child to which `search_key` is routed, and the child. `find_segment` returned
/// `segment`.
#[inline(always)]
pub(crate) fn child_in(view: View<'_>, search_key: &SearchKey<'_>, segment: usize) -> (usize, Lid) {
    let start = refine_segment(view, search_key, segment).1;
    let items = view.sorted_from(start);
    let Range { start: mut last, end: mut at } = search_key.skip_smaller(items, ItemHeader::child_item_bytes);
    while at < items.len() {
        let (order, bytes) = search_key.compare_item(&items[at..]);
        if order.is_gt() {
            break;
        }
        (last, at) = (at, at + bytes);
    }
    // The child is in the last bytes before the first greater item.
    match items[..at].last_chunk() {
        Some(child_at_end) => (start + last, last_lid(*child_at_end)),
        None => (LEFTMOST, view.leftmost()),
    }
}

/// Returns the offset of the last item that ends at or before `offset`; `None` at the start of the block.
pub(crate) fn item_before(view: View<'_>, offset: usize) -> Option<usize> {
    let segment =
        (0..view.shortcut_count()).rev().map(|index| view.segment(index)).find(|&start| start < offset)?;
    view.items_from(segment).map(|(at, _)| at).take_while(|&at| at < offset).last()
}

/// Returns the child of an interior node at a position.
#[inline]
pub(crate) fn child_at(view: View<'_>, position: usize) -> Lid {
    if position == LEFTMOST { view.leftmost() } else { view.item(position).child() }
}

/// Returns the next position after `position` that has a child.
pub(crate) fn child_after(view: View<'_>, position: usize) -> Option<usize> {
    let next = end_of_child(view, position);
    (next < view.sorted_end()).then_some(next)
}

/// Returns the offset at which the items after the child at `position` start.
pub(crate) fn end_of_child(view: View<'_>, position: usize) -> usize {
    if position == LEFTMOST { view.items_start() } else { position + view.item(position).bytes.len() }
}

/// Returns the last position before `position` that has a child.
pub(crate) fn child_before(view: View<'_>, position: usize) -> Option<usize> {
    (position != LEFTMOST).then(|| item_before(view, position).unwrap_or(LEFTMOST))
}

/// Returns the position of the last child.
pub(crate) fn last_child(view: View<'_>) -> usize {
    item_before(view, view.sorted_end()).unwrap_or(LEFTMOST)
}

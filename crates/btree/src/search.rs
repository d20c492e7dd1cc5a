//! Finding a key inside one node: heads choose a segment, the segment's items settle it.
//!
//! Keys are given as suffixes, without the node's prefix.

use std::cmp::Ordering;

use honeycomb_memory::{Lid, heads};

use crate::key::Wanted;
use crate::view::View;

/// Where a key is, or would be, in a sorted block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// Offset of the first item whose key is not smaller; `sorted_end` if there is none.
    pub(crate) offset: usize,
    /// Whether that item has the key.
    pub(crate) found: bool,
}

/// The child position of the leftmost child, which has no item.
pub(crate) const LEFTMOST: usize = 0;

/// The last segment whose first key is not greater than `wanted`; the first segment if there is none.
#[inline]
fn segment_of(view: View<'_>, wanted: &Wanted<'_>) -> usize {
    let count = heads::count(view.heads(), wanted.head);
    // Equal heads say nothing about the bytes after them: the keys do.
    for index in (count.less..count.less_or_equal).rev() {
        if wanted.compare_item(view.from(view.segment(index))).0.is_le() {
            return index;
        }
    }
    count.less.saturating_sub(1)
}

/// The first item whose key is not smaller than `wanted`.
#[inline]
pub(crate) fn lower_bound(view: View<'_>, wanted: &Wanted<'_>) -> Place {
    let segment = segment_of(view, wanted);
    let start = view.segment(segment);
    // An item's place depends on the lengths before it: without this, each line would be a miss after the
    // other.
    view.prefetch(start, view.segment(segment + 1));
    let mut rest = view.sorted_from(start);
    while !rest.is_empty() {
        match wanted.compare_item(rest) {
            (Ordering::Less, bytes) => rest = &rest[bytes..],
            (order, _) => return Place { offset: view.sorted_end() - rest.len(), found: order.is_eq() },
        }
    }
    Place { offset: view.sorted_end(), found: false }
}

/// The last item that ends at or before `offset`, by its offset; none at the start of the block.
pub(crate) fn item_before(view: View<'_>, offset: usize) -> Option<usize> {
    let segment =
        (0..view.shortcut_count()).rev().map(|index| view.segment(index)).find(|&start| start < offset)?;
    view.items_from(segment).map(|(at, _)| at).take_while(|&at| at < offset).last()
}

/// The child of an interior node that `wanted` is routed to, and its position.
#[inline]
pub(crate) fn child_for(view: View<'_>, wanted: &Wanted<'_>) -> (usize, Lid) {
    let mut position = LEFTMOST;
    let mut rest = view.sorted_from(view.segment(segment_of(view, wanted)));
    while !rest.is_empty() {
        let (order, bytes) = wanted.compare_item(rest);
        if order.is_gt() {
            break;
        }
        position = view.sorted_end() - rest.len();
        rest = &rest[bytes..];
    }
    (position, child_at(view, position))
}

/// The child of an interior node at a position.
#[inline]
pub(crate) fn child_at(view: View<'_>, position: usize) -> Lid {
    if position == LEFTMOST { view.leftmost() } else { view.item(position).child() }
}

/// The position after `position`, if there is a child.
pub(crate) fn child_after(view: View<'_>, position: usize) -> Option<usize> {
    let next = end_of_child(view, position);
    (next < view.sorted_end()).then_some(next)
}

/// Offset of the items after the child at `position`.
pub(crate) fn end_of_child(view: View<'_>, position: usize) -> usize {
    if position == LEFTMOST { view.items_start() } else { position + view.item(position).bytes.len() }
}

/// The position before `position`, if there is a child.
pub(crate) fn child_before(view: View<'_>, position: usize) -> Option<usize> {
    (position != LEFTMOST).then(|| item_before(view, position).unwrap_or(LEFTMOST))
}

/// The position of the last child.
pub(crate) fn last_child(view: View<'_>) -> usize {
    item_before(view, view.sorted_end()).unwrap_or(LEFTMOST)
}

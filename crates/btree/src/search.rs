//! Finding a key inside one node: heads choose a segment, the segment's items settle it.
//!
//! Keys are given as suffixes, without the node's prefix.

use std::cmp::Ordering;

use honeycomb_memory::{Lid, heads};

use crate::key::head;
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

/// The last segment whose first key is not greater than `suffix`; the first segment if there is none.
#[inline]
pub(crate) fn segment_of(view: View<'_>, suffix: &[u8]) -> usize {
    let count = heads::count(view.heads(), head(suffix));
    // Equal heads say nothing about the bytes after them: the keys do.
    let equal = (count.less..count.less_or_equal).rev();
    for index in equal {
        if view.item(view.segment(index)).suffix() <= suffix {
            return index;
        }
    }
    count.less.saturating_sub(1)
}

/// The first item whose key is not smaller than `suffix`.
#[inline]
pub(crate) fn lower_bound(view: View<'_>, suffix: &[u8]) -> Place {
    let mut offset = view.segment(segment_of(view, suffix));
    let end = view.sorted_end();
    while offset < end {
        let item = view.item(offset);
        match item.suffix().cmp(suffix) {
            Ordering::Less => offset += item.bytes.len(),
            Ordering::Equal => return Place { offset, found: true },
            Ordering::Greater => break,
        }
    }
    Place { offset, found: false }
}

/// The last item that ends at or before `offset`, by its offset; none at the start of the block.
pub(crate) fn item_before(view: View<'_>, offset: usize) -> Option<usize> {
    let segment =
        (0..view.shortcut_count()).rev().map(|index| view.segment(index)).find(|&start| start < offset)?;
    view.items_from(segment).map(|(at, _)| at).take_while(|&at| at < offset).last()
}

/// The child of an interior node that the keys at `suffix` are routed to, and its position.
#[inline]
pub(crate) fn child_for(view: View<'_>, suffix: &[u8]) -> (usize, Lid) {
    let mut position = LEFTMOST;
    let mut offset = view.segment(segment_of(view, suffix));
    let end = view.sorted_end();
    while offset < end {
        let item = view.item(offset);
        if item.suffix() > suffix {
            break;
        }
        position = offset;
        offset += item.bytes.len();
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

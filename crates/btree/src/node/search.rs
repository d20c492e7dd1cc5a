//! Searches for a key inside one node, in steps between which a descent can prefetch.
//!
//! 1. `find_near` reads the header and the samples after it. It returns a group of heads.
//! 2. A descent of a leaf refines the estimate with the heads of the group.
//! 3. `lower_bound_in` and `find_in` find the item.
//!
//! Search keys are suffixes, without the node's prefix. The *child position* of the leftmost child, which has
//! no item, is 0; that of another child is the index of its item plus 1.

use std::ops::Range;

use honeycomb_layout::COLUMN_HEADS_OFFSET;
use honeycomb_memory::heads::Detected;
use honeycomb_memory::{LINE_BYTES, Lid, Node};

use crate::node::item::Item;
use crate::node::key::SearchKey;
use crate::node::shape::{BLOCK_START, Shape};
use crate::node::view::View;

/// Lines of a node before its heads: the header and the samples.
const FIRST_LINES: usize = BLOCK_START / LINE_BYTES;
/// Lines of the heads of a leaf with pairs of 16 + 16 bytes.
const HEAD_LINES: usize = 24;
/// The bytes of an item that a search prefetches. Most items are shorter.
pub(crate) const ITEM_BYTES: usize = 48;

/// The part of a node in which a search continues.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Near {
    /// A group of heads; after `refine` the first item whose head is not smaller.
    start: u32,
    /// After `refine`: the first item whose head is greater.
    end: u32,
}

impl Near {
    /// A group of heads.
    #[inline(always)]
    pub(crate) fn group(group: usize) -> Self {
        Self { start: group as u32, end: 0 }
    }

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

/// Prefetches a node's header and samples, for an operation that executes alone or together with others.
#[inline(always)]
pub(crate) fn prefetch_first(node: Node<'_>, is_alone: bool) {
    if is_alone { prefetch_first_alone(node) } else { node.prefetch_lines::<FIRST_LINES>(0) }
}

// A function of its own, so that operations together do not compute the addresses of both.
#[cold]
fn prefetch_first_alone(node: Node<'_>) {
    node.prefetch_lines_alone::<FIRST_LINES>(0);
}

/// Prefetches the heads of a leaf, for an operation whose memory accesses overlap with nothing else: more
/// lines in one step cost it less than another step.
#[inline]
pub(crate) fn prefetch_heads(leaf: Node<'_>) {
    leaf.prefetch_lines_alone::<HEAD_LINES>(BLOCK_START);
}

/// Prefetches the log block of a leaf and the bytes of a new entry after it, or all bytes of a leaf without
/// room for the entry, which the write rebuilds. A write waits for the lines that it changes, too: its next
/// lock is an atomic operation, which completes after all earlier stores.
#[inline(always)]
pub(crate) fn prefetch_for_write(
    leaf: Node<'_>,
    shape: &Shape,
    sorted_end: usize,
    (size, log_count): (usize, usize),
    entry_bytes: usize,
) {
    leaf.prefetch_log_words(log_count + 1);
    match entry_bytes <= shape.log_room(sorted_end, size, log_count) {
        true => leaf.prefetch(sorted_end, size + entry_bytes),
        false => leaf.prefetch(BLOCK_START, size),
    }
}

/// Finds the group of heads of a key.
#[inline(always)]
fn find_near(view: View<'_>, search_key: SearchKey<'_>) -> Near {
    Near::group(view.columns().find_group(Detected, search_key.head))
}

/// Returns the bytes that `find_near` prefetches.
pub(crate) fn near_bytes(view: View<'_>, near: Near) -> [Range<usize>; 3] {
    let columns = view.columns();
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

/// Returns the bytes of the item at a refined place.
pub(crate) fn item_bytes(view: View<'_>, near: Near) -> Range<usize> {
    let (columns, start) = (view.columns(), near.start());
    if start < columns.count() { columns.item_range(start..start + 1) } else { 0..0 }
}

/// Returns the position of the first item of a leaf whose key is not smaller than `search_key`. `near` is
/// refined.
#[inline(always)]
pub(crate) fn lower_bound_in(view: View<'_>, search_key: SearchKey<'_>, near: Near) -> SortedPosition {
    let (position, found) = view.columns().lower_bound(search_key, near.range());
    SortedPosition { position, found }
}

/// Returns the position of the first item whose key is not smaller than `search_key`.
#[inline]
pub(crate) fn lower_bound(view: View<'_>, search_key: SearchKey<'_>) -> SortedPosition {
    let near = find_near(view, search_key);
    let refined = view.columns().equal_heads(Detected, search_key.head, near.start());
    lower_bound_in(view, search_key, Near::of(refined))
}

/// Returns the item of a leaf that has a key. `near` is refined.
#[inline(always)]
pub(crate) fn find_in<'a>(view: View<'a>, search_key: SearchKey<'_>, near: Near) -> Option<Item<'a>> {
    view.columns().find(search_key, near.range())
}

/// Returns the child to which an interior node routes `search_key`, and its child position.
#[inline]
pub(crate) fn child_for(view: View<'_>, search_key: SearchKey<'_>) -> (usize, Lid) {
    let near = find_near(view, search_key);
    let number =
        view.columns().separators_not_greater(Detected, search_key.head, || search_key.suffix, near.start());
    (number, child_at(view, number))
}

/// Returns the child of an interior node at a child position.
#[inline]
pub(crate) fn child_at(view: View<'_>, position: usize) -> Lid {
    position.checked_sub(1).map_or_else(|| view.leftmost(), |index| view.columns().child(index))
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

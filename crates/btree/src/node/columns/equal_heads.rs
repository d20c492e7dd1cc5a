//! Searches among items with equal heads, such as those of paths in one folder.
//!
//! The *next head*, which is the head of the rest of the key, tells most of them apart. Interior nodes have a
//! column of them, because a search of one item after the other would wait for each.

use std::cmp::Ordering;
use std::ops::Range;

use honeycomb_memory::heads::{Detected, GROUP, Vectors};

use crate::node::columns::Columns;
use crate::node::item::Item;
use crate::node::key::{SearchKey, head, head_of_first};
use crate::node::suffix::HEAD_BYTES;

impl<'a> Columns<'a> {
    /// Returns the index of the first key that is not smaller than `search_key`, and whether it is equal.
    /// `equal` has the items with the same head.
    #[inline(always)]
    pub(crate) fn lower_bound(
        self,
        vectors: impl Vectors,
        search_key: SearchKey<'_>,
        equal: Range<usize>,
    ) -> (usize, bool) {
        if equal.is_empty() {
            return (equal.start, false);
        }
        if equal.len() == 1 && self.equals(equal.start, search_key) {
            return (equal.start, true);
        }
        let next = head(search_key.rest());
        let Range { start: mut first, mut end } = self.equal_next_heads(vectors, next, equal);
        while first < end {
            let middle = usize::midpoint(first, end);
            match self.compare(middle, search_key, next) {
                Ordering::Less => first = middle + 1,
                Ordering::Equal => return (middle, true),
                Ordering::Greater => end = middle,
            }
        }
        (first, false)
    }

    /// Returns the item of a key. `equal` has the items with the same head.
    #[inline(never)]
    pub(super) fn find_among_equal_heads(
        self,
        search_key: SearchKey<'_>,
        equal: Range<usize>,
    ) -> Option<Item<'a>> {
        let (index, is_equal) = self.lower_bound(Detected, search_key, equal);
        is_equal.then(|| self.item(index))
    }

    /// Returns the range of the items of an interior node, among some with equal heads, whose next heads are
    /// `next`, or that in which they would be. Returns all of these items if there is no such column.
    #[inline(always)]
    fn equal_next_heads(self, vectors: impl Vectors, next: u64, equal: Range<usize>) -> Range<usize> {
        if self.is_leaf() || !self.has_separator_items() {
            return equal;
        }
        let column = &self.next_heads()[equal.clone()];
        let end = rank(vectors, column, next);
        let is_next =
            |index: usize| column.get(index).is_some_and(|other| u64::from_le_bytes(*other) == next);
        let start = match end.checked_sub(1) {
            Some(last) if is_next(last) => match last.checked_sub(1) {
                // There is a smaller number, or the first of these is the first of the column.
                Some(before) if is_next(before) => {
                    next.checked_sub(1).map_or(0, |less| rank(vectors, column, less))
                }
                _ => last,
            },
            _ => end,
        };
        equal.start + start..equal.start + end
    }

    /// Returns whether the key at an index is a search key of the same head.
    #[inline(always)]
    pub(super) fn equals(self, index: usize, search_key: SearchKey<'_>) -> bool {
        let (length, bytes) = self.suffix_from(index);
        search_key.equals_rest(length, bytes)
    }

    /// Compares the key at an index with a search key of the same head, whose next head is `next`.
    #[inline(always)]
    fn compare(self, index: usize, search_key: SearchKey<'_>, next: u64) -> Ordering {
        let (length, bytes) = self.suffix_from(index);
        let rest_bytes = length.saturating_sub(HEAD_BYTES);
        head_of_first(bytes, rest_bytes)
            .cmp(&next)
            .then_with(|| search_key.compare_after_next_head(length, &bytes[..rest_bytes]))
    }
}

/// Returns the number of elements of a column of ascending numbers that are not greater than `bound`.
#[inline(always)]
pub(super) fn rank(vectors: impl Vectors, column: &[[u8; HEAD_BYTES]], bound: u64) -> usize {
    let is_greater = |number: &[u8; HEAD_BYTES]| u64::from_le_bytes(*number) > bound;
    let (mut start, mut groups) = (0, column.len() / GROUP);
    while groups > 0 {
        let half = groups.div_ceil(2);
        let middle = start + half * GROUP;
        if !is_greater(&column[middle - 1]) {
            start = middle;
        }
        groups -= half;
    }
    // The last group begins earlier if the column ends before its end: the numbers from there on to its usual
    // start are not greater either.
    let start = start.min(column.len().saturating_sub(GROUP));
    match column[start..].as_flattened().first_chunk() {
        Some(group) => start + vectors.rank_in_group(group, GROUP, bound),
        None => column.iter().take_while(|number| !is_greater(number)).count(),
    }
}

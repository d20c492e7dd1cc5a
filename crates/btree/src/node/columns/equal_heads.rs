//! Searches among items with equal heads, such as those of paths in one folder.
//!
//! The *next head*, which is the head of the rest of the key, tells most of them apart. Interior nodes have a
//! column of them, because a search of one item after the other would wait for each.

use std::cmp::Ordering;
use std::ops::Range;

use honeycomb_memory::heads;

use crate::node::columns::Columns;
use crate::node::item::Item;
use crate::node::key::{SearchKey, head, head_of_first};
use crate::node::suffix::HEAD_BYTES;

impl<'a> Columns<'a> {
    /// Returns the index of the first key that is not smaller than `search_key`, and whether it is equal.
    /// `equal` has the items with the same head.
    #[inline(always)]
    pub(crate) fn lower_bound(self, search_key: &SearchKey<'_>, equal: Range<usize>) -> (usize, bool) {
        let next = head(search_key.rest());
        let Range { start: mut first, mut end } = self.equal_next_heads(next, equal);
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
        search_key: &SearchKey<'_>,
        equal: Range<usize>,
    ) -> Option<Item<'a>> {
        let (index, is_equal) = self.lower_bound(search_key, equal);
        is_equal.then(|| self.item(index))
    }

    /// Returns the range of the items of an interior node, among some with equal heads, whose next heads are
    /// `next`, or that in which they would be. Returns all of these items if there is no such column.
    #[inline(always)]
    fn equal_next_heads(self, next: u64, equal: Range<usize>) -> Range<usize> {
        if self.is_leaf() || !self.has_separator_items() {
            return equal;
        }
        let next_heads = &self.next_heads()[equal.clone()];
        let first = heads::count_less(next_heads.as_flattened(), next);
        let end = match next_heads.get(first) {
            Some(found) if u64::from_le_bytes(*found) == next => {
                heads::count_not_greater(next_heads.as_flattened(), next)
            }
            _ => first,
        };
        equal.start + first..equal.start + end
    }

    /// Compares the key at an index with a search key of the same head, whose next head is `next`.
    #[inline(always)]
    fn compare(self, index: usize, search_key: &SearchKey<'_>, next: u64) -> Ordering {
        let (length, bytes) = self.suffix_from(index);
        let rest_bytes = length.saturating_sub(HEAD_BYTES);
        head_of_first(bytes, rest_bytes)
            .cmp(&next)
            .then_with(|| search_key.compare_after_next_head(length, &bytes[..rest_bytes]))
    }
}

//! Searches in a node in columns. Two counting comparisons find the place of a key: the samples select a
//! group of heads, and the heads of the group an item. Only keys with equal heads compare the bytes after
//! them.

use std::cmp::Ordering;
use std::ops::Range;

use honeycomb_layout::{COLUMN_GROUP_BITS_MIN, node_header};
use honeycomb_memory::heads::{self, Vectors};
use honeycomb_memory::{Lid, Node};

use crate::node::columns::Columns;
use crate::node::item::Item;
use crate::node::key::SearchKey;

impl Columns<'_> {
    /// Returns the last group of heads whose first head is not greater than `head`, or the first group.
    #[inline(always)]
    pub(crate) fn find_group(self, vectors: impl Vectors, head: u64) -> usize {
        // The samples of missing groups are the greatest number, so they can equal the head. The first word
        // is not a sample.
        vectors.rank_after_first(self.samples(), head).min(self.last_group())
    }

    /// Returns the indexes of the items whose heads equal `head`, which `find_group` has found in this group.
    /// If there are none, the range is empty and starts at the first item with a greater head.
    #[inline(always)]
    pub(crate) fn equal_heads(self, vectors: impl Vectors, head: u64, group: usize) -> Range<usize> {
        let start = self.subgroup(head, group);
        let (less, not_greater) = self.rank(vectors, head, start);
        if less == 0 && start > 0 && self.head(start - 1) == head {
            return self.equal_heads_before(head, start)..start + not_greater;
        }
        start + less..start + not_greater
    }

    /// Returns the start of the last 16 heads of a group whose first head is not greater than `head`, or of
    /// the first ones.
    #[inline(always)]
    fn subgroup(self, head: u64, group: usize) -> usize {
        let mut start = group << self.group_bits();
        for bits in (COLUMN_GROUP_BITS_MIN..self.group_bits()).rev() {
            let middle = start + (1 << bits);
            if middle < self.count() && self.head(middle) <= head {
                start = middle;
            }
        }
        start
    }

    /// Returns how many of the 16 heads from `start` on are less than `head`, and how many are not greater.
    #[inline(always)]
    fn rank(self, vectors: impl Vectors, head: u64, start: usize) -> (usize, usize) {
        let present = (self.count() - start).min(heads::GROUP);
        match self.heads_from(start).first_chunk() {
            Some(group) => vectors.rank_in_group(group, present, head),
            // At the end of a node that is nearly empty.
            None => {
                let heads = &self.heads_from(start)[..8 * present];
                (heads::count_less(heads, head), heads::count_not_greater(heads, head))
            }
        }
    }

    /// Returns the first index whose head equals `head`. The item before `end` has this head.
    #[cold]
    fn equal_heads_before(self, head: u64, end: usize) -> usize {
        heads::count_less(&self.heads()[..8 * end], head)
    }

    /// Compares the key at an index with a search key of the same head.
    #[inline]
    fn compare(self, index: usize, search_key: &SearchKey<'_>) -> Ordering {
        let (length, rest) = self.suffix_rest(index);
        search_key.compare_rest(length, rest)
    }

    /// Returns the index of the first key that is not smaller than `search_key`, and whether it is equal.
    /// `equal` has the items with the same head.
    #[inline(always)]
    pub(crate) fn lower_bound(self, search_key: &SearchKey<'_>, equal: Range<usize>) -> (usize, bool) {
        let Range { start: mut first, mut end } = equal;
        while first < end {
            let middle = usize::midpoint(first, end);
            match self.compare(middle, search_key) {
                Ordering::Less => first = middle + 1,
                Ordering::Equal => return (middle, true),
                Ordering::Greater => end = middle,
            }
        }
        (first, false)
    }

    /// Returns the number of separators that are not greater than `search_key`.
    #[inline(always)]
    pub(crate) fn separators_not_greater(
        self,
        vectors: impl Vectors,
        search_key: &SearchKey<'_>,
        group: usize,
    ) -> usize {
        let equal = self.equal_heads(vectors, search_key.head, group);
        if equal.is_empty() {
            return equal.start;
        }
        let (index, is_equal) = self.lower_bound(search_key, equal);
        index + usize::from(is_equal)
    }
}

impl<'a> Columns<'a> {
    /// Returns the child to which an interior node routes a key. `group` is that of the key.
    #[inline(always)]
    pub(crate) fn child_for(
        self,
        vectors: impl Vectors,
        node: Node<'_>,
        search_key: &SearchKey<'_>,
        group: usize,
    ) -> Lid {
        match self.separators_not_greater(vectors, search_key, group) {
            0 => {
                Lid::new(node.word(node_header::LEFT_OFFSET)).expect("an interior node has a leftmost child")
            }
            number => self.child(number - 1),
        }
    }

    /// Returns the item of a key. `equal` has the items with the same head.
    #[inline(always)]
    pub(crate) fn find(self, search_key: &SearchKey<'_>, equal: Range<usize>) -> Option<Item<'a>> {
        if equal.len() > 1 {
            return self.find_among_equal_heads(search_key, equal);
        }
        let item = self.item(equal.into_iter().next()?);
        search_key.equals_rest(item.suffix().len(), item.suffix().rest()).then_some(item)
    }

    #[inline(never)]
    fn find_among_equal_heads(self, search_key: &SearchKey<'_>, equal: Range<usize>) -> Option<Item<'a>> {
        let (index, is_equal) = self.lower_bound(search_key, equal);
        is_equal.then(|| self.item(index))
    }
}

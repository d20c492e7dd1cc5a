//! Searches among items with equal heads, such as those of paths in one folder.
//!
//! The *next head*, which is the head of the rest of the key, tells most of them apart. Interior nodes have a
//! column of them, because a search of one item after the other would wait for each. Leaves have no such
//! column: many items with equal heads often share more bytes, which a search compares once.

use std::cmp::Ordering;
use std::ops::Range;

use honeycomb_memory::heads::{GROUP, Vectors};

use crate::node::columns::Columns;
use crate::node::key::{SearchKey, head, head_of_first};
use crate::node::suffix::{HEAD_BYTES, bytes_after_head};

/// Items with equal heads of which a search does not compare the bytes that they share at once.
const FEW_ITEMS: usize = 4;

impl<'a> Columns<'a> {
    /// Returns the index of the first item whose key is not smaller than `search_key`, and whether it is
    /// equal. `equal` has the items with the same head.
    #[inline(always)]
    pub(crate) fn lower_bound(self, search_key: SearchKey<'_>, equal: Range<usize>) -> (usize, bool) {
        if equal.is_empty() {
            return (equal.start, false);
        }
        if !self.is_leaf() {
            return self.lower_bound_of_separators(search_key, equal);
        }
        if equal.len() == 1 && self.equals(equal.start, search_key) {
            return (equal.start, true);
        }
        self.lower_bound_by_rest::<true>(search_key, equal)
    }

    /// As [`Columns::lower_bound`], in an interior node. Few searches need the place of a separator.
    #[inline(never)]
    fn lower_bound_of_separators(self, search_key: SearchKey<'_>, equal: Range<usize>) -> (usize, bool) {
        self.lower_bound_by_rest::<false>(search_key, equal)
    }

    /// Returns the index of the item of a key in a leaf. `equal` has the items with the same head.
    #[inline(never)]
    pub(super) fn find_among_equal_heads(
        self,
        search_key: SearchKey<'_>,
        mut equal: Range<usize>,
    ) -> Option<usize> {
        if equal.len() <= FEW_ITEMS {
            return equal.find(|&index| self.equals(index, search_key));
        }
        let (index, is_equal) = self.lower_bound_by_rest::<true>(search_key, equal);
        is_equal.then_some(index)
    }

    /// Returns whether the key at an index of a leaf is a search key of the same head.
    #[inline(always)]
    pub(super) fn equals(self, index: usize, search_key: SearchKey<'_>) -> bool {
        let (length, bytes) = self.suffix_of::<true>(index);
        search_key.equals_rest(length, bytes)
    }

    /// Returns the index of the first key, among some with the head of `search_key`, that is not smaller, and
    /// whether it is equal.
    ///
    /// The keys are in order, so all have the bytes that the first and the last one share. They are compared
    /// once; each step of the search compares the eight bytes after them.
    #[inline(always)]
    pub(super) fn lower_bound_by_rest<const LEAF: bool>(
        self,
        search_key: SearchKey<'_>,
        equal: Range<usize>,
    ) -> (usize, bool) {
        let shared = match self.shared_bytes::<LEAF>(search_key, &equal) {
            Ok(shared) => shared,
            Err(outside) => return (outside, false),
        };
        let next = head(&search_key.rest()[shared..]);
        let Range { start: mut first, mut end } = equal;
        while first < end {
            let middle = usize::midpoint(first, end);
            let (length, bytes) = self.suffix_of::<LEAF>(middle);
            let rest_bytes = bytes_after_head(length);
            let order = head_of_first(&bytes[shared..], rest_bytes - shared)
                .cmp(&next)
                .then_with(|| search_key.compare_after(shared + HEAD_BYTES, length, &bytes[..rest_bytes]));
            match order {
                Ordering::Less => first = middle + 1,
                Ordering::Equal => return (middle, true),
                Ordering::Greater => end = middle,
            }
        }
        (first, false)
    }

    /// Returns a number of bytes after their heads that items with equal heads and a search key share: zero
    /// for so few items that this would not pay. If the key is before all items or after them, returns its
    /// index instead.
    #[inline(always)]
    fn shared_bytes<const LEAF: bool>(
        self,
        search_key: SearchKey<'_>,
        equal: &Range<usize>,
    ) -> Result<usize, usize> {
        if equal.len() <= FEW_ITEMS {
            return Ok(0);
        }
        let rest = |index| {
            let (length, bytes) = self.suffix_of::<LEAF>(index);
            words(&bytes[..bytes_after_head(length)])
        };
        let mut shared = 0;
        for ((first, last), own) in rest(equal.start).zip(rest(equal.end - 1)).zip(words(search_key.rest())) {
            if own < first {
                return Err(equal.start);
            }
            if own > last {
                return Err(equal.end);
            }
            // A key between two that share bytes shares them, too.
            if first != last {
                return Ok(shared + (first ^ last).leading_zeros() as usize / 8);
            }
            shared += HEAD_BYTES;
        }
        Ok(shared)
    }
}

/// Returns the heads of each eight bytes, without those at the end that are fewer.
#[inline(always)]
fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_be_bytes(*word))
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

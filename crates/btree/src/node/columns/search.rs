//! Searches in a node in columns. Two counting comparisons find the place of a key: the samples select a
//! group of heads, and the heads of the group an item. Only keys with equal heads compare the bytes after
//! them.

use std::ops::Range;

use honeycomb_layout::{COLUMN_GROUP_BITS_MIN, node_header};
use honeycomb_memory::heads::{self, Vectors};
use honeycomb_memory::{Lid, Node};

use crate::node::columns::Columns;
use crate::node::columns::encoding::value_in;
use crate::node::columns::equal_heads::rank;
use crate::node::counts::Counts;
use crate::node::item::{Item, ItemHeader};
use crate::node::key::{self, SearchKey};
use crate::node::suffix::{HEAD_BYTES, bytes_after_head};

/// Groups of next heads that are compared one after the other.
const NEXT_HEAD_GROUPS: usize = 2;

/// The place of a head among the heads of a node.
struct Rank {
    /// The index of the first greater head.
    end: usize,
    /// The number of heads before `end` that equal the head: none, one, or [`SEVERAL`].
    equal: usize,
}

/// One equal head or more.
const SEVERAL: usize = 2;

impl Rank {
    /// Returns the place after `rank` of these heads, of which the first has the index `start`.
    #[inline(always)]
    fn new<const BYTES: usize>(start: usize, rank: usize, heads: &[u8; BYTES], head: u64) -> Self {
        let (heads, _) = heads.as_chunks();
        let before =
            |distance: usize| heads.get(rank.wrapping_sub(distance)).copied().map(u64::from_le_bytes);
        let equal = match (before(1) == Some(head), before(2)) {
            (false, _) => 0,
            (true, Some(other)) if other != head => 1,
            _ => SEVERAL,
        };
        Self { end: start + rank, equal }
    }
}

impl Columns<'_> {
    /// Returns the last group of heads whose first head is not greater than `head`, or the first group.
    #[inline(always)]
    pub(crate) fn find_group(self, vectors: impl Vectors, head: u64) -> usize {
        // The first word is not a sample.
        let group = vectors.rank_after_first(self.samples(), head);
        // The samples of missing groups are the greatest number.
        if head == u64::MAX { existing_group(self.counts, group) } else { group }
    }

    /// Returns the indexes of the items whose heads equal `head`, which `find_group` has found in this group.
    /// If there are none, the range is empty and starts at the first item with a greater head.
    #[inline(always)]
    pub(crate) fn equal_heads(self, vectors: impl Vectors, head: u64, group: usize) -> Range<usize> {
        let Rank { end, equal } = self.rank(vectors, head, group);
        if equal == SEVERAL { self.first_equal_head(vectors, head, end - 1)..end } else { end - equal..end }
    }

    /// Returns the first index whose head is `head`, as that at `last` is.
    #[inline(always)]
    fn first_equal_head(self, vectors: impl Vectors, head: u64, last: usize) -> usize {
        if last == 0 || self.head(last - 1) != head {
            return last;
        }
        // Equal heads that reach the first sample begin in the first group, which often has no other heads.
        if self.first_sample() >= head && self.head(0) == head {
            return 0;
        }
        let Some(less) = head.checked_sub(1) else { return 0 };
        self.rank(vectors, less, self.find_group(vectors, less)).end
    }

    /// Returns the place of `head` among the heads. `find_group` has found it in this group.
    #[inline(always)]
    fn rank(self, vectors: impl Vectors, head: u64, group: usize) -> Rank {
        const TWO_GROUPS: usize = COLUMN_GROUP_BITS_MIN + 1;
        let bits = self.group_bits();
        if bits == TWO_GROUPS
            && let start = group << bits
            && let Some(groups) = self.heads_from(start).first_chunk()
        {
            let rank = vectors.rank_in_two_groups(groups, self.count() - start, head);
            return Rank::new(start, rank, groups, head);
        }
        let start = match bits {
            COLUMN_GROUP_BITS_MIN => group << bits,
            _ => subgroup(self.body, self.counts, head, group),
        };
        let heads = self.heads_from(start);
        let present = self.count() - start;
        match heads.first_chunk() {
            Some(group) => Rank::new(start, vectors.rank_in_group(group, present, head), group, head),
            None => rank_in_last_group(heads, start, present, head),
        }
    }

    /// Returns the number of separators that are not greater than a key, of which `suffix` returns the bytes
    /// after the prefix.
    #[inline(always)]
    pub(crate) fn separators_not_greater<'k>(
        self,
        vectors: impl Vectors,
        head: u64,
        suffix: impl FnOnce() -> &'k [u8],
        group: usize,
    ) -> usize {
        let Rank { end, equal } = self.rank(vectors, head, group);
        match equal {
            0 => end,
            _ => separators_with_equal_heads(vectors, self.body, self.counts, head, suffix(), end - 1),
        }
    }

    /// Returns the number of separators that are not greater than `search_key`. The last one with the same
    /// head and the same next head is at `last`.
    #[inline(always)]
    fn separators_with_equal_next_heads(
        self,
        vectors: impl Vectors,
        search_key: SearchKey<'_>,
        next: u64,
        last: usize,
    ) -> usize {
        let (length, bytes) = self.suffix_of::<false>(last);
        let rest = &bytes[..bytes_after_head(length)];
        if search_key.compare_after(HEAD_BYTES, length, rest).is_le() {
            return last + 1;
        }
        match last.checked_sub(1) {
            Some(before) if self.has_heads(before, search_key.head, next) => {
                let first = self.first_equal_next_head(vectors, search_key.head, next, before);
                let (index, is_equal) = self.lower_bound_by_rest::<false>(search_key, first..last);
                index + usize::from(is_equal)
            }
            _ => last,
        }
    }

    /// Returns whether a separator has a head and a next head.
    #[inline(always)]
    fn has_heads(self, index: usize, head: u64, next: u64) -> bool {
        self.head(index) == head && self.next_head(index) == next
    }

    /// Returns the index of the first separator with a head whose next head is greater than `next`. The last
    /// one with this head is at `last`.
    #[inline(always)]
    fn rank_of_next_head(self, vectors: impl Vectors, head: u64, next: u64, last: usize) -> usize {
        let mut end = last + 1;
        // Groups of sixteen, because the lines of the key's group are prefetched and those before it are not.
        for _ in 0..NEXT_HEAD_GROUPS {
            let start = (end - 1) & !(heads::GROUP - 1);
            let next_heads = self.from(self.next_heads_start() + HEAD_BYTES * start).first_chunk();
            let (Some(heads), Some(next_heads)) = (self.heads_from(start).first_chunk(), next_heads) else {
                break;
            };
            let rank = vectors.rank_of_next_head([heads, next_heads], end - start, [head, next]);
            if rank > 0 || start == 0 || self.head(start - 1) != head {
                return start + rank;
            }
            end = start;
        }
        self.rank_in_next_heads(vectors, head, next, last)
    }

    /// As above, by halving: many separators have this head, or the node is nearly empty.
    #[inline(never)]
    fn rank_in_next_heads(self, vectors: impl Vectors, head: u64, next: u64, last: usize) -> usize {
        let first = self.first_equal_head(vectors, head, last);
        first + rank(vectors, &self.next_heads()[first..=last], next)
    }

    /// Returns the index of the first separator with a head and a next head, as that at `last` has them.
    #[inline(never)]
    fn first_equal_next_head(self, vectors: impl Vectors, head: u64, next: u64, last: usize) -> usize {
        next.checked_sub(1).map_or_else(
            || self.first_equal_head(vectors, head, last),
            |less| self.rank_in_next_heads(vectors, head, less, last),
        )
    }
}

// The functions for other cases have arguments in registers: their callers would store `Columns` and a
// `SearchKey` in memory for each key, although few keys need the call.

/// Returns the group, or the last one if there is none with this number.
#[cold]
fn existing_group(counts: Counts, group: usize) -> usize {
    group.min(counts.sorted_count().saturating_sub(1) >> counts.group_bits())
}

/// Returns the start of the last 16 heads of a group whose first head is not greater than `head`, or of the
/// first ones.
#[inline(never)]
fn subgroup(body: &[u8], counts: Counts, head: u64, group: usize) -> usize {
    let columns = Columns::new(body, counts);
    let mut start = group << columns.group_bits();
    for bits in (COLUMN_GROUP_BITS_MIN..columns.group_bits()).rev() {
        let middle = start + (1 << bits);
        if middle < columns.count() && columns.head(middle) <= head {
            start = middle;
        }
    }
    start
}

/// Returns the place of `head` among the last heads of a node that is nearly empty.
#[cold]
fn rank_in_last_group(heads: &[u8], start: usize, present: usize, head: u64) -> Rank {
    let heads = &heads[..HEAD_BYTES * present];
    let rank = heads::count_not_greater(heads, head);
    let is_equal = rank > 0 && heads[..HEAD_BYTES * rank].ends_with(&head.to_le_bytes());
    Rank { end: start + rank, equal: if is_equal { SEVERAL } else { 0 } }
}

/// Returns the number of separators that are not greater than a key with this head and suffix. The last one
/// with the same head is at `last`.
#[inline(never)]
fn separators_with_equal_heads(
    vectors: impl Vectors,
    body: &[u8],
    counts: Counts,
    head: u64,
    suffix: &[u8],
    last: usize,
) -> usize {
    let (columns, search_key) = (Columns::new(body, counts), SearchKey { suffix, head });
    // A head that determines its separator is followed by no bytes.
    if !columns.has_separator_items() {
        return last + 1;
    }
    let next = key::head(search_key.rest());
    let end = columns.rank_of_next_head(vectors, head, next, last);
    match end.checked_sub(1) {
        Some(before) if columns.has_heads(before, head, next) => {
            columns.separators_with_equal_next_heads(vectors, search_key, next, before)
        }
        _ => end,
    }
}

impl<'a> Columns<'a> {
    /// Returns the child to which an interior node routes a key, of which `suffix` returns the bytes after
    /// the prefix. `group` is that of the key.
    #[inline(always)]
    pub(crate) fn child_for<'k>(
        self,
        vectors: impl Vectors,
        node: Node<'_>,
        head: u64,
        suffix: impl FnOnce() -> &'k [u8],
        group: usize,
    ) -> Lid {
        match self.separators_not_greater(vectors, head, suffix, group) {
            0 => {
                Lid::new(node.word(node_header::LEFT_OFFSET)).expect("an interior node has a leftmost child")
            }
            number => self.child(number - 1),
        }
    }

    /// Returns the item of a key. `equal` has the items with the same head.
    #[inline(always)]
    pub(crate) fn find(self, search_key: SearchKey<'_>, equal: Range<usize>) -> Option<Item<'a>> {
        if equal.len() > 1 {
            return self.find_among_equal_heads(search_key, equal).map(|index| self.item(index));
        }
        let index = equal.into_iter().next()?;
        self.equals(index, search_key).then(|| self.item(index))
    }

    /// Returns the stored value of a key's item in a leaf, and whether it is an overflow value. `equal` has
    /// the items with the same head.
    #[inline(always)]
    pub(crate) fn find_value(
        self,
        search_key: SearchKey<'_>,
        equal: Range<usize>,
    ) -> Option<(&'a [u8], bool)> {
        // Not by the header of the item, because that of an item with a stride would be encoded and decoded.
        if equal.start + 1 == equal.end
            && let Some((stride, bytes)) = self.item_with_stride(equal.start)
        {
            let is_equal = search_key.equals_rest(stride.suffix_bytes, bytes);
            return is_equal.then(|| (stride.value_in(bytes), false));
        }
        if equal.is_empty() {
            return None;
        }
        find_value_among(self.body, self.counts, search_key.head, search_key.suffix, equal)
    }

    /// Returns the lengths, the flags and the stored value of an item of a leaf.
    #[inline(always)]
    pub(crate) fn stored_value(self, index: usize) -> (ItemHeader, &'a [u8]) {
        let (header, bytes) = self.item_bytes(index);
        (header, value_in(header, bytes))
    }
}

/// As [`Columns::find_value`], for an item without a stride or among others with the same head.
#[inline(never)]
fn find_value_among<'a>(
    body: &'a [u8],
    counts: Counts,
    head: u64,
    suffix: &[u8],
    equal: Range<usize>,
) -> Option<(&'a [u8], bool)> {
    let (columns, search_key) = (Columns::new(body, counts), SearchKey { suffix, head });
    let (is_tied, mut index) = (equal.len() > 1, equal.start);
    if is_tied {
        index = columns.find_among_equal_heads(search_key, equal)?;
    }
    let (header, bytes) = columns.item_bytes(index);
    let is_equal = is_tied || search_key.equals_rest(header.suffix_bytes(), bytes);
    is_equal.then(|| (value_in(header, bytes), header.overflow()))
}

//! The last steps of the descent of a scan: they prefetch the pairs after the first one. A scan of a few
//! pairs reads little else, so it would wait for each of these lines.

use std::ops::Range;

use honeycomb_layout::{COLUMN_HEADS_OFFSET, log_word, node_header};
use honeycomb_memory::{Lid, Node, Published};

use crate::node::columns::Columns;
use crate::node::log_entry::EntryPlace;
use crate::node::search::{ITEM_BYTES, prefetch_first};
use crate::read::descent::together::columns_of;
use crate::read::descent::{Descent, Purpose, Step};

/// Maximum number of pairs to prefetch. Beyond that the hardware prefetcher recognizes the sequence.
const PAIRS_MAX: usize = 128;
/// Lines of the heads of the right sibling to prefetch: a group.
const RIGHT_HEAD_LINES: usize = 2;

impl<'r> Descent<'r, '_> {
    /// Prefetches about `pairs` pairs from the first item of the scan on, and the log entries between them.
    /// If the leaf has fewer pairs, it also prefetches the entry of its right sibling in the page table.
    #[inline(never)]
    pub(super) fn prefetch_scan(&mut self, pairs: usize) {
        let (columns, node, start) = (columns_of(self.node), self.node.node(), self.near.start());
        let end = (start + pairs).min(columns.count());
        prefetch_pairs(node, columns, start..end, columns.group(start >> columns.group_bits()).end);
        self.next_entry = Some(prefetch_entries(self.node, start, end));
        self.step = Step::Leaf;
        if start + pairs > columns.count()
            && let Some(right) = Lid::new(node.word(node_header::RIGHT_OFFSET))
        {
            self.reader.forest().memory().prefetch_entry(right);
            (self.lid, self.step) = (right, Step::Right);
        }
    }

    /// Prefetches the right sibling of the leaf.
    #[inline(never)]
    pub(super) fn prefetch_right(&mut self) {
        let right = self.reader.current(self.lid);
        prefetch_first(right, false);
        right.prefetch_lines::<RIGHT_HEAD_LINES>(COLUMN_HEADS_OFFSET);
        right.prefetch_log_words(1);
        (self.right, self.step) = (Some(right), Step::RightNode);
    }

    /// Prefetches the pairs of the right sibling that the scan will read.
    #[inline(never)]
    pub(super) fn prefetch_right_pairs(&mut self) {
        self.step = Step::Leaf;
        let Purpose::Scan { pairs } = self.purpose else { return };
        let Some(right) = self.right.and_then(|right| self.reader.at_version(right)) else { return };
        let (columns, left) = (columns_of(right), columns_of(self.node).count());
        let end = (self.near.start() + pairs).saturating_sub(left).min(columns.count());
        right.node().prefetch_lines::<1>(columns.fences_start());
        prefetch_pairs(right.node(), columns, 0..end, columns.group(0).end);
        prefetch_entries(right, 0, end);
    }
}

/// Prefetches the log entries whose back pointers are from `start` to `end`. Returns the smallest back
/// pointer from `start` on, of entries of any version; `usize::MAX` if there is none.
#[inline(always)]
fn prefetch_entries(leaf: Published<'_>, start: usize, end: usize) -> usize {
    let (node, mut nearest) = (leaf.node(), usize::MAX);
    for word in leaf.log_words().iter() {
        let EntryPlace { back_pointer, at, .. } = EntryPlace::from_word(word);
        // Large for a back pointer before `start`, so that one branch, which is rarely taken, is enough.
        let distance = back_pointer.wrapping_sub(start);
        nearest = nearest.min(distance);
        if distance <= end - start {
            node.prefetch_range(at, at + ITEM_BYTES);
        }
    }
    if nearest <= log_word::BACK_POINTER_MASK as usize { start + nearest } else { usize::MAX }
}

/// Prefetches the first pairs of a range of indexes of a leaf. The heads up to an index are there already.
#[inline(always)]
fn prefetch_pairs(node: Node<'_>, columns: Columns<'_>, pairs: Range<usize>, heads_end: usize) {
    let (start, end) = (pairs.start, pairs.end.min(pairs.start + PAIRS_MAX));
    if end > heads_end {
        node.prefetch_range(COLUMN_HEADS_OFFSET + 8 * heads_end, COLUMN_HEADS_OFFSET + 8 * end);
        if columns.stride_bytes() == 0 {
            node.prefetch_range(columns.offsets_start() + 2 * heads_end, columns.offsets_start() + 2 * end);
        }
    }
    // Without a stride, the items are probably as long as the average.
    let first = columns.item_offset(start);
    node.prefetch_range(
        first,
        (first + columns.likely_item_bytes() * (end - start)).min(columns.sorted_end()),
    );
}

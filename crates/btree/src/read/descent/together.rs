//! The steps of descents, with as few instructions as possible: reads spend most of their time here.

use std::ops::Range;

use honeycomb_layout::{COLUMN_GROUP_BITS_MIN, COLUMN_HEADS_OFFSET, node_header};
use honeycomb_memory::heads::{Vectorized, Vectors};
use honeycomb_memory::{LINE_BYTES, Node, Published, Version};

use crate::node::candidates::Candidates;
use crate::node::columns::Columns;
use crate::node::counts::Counts;
use crate::node::key::SearchKey;
use crate::node::log_entry::entry_bytes_for;
use crate::node::search::{ITEM_BYTES, Near, prefetch_for_write};
use crate::node::shape::LEAF;
use crate::node::view::View;
use crate::read::descent::{ABOVE_LEAVES, Descent, Purpose, Step};

/// Most bytes of items with equal heads to prefetch: few keys share a head.
const EQUAL_BYTES_MAX: usize = 8 * LINE_BYTES;

/// Descents whose steps are executed together, and whether to count their accesses.
pub(super) struct Together<'d, 'r, 'k, const COUNTED: bool>(pub(super) &'d mut [Descent<'r, 'k>]);

impl<const COUNTED: bool> Vectorized for Together<'_, '_, '_, COUNTED> {
    type Output = ();

    // One loop for each kind of step instead of one loop over all kinds: that avoids a branch at each step.
    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        let mut is_under_way = true;
        while is_under_way {
            for descent in &mut *self.0 {
                if descent.step == Step::Node {
                    descent.search_node::<COUNTED>(vectors);
                }
            }
            for descent in &mut *self.0 {
                match descent.step {
                    Step::Parent => descent.search_parent(vectors),
                    Step::Group => descent.search_group::<COUNTED>(vectors),
                    Step::RightNode => descent.prefetch_right_pairs(),
                    _ => {}
                }
            }
            is_under_way = false;
            for descent in &mut *self.0 {
                is_under_way |= descent.advance();
            }
        }
    }
}

/// Returns the columns of a published node.
#[inline(always)]
pub(super) fn columns_of(published: Published<'_>) -> Columns<'_> {
    Columns::new(published.bytes(), Counts(published.node().word(node_header::SORTED_END_OFFSET)))
}

impl<'r, 'k> Descent<'r, 'k> {
    /// Returns the value of the key and its version, if a get needs only the sorted block of its leaf and an
    /// inline value: the common case.
    #[inline(always)]
    pub(in crate::read) fn get_sorted(&self) -> Option<Option<(&'r [u8], Version)>> {
        if self.step != Step::Leaf || !self.candidates.is_empty() {
            return None;
        }
        let columns = columns_of(self.node);
        let Some((header, value)) = columns.find_value(self.key_in(columns), self.near.range()) else {
            return Some(None);
        };
        let version = self.node.node().word(node_header::NODE_VERSION_OFFSET);
        (!header.overflow()).then_some(Some((value, version)))
    }

    /// Returns the search key of a node whose head is known.
    #[inline(always)]
    fn key_in(&self, columns: Columns<'_>) -> SearchKey<'k> {
        SearchKey { suffix: &self.key[columns.prefix_length()..], head: self.head }
    }

    #[inline(always)]
    fn search_node<const COUNTED: bool>(&mut self, vectors: impl Vectors) {
        let before = self.node.node();
        if !self.read_node() {
            return;
        }
        let columns = columns_of(self.node);
        let search_key = SearchKey::after_prefix(self.key, columns.prefix_length());
        self.head = search_key.head;
        let group = columns.find_group(vectors, search_key.head);
        self.near = Near::of(group..0);
        match columns.level() {
            LEAF => {
                self.step = Step::Group;
                prefetch_group(self.node.node(), columns, group);
                match self.purpose {
                    Purpose::Write { value_bytes } => {
                        let entry_bytes = entry_bytes_for(search_key.suffix.len(), value_bytes);
                        let (shape, state) = (self.reader.forest().shape(), self.node.state());
                        let state = (state.size(), state.log_count());
                        prefetch_for_write(self.node.node(), shape, columns.sorted_end(), state, entry_bytes);
                    }
                    _ => self.prefetch_log_of(columns, search_key),
                }
            }
            ABOVE_LEAVES => {
                self.step = Step::Parent;
                prefetch_group(self.node.node(), columns, group);
            }
            _ => self.go_to_child(columns.child_for(vectors, self.node.node(), search_key, group)),
        }
        if COUNTED && let Some(stats) = self.reader.access_stats() {
            let view = self.reader.at_version(before).map(View::published);
            self.count(stats, view.expect("the node was just read"));
        }
    }

    /// Prefetches the log block of a leaf if a read needs it.
    #[inline(always)]
    fn prefetch_log_of(&mut self, columns: Columns<'r>, search_key: SearchKey<'_>) {
        let (node, state) = (self.node.node(), self.node.state());
        if self.purpose == Purpose::Get {
            let tags = || [node.word(node_header::TAGS_OFFSET), node.word(node_header::TAGS_OFFSET + 8)];
            self.candidates = Candidates::among(state.log_count(), tags, search_key);
        }
        if !self.candidates.is_empty() {
            node.prefetch_log_words(state.log_count());
            if self.purpose == Purpose::Get {
                node.prefetch(columns.sorted_end(), state.size());
            }
        }
    }

    #[inline(always)]
    fn search_parent(&mut self, vectors: impl Vectors) {
        let columns = columns_of(self.node);
        let group = self.near.start();
        self.choose_child(columns.child_for(vectors, self.node.node(), self.key_in(columns), group));
    }

    #[inline(always)]
    fn search_group<const COUNTED: bool>(&mut self, vectors: impl Vectors) {
        let (columns, node) = (columns_of(self.node), self.node.node());
        let equal = columns.equal_heads(vectors, self.head, self.near.start());
        let at = columns.item_offset(equal.start);
        node.prefetch_lines::<1>(at);
        node.prefetch_lines::<1>(at + ITEM_BYTES - 1);
        if equal.len() > 1 {
            prefetch_equal(node, columns, equal.clone());
        }
        self.near = Near::of(equal);
        self.step = Step::Leaf;
        if let Purpose::Scan { pairs } = self.purpose {
            self.prefetch_scan(pairs);
        }
        if COUNTED {
            self.count_item();
        }
    }
}

/// Prefetches a group of heads, their next heads, and their children or the offsets of their items.
#[inline(always)]
fn prefetch_group(node: Node<'_>, columns: Columns<'_>, group: usize) {
    let bits = columns.group_bits();
    let first = group << bits;
    prefetch_column(node, COLUMN_HEADS_OFFSET + 8 * first, bits);
    if !columns.is_leaf() {
        prefetch_column(node, columns.children_start() + 8 * first, bits);
        if columns.has_separator_items() {
            prefetch_column(node, columns.next_heads_start() + 8 * first, bits);
        }
    } else if columns.stride_bytes() == 0 {
        node.prefetch_lines::<1>(columns.offsets_start() + 2 * first);
    }
}

/// Prefetches the items with equal heads that a search compares: all of a few, and of many the last one and
/// those in the middle in its first steps.
#[inline(never)]
fn prefetch_equal(node: Node<'_>, columns: Columns<'_>, equal: Range<usize>) {
    let (start, end) = (columns.item_offset(equal.start), columns.item_offset(equal.end));
    if end - start <= EQUAL_BYTES_MAX {
        return node.prefetch_range(start + ITEM_BYTES, end);
    }
    let quarter = |number: usize| equal.start + equal.len() * number / 4;
    for index in [quarter(1), quarter(2), quarter(3), equal.end - 1] {
        let at = columns.item_offset(index);
        node.prefetch_lines::<1>(at);
        node.prefetch_lines::<1>(at + ITEM_BYTES / 2);
    }
}

/// Prefetches the elements of a group in a column of heads or children, of which 16 take two lines.
#[inline(always)]
fn prefetch_column(node: Node<'_>, start: usize, group_bits: usize) {
    const LINES: usize = 2;
    node.prefetch_lines::<LINES>(start);
    if group_bits > COLUMN_GROUP_BITS_MIN {
        node.prefetch_lines::<LINES>(start + LINES * LINE_BYTES);
    }
    if group_bits > COLUMN_GROUP_BITS_MIN + 1 {
        prefetch_long_column(node, start, group_bits);
    }
}

/// Prefetches the elements of a group of more than 32.
#[cold]
fn prefetch_long_column(node: Node<'_>, start: usize, group_bits: usize) {
    node.prefetch_range(start, start + (8 << group_bits));
}

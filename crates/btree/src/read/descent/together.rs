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
    fn run(mut self, vectors: impl Vectors) {
        let mut is_under_way = COUNTED || !self.descend_one_tree(vectors);
        while is_under_way {
            for descent in &mut *self.0 {
                if descent.step == Step::Node {
                    descent.search_node::<COUNTED>(vectors);
                }
            }
            for descent in &mut *self.0 {
                match descent.step {
                    Step::Parent => _ = descent.search_parent(vectors),
                    Step::Group => _ = descent.search_group::<COUNTED>(vectors),
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

impl<'r, 'k, const COUNTED: bool> Together<'_, 'r, 'k, COUNTED> {
    /// Executes the steps of descents that start at one root. Its leaves have one depth, so all descents are
    /// at the same step, and none asks which one it is at. Returns whether all are complete; if not, each
    /// has its next step.
    #[inline(always)]
    fn descend_one_tree(&mut self, vectors: impl Vectors) -> bool {
        let Some(root) = self.read_root() else { return false };
        let columns = columns_of(root);
        if columns.is_leaf() {
            return false;
        }
        if columns.level() > ABOVE_LEAVES {
            self.0.iter_mut().for_each(|descent| descent.search_root(vectors, root, columns));
        }
        for _ in ABOVE_LEAVES + 1..columns.level() {
            self.0.iter_mut().for_each(|descent| descent.search_node::<false>(vectors));
        }
        self.at_all(|descent| descent.search_parent_node(vectors))
            && self.at_all(|descent| descent.search_parent(vectors))
            && self.at_all(|descent| descent.go_to_chosen_child())
            && self.at_all(|descent| descent.search_leaf(vectors))
            && self.at_all(|descent| descent.search_group::<false>(vectors))
    }

    /// Executes a step of all descents. Returns whether the next one is the same for all.
    #[inline(always)]
    fn at_all(&mut self, mut step: impl FnMut(&mut Descent<'r, 'k>) -> bool) -> bool {
        self.0.iter_mut().fold(true, |all, descent| all & step(descent))
    }

    /// Reads the root if all descents start at it.
    #[inline(always)]
    fn read_root(&mut self) -> Option<Published<'r>> {
        let (first, others) = self.0.split_first_mut()?;
        let is_shared = others.iter().all(|other| other.node.node().is(first.node.node()));
        (is_shared && first.read_node()).then_some(first.node)
    }
}

/// The place of a key in a node whose samples were searched.
#[derive(Clone, Copy)]
struct Place<'r, 'k> {
    columns: Columns<'r>,
    search_key: SearchKey<'k>,
    /// The key's group of heads.
    group: usize,
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
        let Some((value, is_overflow)) = columns.find_value(self.key_in(columns), self.near.range()) else {
            return Some(None);
        };
        let version = self.node.node().word(node_header::NODE_VERSION_OFFSET);
        (!is_overflow).then_some(Some((value, version)))
    }

    /// Returns the search key of a node whose head is known.
    #[inline(always)]
    fn key_in(&self, columns: Columns<'_>) -> SearchKey<'k> {
        SearchKey { suffix: &self.key[columns.prefix_length()..], head: self.head }
    }

    /// Searches the root, which was read for all descents.
    #[inline(always)]
    fn search_root(&mut self, vectors: impl Vectors, root: Published<'r>, columns: Columns<'r>) {
        let search_key = SearchKey::after_prefix(self.key, columns.prefix_length());
        let group = columns.find_group(vectors, search_key.head);
        self.go_to_child(root.node(), columns.child_for(vectors, root.node(), search_key, group));
    }

    #[inline(always)]
    fn search_node<const COUNTED: bool>(&mut self, vectors: impl Vectors) {
        let before = self.node.node();
        let Some(place) = self.find_place(vectors) else { return };
        match place.columns.level() {
            LEAF => self.stay_at_leaf(place),
            ABOVE_LEAVES => self.stay_at_parent(place),
            _ => {
                let node = self.node.node();
                self.go_to_child(node, place.columns.child_for(vectors, node, place.search_key, place.group));
            }
        }
        if COUNTED && let Some(stats) = self.reader.access_stats() {
            let view = self.reader.at_version(before).map(View::published);
            self.count(stats, view.expect("the node was just read"));
        }
    }

    /// Searches a parent of leaves. Returns false if the tree is newer than the reader.
    #[inline(always)]
    fn search_parent_node(&mut self, vectors: impl Vectors) -> bool {
        self.find_place(vectors).map(|place| self.stay_at_parent(place)).is_some()
    }

    /// Searches a leaf. Returns false if the tree is newer than the reader.
    #[inline(always)]
    fn search_leaf(&mut self, vectors: impl Vectors) -> bool {
        self.find_place(vectors).map(|place| self.stay_at_leaf(place)).is_some()
    }

    /// Reads the header and the samples of the current node, and finds the key's group of heads. Returns
    /// `None` if the tree is newer than the reader.
    #[inline(always)]
    fn find_place(&mut self, vectors: impl Vectors) -> Option<Place<'r, 'k>> {
        if !self.read_node() {
            return None;
        }
        let columns = columns_of(self.node);
        let search_key = SearchKey::after_prefix(self.key, columns.prefix_length());
        self.head = search_key.head;
        let group = columns.find_group(vectors, search_key.head);
        self.near = Near::of(group..0);
        Some(Place { columns, search_key, group })
    }

    /// Prefetches the key's group of heads in a parent of leaves.
    #[inline(always)]
    fn stay_at_parent(&mut self, place: Place<'r, 'k>) {
        self.step = Step::Parent;
        prefetch_group(self.node.node(), place.columns, place.group);
    }

    /// Prefetches the key's group of heads in a leaf, and the log block if it is needed.
    #[inline(always)]
    fn stay_at_leaf(&mut self, Place { columns, search_key, group }: Place<'r, 'k>) {
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

    /// Finds the child of a parent of leaves.
    #[inline(always)]
    fn search_parent(&mut self, vectors: impl Vectors) -> bool {
        let columns = columns_of(self.node);
        let group = self.near.start();
        self.choose_child(columns.child_for(vectors, self.node.node(), self.key_in(columns), group));
        true
    }

    /// Searches the group of a leaf. Returns whether the descent is complete.
    #[inline(always)]
    fn search_group<const COUNTED: bool>(&mut self, vectors: impl Vectors) -> bool {
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
        self.step == Step::Leaf
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

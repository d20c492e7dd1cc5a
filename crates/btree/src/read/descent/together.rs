//! The steps of descents, with as few instructions as possible: reads spend most of their time here.

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
                    Step::Parent => {
                        descent.search_parent(vectors);
                        descent.step = Step::Child;
                    }
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
    /// at the same step, and none looks or notes which one it is at. Returns whether all are complete; if
    /// not, each has its next step.
    // Loops and not `for_each`, so that the compiler inlines the steps, and thus the vector instructions.
    #[inline(always)]
    fn descend_one_tree(&mut self, vectors: impl Vectors) -> bool {
        let Some(root) = self.read_root() else { return false };
        let columns = columns_of(root);
        if columns.is_leaf() {
            return false;
        }
        if columns.level() > ABOVE_LEAVES {
            for descent in &mut *self.0 {
                descent.search_root(vectors, root, columns);
            }
        }
        for _ in ABOVE_LEAVES + 1..columns.level() {
            for descent in &mut *self.0 {
                descent.search_node::<false>(vectors);
            }
        }
        self.descend_from_parents(vectors)
    }

    /// Executes the steps of descents that are at parents of leaves.
    #[inline(always)]
    fn descend_from_parents(&mut self, vectors: impl Vectors) -> bool {
        let mut are_all = true;
        for descent in &mut *self.0 {
            are_all &= descent.search_parent_node(vectors);
        }
        if !are_all {
            return self.diverge(Step::Parent);
        }
        for descent in &mut *self.0 {
            descent.search_parent(vectors);
        }
        for descent in &mut *self.0 {
            descent.go_to_chosen_child();
        }
        for descent in &mut *self.0 {
            are_all &= descent.search_leaf(vectors);
        }
        if !are_all {
            return self.diverge(Step::Group);
        }
        for descent in &mut *self.0 {
            are_all &= descent.search_group::<false>(vectors);
        }
        are_all
    }

    /// Notes the next step of those descents that have noted no other one. Returns false.
    #[cold]
    fn diverge(&mut self, next: Step) -> bool {
        for descent in &mut *self.0 {
            if descent.step == Step::Node {
                descent.step = next;
            }
        }
        false
    }

    /// Reads the root if all descents start at it.
    #[inline(always)]
    fn read_root(&mut self) -> Option<Published<'r>> {
        let (first, others) = self.0.split_first_mut()?;
        let is_shared = others.iter().all(|other| other.node.node().is(first.node.node()));
        if is_shared { first.read_node() } else { None }
    }
}

/// The place of a key in a node whose samples were searched.
#[derive(Clone, Copy)]
struct Place<'r, 'k> {
    node: Published<'r>,
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
        let search_key = SearchKey { suffix: self.suffix_in(columns), head: self.head };
        let Some((value, is_overflow)) = columns.find_value(search_key, self.near.range()) else {
            return Some(None);
        };
        let version = self.node.node().word(node_header::NODE_VERSION_OFFSET);
        (!is_overflow).then_some(Some((value, version)))
    }

    /// Returns the bytes of the key after the prefix of a node.
    #[inline(always)]
    fn suffix_in(&self, columns: Columns<'_>) -> &'k [u8] {
        &self.key[columns.prefix_length()..]
    }

    /// Searches the root, which was read for all descents.
    #[inline(always)]
    fn search_root(&mut self, vectors: impl Vectors, root: Published<'r>, columns: Columns<'r>) {
        let search_key = SearchKey::after_prefix(self.key, columns.prefix_length());
        let group = columns.find_group(vectors, search_key.head);
        let suffix = || search_key.suffix;
        self.go_to_child(columns.child_for(vectors, root.node(), search_key.head, suffix, group));
    }

    #[inline(always)]
    fn search_node<const COUNTED: bool>(&mut self, vectors: impl Vectors) {
        let before = self.node.node();
        let Some(place) = self.find_place(vectors) else { return };
        let Place { node, columns, search_key, group } = place;
        match columns.level() {
            LEAF => {
                self.prefetch_leaf(place);
                self.step = Step::Group;
            }
            ABOVE_LEAVES => {
                prefetch_separators(node.node(), columns, group);
                self.step = Step::Parent;
            }
            _ => {
                let suffix = || search_key.suffix;
                self.go_to_child(columns.child_for(vectors, node.node(), search_key.head, suffix, group));
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
        let Some(Place { node, columns, group, .. }) = self.find_place(vectors) else { return false };
        prefetch_separators(node.node(), columns, group);
        true
    }

    /// Searches a leaf. Returns false if the tree is newer than the reader.
    #[inline(always)]
    fn search_leaf(&mut self, vectors: impl Vectors) -> bool {
        let Some(place) = self.find_place(vectors) else { return false };
        self.prefetch_leaf(place);
        true
    }

    /// Reads the header and the samples of the current node, and finds the key's group of heads. Returns
    /// `None` if the tree is newer than the reader.
    #[inline(always)]
    fn find_place(&mut self, vectors: impl Vectors) -> Option<Place<'r, 'k>> {
        let node = self.read_node()?;
        let columns = columns_of(node);
        let search_key = SearchKey::after_prefix(self.key, columns.prefix_length());
        self.head = search_key.head;
        let group = columns.find_group(vectors, search_key.head);
        self.near = Near::group(group);
        Some(Place { node, columns, search_key, group })
    }

    /// Prefetches the key's group of heads in a leaf, and the log block if it is needed.
    #[inline(always)]
    fn prefetch_leaf(&mut self, Place { node, columns, search_key, group }: Place<'r, 'k>) {
        prefetch_items(node.node(), columns, group);
        let (node, state) = (node.node(), node.state());
        let (size, log_count) = (state.size(), state.log_count());
        match self.purpose {
            Purpose::Get => {
                let tags = || [node.word(node_header::TAGS_OFFSET), node.word(node_header::TAGS_OFFSET + 8)];
                self.candidates = Candidates::among(log_count, tags, search_key);
                if !self.candidates.is_empty() {
                    node.prefetch_log_words(log_count);
                    node.prefetch(columns.sorted_end(), size);
                }
            }
            Purpose::Scan { .. } => node.prefetch_log_words(log_count),
            Purpose::Write { value_bytes } => {
                let entry_bytes = entry_bytes_for(search_key.suffix.len(), value_bytes);
                let shape = self.reader.forest().shape();
                prefetch_for_write(node, shape, columns.sorted_end(), (size, log_count), entry_bytes);
            }
        }
    }

    /// Finds the child of a parent of leaves.
    #[inline(always)]
    fn search_parent(&mut self, vectors: impl Vectors) {
        let (columns, node) = (columns_of(self.node), self.node.node());
        let suffix = || self.suffix_in(columns);
        self.choose_child(columns.child_for(vectors, node, self.head, suffix, self.near.start()));
    }

    /// Searches the group of a leaf. Returns whether the descent is complete.
    #[inline(always)]
    fn search_group<const COUNTED: bool>(&mut self, vectors: impl Vectors) -> bool {
        let (columns, node) = (columns_of(self.node), self.node.node());
        let equal = columns.equal_heads(vectors, self.head, self.near.start());
        let at = columns.item_offset(equal.start);
        node.prefetch_lines::<1>(at);
        node.prefetch_lines::<1>(at + ITEM_BYTES - 1);
        let is_tied = equal.start + 1 < equal.end;
        self.near = Near::of(equal);
        self.step = Step::Leaf;
        if is_tied {
            self.prefetch_equal();
        }
        if COUNTED {
            self.count_item();
        }
        if let Purpose::Scan { pairs } = self.purpose {
            self.prefetch_scan(pairs);
            return self.step == Step::Leaf;
        }
        true
    }

    /// Prefetches the items with the head of the key that a search compares: all of a few, and of many the
    /// last one and those in the middle in its first steps.
    #[inline(never)]
    fn prefetch_equal(&self) {
        let (columns, node, equal) = (columns_of(self.node), self.node.node(), self.near.range());
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
}

/// Prefetches a group of heads of an interior node, their children and next heads.
#[inline(always)]
fn prefetch_separators(node: Node<'_>, columns: Columns<'_>, group: usize) {
    let bits = columns.group_bits();
    let at = 8 * (group << bits);
    prefetch_columns(node, [COLUMN_HEADS_OFFSET + at, columns.children_start() + at], bits);
    if columns.has_separator_items() {
        prefetch_columns(node, [columns.next_heads_start() + at], bits);
    }
}

/// Prefetches a group of heads of a leaf, and the offsets of their items.
#[inline(always)]
fn prefetch_items(node: Node<'_>, columns: Columns<'_>, group: usize) {
    let bits = columns.group_bits();
    let first = group << bits;
    prefetch_columns(node, [COLUMN_HEADS_OFFSET + 8 * first], bits);
    if columns.stride_bytes() == 0 {
        node.prefetch_lines::<1>(columns.offsets_start() + 2 * first);
    }
}

/// Prefetches the elements of a group in columns of heads or children, of which 16 take two lines. They begin
/// at `starts`.
#[inline(always)]
fn prefetch_columns<const COLUMNS: usize>(node: Node<'_>, starts: [usize; COLUMNS], group_bits: usize) {
    const LINES: usize = 2;
    for start in starts {
        node.prefetch_lines::<LINES>(start);
    }
    if group_bits > COLUMN_GROUP_BITS_MIN {
        for start in starts {
            node.prefetch_lines::<LINES>(start + LINES * LINE_BYTES);
            if group_bits > COLUMN_GROUP_BITS_MIN + 1 {
                prefetch_long_column(node, start, group_bits);
            }
        }
    }
}

/// Prefetches the elements of a group of more than 32.
#[cold]
fn prefetch_long_column(node: Node<'_>, start: usize, group_bits: usize) {
    node.prefetch_range(start, start + (8 << group_bits));
}

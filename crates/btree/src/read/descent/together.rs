//! The steps of descents through nodes in columns. They do the same as the steps of `Descent` that work for
//! every layout, with as few instructions as possible: reads spend most of their time here.

use honeycomb_layout::{COLUMN_GROUP_BITS_MIN, COLUMN_HEADS_OFFSET, node_header};
use honeycomb_memory::heads::{Vectorized, Vectors};
use honeycomb_memory::{Node, Published};

use crate::node::candidates::Candidates;
use crate::node::columns::Columns;
use crate::node::counts::Counts;
use crate::node::key::SearchKey;
use crate::node::search::{ITEM_BYTES, Near};
use crate::node::shape::LEAF;
use crate::read::descent::{ABOVE_LEAVES, Descent, Purpose, State};

/// Descents whose steps are executed together.
pub(super) struct Together<'d, 'r, 'k>(pub(super) &'d mut [Descent<'r, 'k>]);

impl Vectorized for Together<'_, '_, '_> {
    type Output = ();

    // One loop for each kind of step instead of one loop over all kinds: that avoids a branch at each step.
    #[inline(always)]
    fn run(self, vectors: impl Vectors) {
        let mut is_under_way = true;
        while is_under_way {
            for descent in &mut *self.0 {
                if let State::Node(node) = descent.state {
                    descent.search_columns(vectors, node);
                }
            }
            for descent in &mut *self.0 {
                match descent.state {
                    State::Parent(published) => descent.choose_child_in_columns(vectors, published),
                    State::Group(published) => descent.choose_item_in_columns(vectors, published),
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
fn columns_of(published: Published<'_>) -> Columns<'_> {
    Columns::new(published.bytes(), Counts(published.node().word(node_header::SORTED_END_OFFSET)))
}

impl<'r, 'k> Descent<'r, 'k> {
    /// Returns the search key of a node whose head is known.
    #[inline(always)]
    fn key_in(&self, columns: Columns<'_>) -> SearchKey<'k> {
        SearchKey { suffix: &self.key[columns.prefix_length()..], head: self.head }
    }

    #[inline(always)]
    fn search_columns(&mut self, vectors: impl Vectors, node: Node<'r>) {
        let Some(published) = self.reader.at_version(node) else {
            self.state = State::Missing;
            return;
        };
        let columns = columns_of(published);
        let search_key = SearchKey::new(&self.key[columns.prefix_length()..]);
        self.head = search_key.head;
        let group = columns.find_group(vectors, search_key.head);
        self.near = Near::of(group..0);
        match columns.level() {
            LEAF => {
                self.state = State::Group(published);
                prefetch_group(published.node(), columns, group);
                self.prefetch_log_of(published, columns, &search_key);
            }
            ABOVE_LEAVES => {
                self.state = State::Parent(published);
                prefetch_group(published.node(), columns, group);
            }
            _ => self.go_to_child(columns.child_for(vectors, published.node(), &search_key, group)),
        }
        if let Some(stats) = self.reader.access_stats() {
            self.count(stats, self.reader.forest().view_of(published));
        }
    }

    /// Prefetches the log block of a leaf if it is needed.
    #[inline(always)]
    fn prefetch_log_of(&mut self, leaf: Published<'r>, columns: Columns<'r>, search_key: &SearchKey<'_>) {
        let (node, state) = (leaf.node(), leaf.state());
        if self.purpose == Purpose::Get {
            let tags = || [node_header::TAGS_OFFSET, node_header::TAGS_OFFSET + 8].map(|at| node.word(at));
            self.candidates = Candidates::among(state.log_count(), tags, search_key);
        }
        if !self.candidates.is_empty() {
            node.prefetch(columns.sorted_end(), state.size());
        }
    }

    #[inline(always)]
    fn choose_child_in_columns(&mut self, vectors: impl Vectors, published: Published<'r>) {
        let columns = columns_of(published);
        let group = self.near.start();
        let child = columns.child_for(vectors, published.node(), &self.key_in(columns), group);
        self.reader.forest().memory().prefetch_entry(child);
        self.state = State::Child(child);
    }

    #[inline(always)]
    fn choose_item_in_columns(&mut self, vectors: impl Vectors, published: Published<'r>) {
        let (columns, node) = (columns_of(published), published.node());
        let equal = columns.equal_heads(vectors, self.head, self.near.start());
        let at = columns.item_offset(equal.start);
        node.prefetch_lines::<1>(at);
        node.prefetch_lines::<1>(at + ITEM_BYTES - 1);
        self.near = Near::of(equal);
        self.state = State::Leaf(published);
        if self.purpose != Purpose::Get || self.reader.access_stats().is_some() {
            self.finish_item(published);
        }
    }
}

/// Prefetches a group of heads, and their children or the offsets of their items.
#[inline(always)]
fn prefetch_group(node: Node<'_>, columns: Columns<'_>, group: usize) {
    let bits = columns.group_bits();
    let (first, is_leaf) = (group << bits, columns.is_leaf());
    let second = if is_leaf { columns.offsets_start() } else { columns.children_start() };
    for first in (first..first + (1 << bits)).step_by(1 << COLUMN_GROUP_BITS_MIN) {
        node.prefetch_lines::<2>(COLUMN_HEADS_OFFSET + 8 * first);
        if !is_leaf {
            node.prefetch_lines::<2>(second + 8 * first);
        } else if columns.stride_bytes() == 0 {
            node.prefetch_lines::<1>(second + 2 * first);
        }
    }
}

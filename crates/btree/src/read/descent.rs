//! The descent to a key's leaf, divided into steps so that many operations can overlap.
//!
//! Each step ends with a prefetch of the bytes that the next step reads:
//!
//! | at | reads | prefetches |
//! |---|---|---|
//! | a node | header and samples | the key's group of heads; in a leaf also the log block if it is needed |
//! | a group of an interior node | the heads, a child | the child's entry in the page table |
//! | a child | the page table | the child's header and samples |
//! | a group of a leaf | the heads | the item |
//! | a leaf's item | | |
//!
//! A scan adds steps that prefetch its next pairs: see `ahead`.
//!
//! The upper interior nodes are few and stay in the caches. There the first three steps are one step.
//!
//! A single operation executes its steps one after the other. Several operations execute each step together,
//! and those of one tree are always at the same step until they reach its leaves.

mod ahead;
mod together;

use honeycomb_layout::log_word;
use honeycomb_memory::heads;
use honeycomb_memory::{Lid, Node, Published};

use crate::forest::Root;
use crate::node::candidates::Candidates;
use crate::node::search::{Near, item_bytes, near_bytes, prefetch_first, prefetch_heads};
use crate::node::shape::{BLOCK_START, LEAF};
use crate::node::view::View;
use crate::read::access_stats::{AccessStats, NodePart};
use crate::read::reader::Reader;
use together::Together;

/// Maximum number of pairs of a leaf.
const LEAF_PAIRS_MAX: usize = log_word::BACK_POINTER_MASK as usize;
/// The level of the parents of leaves.
const ABOVE_LEAVES: usize = LEAF + 1;

/// A descent from the root to the leaf to which its key is routed.
// Small, and updated in place: a step takes a few tens of instructions.
pub struct Descent<'r, 'k> {
    reader: &'r Reader<'r>,
    root: Root,
    key: &'k [u8],
    purpose: Purpose,
    /// Whether no other descents execute together with this one, so that its memory accesses do not overlap
    /// with anything else. Then it prefetches more in one step, instead of less in two.
    is_alone: bool,
    /// The next step. While all descents of one tree are at the same step, it remains the first one.
    step: Step,
    /// The LID of the root; once the parent is searched, that of the leaf, in step `Right` of the next one.
    lid: Lid,
    /// The current node. Before step `Node` nothing was read from it.
    node: Published<'r>,
    /// In step `RightNode`: the right sibling of the leaf.
    right: Option<Node<'r>>,
    /// The head of the key without the prefix of the current node.
    head: u64,
    /// The place of the key in the current node.
    near: Near,
    /// In step `Leaf`: the log entries to read.
    candidates: Candidates,
    /// In step `Leaf` of a scan: see [`Landing::next_entry`].
    next_entry: Option<usize>,
}

/// The purpose of a descent, which determines the bytes of the leaf to prefetch.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    /// The key's item, and the log block if an entry may have the key.
    Get,
    /// Fence keys, about this many items, and the whole log block.
    Scan { pairs: usize },
    /// The key's item, the whole log block, and the bytes of an entry with a value of this length after it.
    /// If the log block has no room for that entry, the whole leaf: the write will rebuild it.
    Write { value_bytes: usize },
}

/// The next step of a descent.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    /// A node whose first bytes were prefetched.
    Node,
    /// A parent of leaves, near the key of which was prefetched.
    Parent,
    /// A leaf whose page table entry was prefetched.
    Child,
    /// A leaf, of which the key's group of heads was prefetched.
    Group,
    /// The right sibling of a leaf, whose page table entry was prefetched: the scan will reach it.
    Right,
    /// The right sibling, whose first bytes were prefetched.
    RightNode,
    /// None: all bytes to read of the leaf were prefetched.
    Leaf,
    /// None: the tree is newer than the reader.
    Missing,
}

/// The result of a descent.
#[derive(Clone, Copy)]
pub(crate) struct Landing<'r> {
    pub(crate) leaf: View<'r>,
    /// The head of the key without the prefix of the leaf.
    pub(crate) head: u64,
    /// The place of the key in the sorted block.
    pub(crate) near: Near,
    /// The log entries that may have the key, or all entries.
    pub(crate) candidates: Candidates,
    /// The smallest back pointer at or after the start of `near` among all log entries, if the descent has
    /// looked for it; `usize::MAX` if there is none.
    pub(crate) next_entry: Option<usize>,
}

/// The leaf that a write will change, as found without its lock.
#[derive(Clone, Copy)]
pub(crate) struct Target<'r> {
    pub(crate) lid: Lid,
    /// The buffer for which `place` is valid.
    pub(crate) buffer: Node<'r>,
    pub(crate) place: KeyPlace,
}

/// The place of a key in the sorted block of a leaf.
#[derive(Clone, Copy)]
pub(crate) struct KeyPlace {
    /// The head of the key without the prefix of the leaf.
    pub(crate) head: u64,
    pub(crate) near: Near,
}

/// The root of a tree as a reader has found it. Descents that begin at one start search its node together.
#[derive(Debug, Clone, Copy)]
pub struct Start<'r> {
    root: Root,
    node: Node<'r>,
}

/// The start of the last descent, from which the next one begins if it is for the same `T`: a root, or what
/// determines one.
#[derive(Debug)]
pub struct LastStart<'r, T>(Option<(T, Start<'r>)>);

impl<T> Default for LastStart<'_, T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'r, T: Copy + PartialEq> LastStart<'r, T> {
    /// Returns the start of the last descent if it was for `target`.
    #[must_use]
    #[inline(always)]
    pub fn of(&self, target: T) -> Option<Start<'r>> {
        self.0.filter(|(last, _)| *last == target).map(|(_, start)| start)
    }

    /// Notes the start of a descent for `target`, and returns it.
    #[inline(always)]
    pub fn insert(&mut self, target: T, start: Start<'r>) -> Start<'r> {
        self.0 = Some((target, start));
        start
    }
}

impl Start<'_> {
    /// Returns the root.
    #[must_use]
    pub fn root(self) -> Root {
        self.root
    }
}

impl<'r> Reader<'r> {
    /// Finds the current root of a tree.
    #[must_use]
    #[inline]
    pub fn start(&'r self, root: Root) -> Start<'r> {
        Start { root, node: self.current(root.0) }
    }

    /// Starts a descent to the leaf of a key for a get.
    #[must_use]
    #[inline]
    pub fn descend_to_get<'k>(&'r self, start: Start<'r>, key: &'k [u8]) -> Descent<'r, 'k> {
        Descent::new(self, start, key, Purpose::Get)
    }

    /// Starts a descent to the first leaf of a scan of about `pairs` pairs.
    #[must_use]
    #[inline]
    pub fn descend_to_scan<'k>(&'r self, start: Start<'r>, key: &'k [u8], pairs: usize) -> Descent<'r, 'k> {
        Descent::new(self, start, key, Purpose::Scan { pairs: pairs.min(LEAF_PAIRS_MAX) })
    }

    /// Starts a descent to the leaf of a key for a write of `value_bytes` in that leaf.
    #[inline]
    pub(crate) fn descend_to_write<'k>(
        &'r self,
        start: Start<'r>,
        key: &'k [u8],
        value_bytes: usize,
    ) -> Descent<'r, 'k> {
        Descent::new(self, start, key, Purpose::Write { value_bytes })
    }

    /// Descends to the leaf of a key. Returns `None` only if the tree is newer than the reader.
    pub(crate) fn land(&'r self, root: Root, key: &[u8]) -> Option<Landing<'r>> {
        self.descend_to_scan(self.start(root), key, 0).descend().landing()
    }
}

/// Executes all steps of several descents, step by step, so that the prefetches of one overlap with the
/// computation of the others. Afterwards all descents are complete.
#[inline]
pub fn descend_together(descents: &mut [Descent<'_, '_>]) {
    if let [alone] = &mut *descents {
        alone.is_alone = true;
    }
    match descents.first() {
        Some(first) if first.reader.access_stats().is_some() => heads::vectorized(Together::<true>(descents)),
        _ => heads::vectorized(Together::<false>(descents)),
    }
}

impl<'r, 'k> Descent<'r, 'k> {
    #[inline]
    fn new(reader: &'r Reader<'r>, start: Start<'r>, key: &'k [u8], purpose: Purpose) -> Self {
        let Start { root, node } = start;
        Self {
            reader,
            root,
            key,
            purpose,
            is_alone: false,
            step: Step::Node,
            lid: root.0,
            node: node.unread(),
            right: None,
            head: 0,
            near: Near::default(),
            candidates: Candidates::ALL,
            next_entry: None,
        }
    }

    /// Executes all steps.
    #[must_use]
    #[inline]
    pub fn descend(mut self) -> Self {
        descend_together(std::slice::from_mut(&mut self));
        self
    }

    /// Returns the result of a complete descent; `None` when the tree is newer than the reader.
    #[inline]
    pub(crate) fn landing(&self) -> Option<Landing<'r>> {
        if self.step != Step::Leaf {
            assert!(self.step == Step::Missing, "the descent is not complete");
            return None;
        }
        let leaf = View::published(self.node);
        let Self { head, near, candidates, next_entry, .. } = *self;
        Some(Landing { leaf, head, near, candidates, next_entry })
    }

    /// Returns the target of a complete descent; `None` when the tree is newer than the reader.
    #[inline]
    pub(crate) fn target(&self) -> Option<Target<'r>> {
        let place = KeyPlace { head: self.head, near: self.near };
        (self.step == Step::Leaf).then(|| Target { lid: self.lid, buffer: self.node.node(), place })
    }

    pub(crate) fn reader(&self) -> &'r Reader<'r> {
        self.reader
    }

    pub(crate) fn root(&self) -> Root {
        self.root
    }

    pub(crate) fn key(&self) -> &'k [u8] {
        self.key
    }

    /// Executes the step of a child. Returns false once the descent is complete.
    #[inline(always)]
    fn advance(&mut self) -> bool {
        match self.step {
            Step::Child => {
                self.go_to_chosen_child();
                self.step = Step::Node;
            }
            Step::Right => self.prefetch_right(),
            _ => {}
        }
        !matches!(self.step, Step::Leaf | Step::Missing)
    }

    /// Goes to the leaf that the step before has chosen.
    #[inline(always)]
    fn go_to_chosen_child(&mut self) {
        self.go_to_child(self.lid);
        if self.is_alone {
            prefetch_heads(self.node.node());
        }
    }

    /// Reads the header of the current node. Returns `None` if the tree is newer than the reader.
    #[inline(always)]
    fn read_node(&mut self) -> Option<Published<'r>> {
        if self.reader.sees(self.node.node()) { Some(self.node.update()) } else { self.read_previous() }
    }

    /// Replaces the current node by the version of it that the reader sees. Returns `None` if there is none.
    #[cold]
    fn read_previous(&mut self) -> Option<Published<'r>> {
        let previous = self.reader.at_version(self.node.node());
        match previous {
            Some(published) => self.node = published,
            None => self.step = Step::Missing,
        }
        previous
    }

    /// Counts the accesses to the item of the key.
    #[inline(never)]
    fn count_item(&self) {
        if let Some(stats) = self.reader.access_stats() {
            let view = View::published(self.node);
            stats.bytes(LEAF, NodePart::Items, item_bytes(view, self.near));
        }
    }

    /// Counts the accesses to a node, except to the items of a leaf.
    #[cold]
    fn count(&self, stats: &AccessStats, view: View<'_>) {
        let level = view.level();
        stats.node(level);
        stats.bytes(level, NodePart::Header, 0..BLOCK_START);
        for range in near_bytes(view, self.near) {
            stats.bytes(level, NodePart::Columns, range);
        }
        if level == LEAF {
            self.count_log(stats, view);
        }
    }

    fn count_log(&self, stats: &AccessStats, view: View<'_>) {
        if view.log_count() > 0 {
            match self.candidates.is_empty() {
                true => stats.log_skipped(),
                false => stats.bytes(LEAF, NodePart::Log, view.sorted_end()..view.size()),
            }
        }
    }

    #[inline(always)]
    fn choose_child(&mut self, child: Lid) {
        self.node.node().prefetch_entry(child);
        self.lid = child;
    }

    #[inline(always)]
    fn go_to_child(&mut self, child: Lid) {
        let node = self.node.node().current(child);
        prefetch_first(node, self.is_alone);
        self.node = node.unread();
    }
}

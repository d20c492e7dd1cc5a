//! The descent to a key's leaf, divided into steps so that many operations can overlap.
//!
//! Each step ends with a prefetch of the bytes that the next step reads:
//!
//! | at | reads | prefetches |
//! |---|---|---|
//! | a node | header and shortcuts | the key's segment; in a leaf also the log block if it is needed |
//! | a segment of an interior node | the segment | the child's entry in the page table |
//! | a child | the page table | the child's header and shortcuts |
//! | a leaf's segment | | |
//!
//! The upper interior nodes are few and stay in the caches. There the first three steps are one step.
//!
//! If leaves have fingerprint directories, a get uses other steps in its leaf:
//!
//! | at | reads | prefetches |
//! |---|---|---|
//! | the leaf as a child | the page table | its header and the directory line of the key |
//! | the leaf | header and line | items with the key's fingerprint, else the shortcuts; maybe the log block |
//! | its shortcuts | the shortcuts | the key's segment |
//!
//! A single operation executes its steps one after the other. Several operations execute each step together.

use honeycomb_memory::{LINE_BYTES, Lid, Node, Published};

use crate::forest::Root;
use crate::node::candidates::Candidates;
use crate::node::key::SearchKey;
use crate::node::key_hash::KeyHash;
use crate::node::shape::LEAF;
use crate::node::tag_directory::{Line, MatchingEntries};
use crate::node::view::View;
use crate::read::access_stats::{AccessStats, NodePart};
use crate::read::reader::Reader;
use crate::read::search::{child_in, find_segment};

/// Assumed pairs in a segment, to estimate how many segments a scan reads.
const PAIRS_A_SEGMENT: usize = 4;
/// Maximum number of segments to prefetch. Beyond that the hardware prefetcher recognizes the sequence.
const SEGMENTS_MAX: usize = 8;
/// The level of the parents of leaves.
const ABOVE_LEAVES: usize = LEAF + 1;
/// Bytes of an item that a get prefetches. Most items are shorter.
const ITEM_BYTES: usize = 48;

/// A descent from the root to the leaf to which its key is routed.
// Small, and updated in place: a step takes a few tens of instructions.
pub struct Descent<'r, 'k> {
    reader: &'r Reader<'r>,
    root: Root,
    key: &'k [u8],
    purpose: Purpose,
    /// The hash of the key if the get will use the fingerprint directory of its leaf.
    hash: Option<KeyHash>,
    /// The LID of the current node.
    lid: Lid,
    state: State<'r>,
    /// In state `Segment` or `Leaf`: the key's segment of the current node.
    segment: usize,
    /// In state `Leaf`: the log entries to read.
    candidates: Candidates,
    /// In state `Leaf`: the offset of the directory line and its entries to read. `None` when the segment is
    /// read instead.
    matching: Option<(usize, MatchingEntries)>,
}

/// The purpose of a descent, which determines the bytes of the leaf to prefetch.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    /// The key's segment, and the log block if an entry may have the key.
    Get,
    /// Fence keys, this many segments, and the whole log block.
    Scan { segments: usize },
    /// The key's segment and the whole log block.
    Write,
}

/// The state of a descent.
#[derive(Clone, Copy)]
enum State<'r> {
    /// A node whose header and shortcuts were prefetched.
    Node(Node<'r>),
    /// A parent of leaves whose segment was prefetched.
    Segment(Published<'r>),
    /// A leaf whose page table entry was prefetched.
    Child(Lid),
    /// A leaf with a fingerprint directory in which the get will search; its page table entry was prefetched.
    LeafByHash(Lid, KeyHash),
    /// Such a leaf; its header and one directory line were prefetched.
    Line(Node<'r>, KeyHash),
    /// A leaf whose shortcuts were prefetched because its fingerprint directory lacks the key.
    Shortcuts(Published<'r>),
    /// A leaf of which all bytes to read were prefetched.
    Leaf(Published<'r>),
    /// The tree is newer than the reader.
    Missing,
}

/// The result of a descent.
#[derive(Clone, Copy)]
pub(crate) struct Landing<'r> {
    pub(crate) leaf: View<'r>,
    /// The offset of the key's directory line, and its entries with the key's fingerprint.
    pub(crate) matching: Option<(usize, MatchingEntries)>,
    /// The segment of the key if `matching` is `None`.
    pub(crate) segment: usize,
    /// The log entries that may have the key, or all entries.
    pub(crate) candidates: Candidates,
}

/// The leaf that a write will change, as found without its lock.
#[derive(Clone, Copy)]
pub(crate) struct Target<'r> {
    pub(crate) lid: Lid,
    /// The buffer for which `segment` is valid.
    pub(crate) buffer: Node<'r>,
    pub(crate) segment: usize,
}

impl<'r> Reader<'r> {
    /// Starts a descent to the leaf of a key for a get.
    #[must_use]
    #[inline]
    pub fn descend_to_get<'k>(&'r self, root: Root, key: &'k [u8]) -> Descent<'r, 'k> {
        Descent::new(self, root, key, Purpose::Get)
    }

    /// Starts a descent to the first leaf of a scan of about `pairs` pairs.
    #[must_use]
    #[inline]
    pub fn descend_to_scan<'k>(&'r self, root: Root, key: &'k [u8], pairs: usize) -> Descent<'r, 'k> {
        // The scan starts somewhere inside its first segment, so it usually needs one more.
        let segments = (pairs / PAIRS_A_SEGMENT + 2).min(SEGMENTS_MAX);
        Descent::new(self, root, key, Purpose::Scan { segments })
    }

    /// Starts a descent to the leaf of a key for a write.
    #[inline]
    pub(crate) fn descend_to_write<'k>(&'r self, root: Root, key: &'k [u8]) -> Descent<'r, 'k> {
        Descent::new(self, root, key, Purpose::Write)
    }

    /// Descends to the leaf of a key. Returns `None` only if the tree is newer than the reader.
    pub(crate) fn land(&'r self, root: Root, key: &[u8]) -> Option<Landing<'r>> {
        self.descend_to_scan(root, key, 0).descend().landing()
    }
}

/// Executes all steps of several descents, step by step, so that the prefetches of one overlap with the
/// computation of the others. Afterwards all descents are complete.
// One loop for each kind of step instead of one loop over all kinds: that avoids a branch at each step.
#[inline]
pub fn descend_together(descents: &mut [Descent<'_, '_>]) {
    let mut is_under_way = true;
    while is_under_way {
        for descent in &mut *descents {
            if let State::Node(node) = descent.state {
                descent.choose_segment(node);
            }
        }
        for descent in &mut *descents {
            if let State::Segment(published) = descent.state {
                descent.choose_child(published);
            }
        }
        is_under_way = false;
        for descent in &mut *descents {
            is_under_way |= descent.advance();
        }
    }
}

impl<'r, 'k> Descent<'r, 'k> {
    #[inline]
    fn new(reader: &'r Reader<'r>, root: Root, key: &'k [u8], purpose: Purpose) -> Self {
        let state = State::Node(reader.current(root.0));
        let by_hash = purpose == Purpose::Get && reader.forest().geometry().has_tag_directory();
        let hash = by_hash.then(|| KeyHash::of(key));
        let candidates = Candidates::ALL;
        Self { reader, root, key, purpose, hash, lid: root.0, state, segment: 0, candidates, matching: None }
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
        let State::Leaf(published) = self.state else {
            assert!(matches!(self.state, State::Missing), "the descent is not complete");
            return None;
        };
        let leaf = self.reader.forest().view_of(published);
        let Self { matching, segment, candidates, .. } = *self;
        Some(Landing { leaf, matching, segment, candidates })
    }

    /// Returns the target of a complete descent; `None` when the tree is newer than the reader.
    #[inline]
    pub(crate) fn target(&self) -> Option<Target<'r>> {
        let State::Leaf(published) = self.state else { return None };
        Some(Target { lid: self.lid, buffer: published.node(), segment: self.segment })
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

    /// Executes the step of a child or a leaf. Returns false once the descent is complete.
    #[inline(always)]
    fn advance(&mut self) -> bool {
        match self.state {
            State::Node(_) => {}
            State::Child(child) => self.go_to_child(child),
            State::LeafByHash(leaf, hash) => self.go_to_directory_line(leaf, hash),
            State::Line(node, hash) => self.choose_items(node, hash),
            State::Shortcuts(published) => self.choose_leaf_segment(published),
            State::Leaf(_) | State::Missing => return false,
            State::Segment(_) => unreachable!("choose_child has left this state"),
        }
        true
    }

    #[inline(always)]
    fn choose_segment(&mut self, node: Node<'r>) {
        let Some(published) = self.reader.at_version(node) else {
            self.state = State::Missing;
            return;
        };
        let view = self.reader.forest().view_of(published);
        let search_key = self.search_key(view);
        self.segment = find_segment(view, &search_key);
        match view.level() {
            LEAF => {
                self.state = State::Leaf(published);
                self.prefetch_leaf(view, &search_key);
            }
            ABOVE_LEAVES => self.state = State::Segment(published),
            _ => self.go_to_child(child_in(view, &search_key, self.segment).1),
        }
        if let Some(stats) = self.reader.access_stats() {
            self.count(stats, published.node());
        }
    }

    /// Prefetches the bytes of a leaf to read in addition to the segment.
    #[inline]
    fn prefetch_leaf(&mut self, view: View<'r>, search_key: &SearchKey<'_>) {
        if let Purpose::Scan { segments } = self.purpose {
            let start = view.sorted_start();
            view.prefetch(start, start + LINE_BYTES);
            view.prefetch(view.segment(self.segment + 1), view.segment(self.segment + segments));
        }
        self.prefetch_log(view, search_key);
    }

    /// Prefetches the log block of a leaf if it is needed.
    #[inline(always)]
    fn prefetch_log(&mut self, view: View<'r>, search_key: &SearchKey<'_>) {
        if self.purpose == Purpose::Get {
            self.candidates = Candidates::of(view, search_key);
        }
        if !self.candidates.is_empty() {
            view.prefetch(view.sorted_end(), view.size());
        }
    }

    /// Prefetches the items of a leaf whose directory entries have the key's fingerprint.
    #[inline(never)]
    fn choose_items(&mut self, leaf: Node<'r>, hash: KeyHash) {
        let Some(published) = self.reader.at_version(leaf) else {
            self.state = State::Missing;
            return;
        };
        let (view, at) = (self.reader.forest().view_of(published), self.line(hash));
        self.prefetch_log(view, &self.search_key(view));
        let line = Line::read(view.from(at));
        let matching = line.matching(hash);
        line.offsets(matching).for_each(|offset| view.prefetch(offset, offset + ITEM_BYTES));
        (self.state, self.matching) = (State::Leaf(published), Some((at, matching)));
        if matching.is_empty() && !line.is_whole() {
            (self.state, self.matching) = (State::Shortcuts(published), None);
            view.prefetch(LINE_BYTES, view.geometry().shortcuts_end());
        }
        if let Some(stats) = self.reader.access_stats() {
            self.count_by_hash(stats, view, at, matching);
        }
    }

    /// Counts the accesses to a leaf through its fingerprint directory.
    #[cold]
    fn count_by_hash(&self, stats: &AccessStats, view: View<'_>, line: usize, matching: MatchingEntries) {
        stats.node(LEAF);
        stats.bytes(LEAF, NodePart::Shortcuts, 0, LINE_BYTES);
        stats.bytes(LEAF, NodePart::TagDirectory, line, line + LINE_BYTES);
        for offset in Line::read(view.from(line)).offsets(matching) {
            stats.bytes(LEAF, NodePart::Segments, offset, offset + view.item(offset).bytes.len());
        }
        self.count_log(stats, view);
    }

    /// Finds the segment of a key that the fingerprint directory of its leaf lacks.
    #[cold]
    fn choose_leaf_segment(&mut self, published: Published<'r>) {
        let view = self.reader.forest().view_of(published);
        self.segment = find_segment(view, &self.search_key(view));
        self.state = State::Leaf(published);
        if let Some(stats) = self.reader.access_stats() {
            stats.bytes(LEAF, NodePart::Shortcuts, LINE_BYTES, view.geometry().shortcuts_end());
            stats.bytes(LEAF, NodePart::Segments, view.segment(self.segment), view.segment(self.segment + 1));
        }
    }

    /// Counts the accesses to a node.
    #[cold]
    fn count(&self, stats: &AccessStats, node: Node<'_>) {
        let view = self.reader.forest().view_of(node.published());
        let level = view.level();
        stats.node(level);
        stats.bytes(level, NodePart::Shortcuts, 0, view.geometry().shortcuts_end());
        stats.bytes(level, NodePart::Segments, view.segment(self.segment), view.segment(self.segment + 1));
        if level == LEAF {
            self.count_log(stats, view);
        }
    }

    fn count_log(&self, stats: &AccessStats, view: View<'_>) {
        if view.log_count() > 0 {
            match self.candidates.is_empty() {
                true => stats.log_skipped(),
                false => stats.bytes(LEAF, NodePart::Log, view.sorted_end(), view.size()),
            }
        }
    }

    #[inline(always)]
    fn choose_child(&mut self, published: Published<'r>) {
        let view = self.reader.forest().view_of(published);
        let child = child_in(view, &self.search_key(view), self.segment).1;
        self.reader.forest().memory().prefetch_entry(child);
        self.state = match self.hash {
            Some(hash) => State::LeafByHash(child, hash),
            None => State::Child(child),
        };
    }

    #[inline(always)]
    fn go_to_child(&mut self, child: Lid) {
        let node = self.reader.current(child);
        self.reader.forest().prefetch(node);
        (self.lid, self.state) = (child, State::Node(node));
    }

    /// Prefetches the header of a leaf and the directory line of the key.
    #[inline(never)]
    fn go_to_directory_line(&mut self, leaf: Lid, hash: KeyHash) {
        let (node, line) = (self.reader.current(leaf), self.line(hash));
        node.prefetch(0, LINE_BYTES);
        node.prefetch(line, line + LINE_BYTES);
        (self.lid, self.state) = (leaf, State::Line(node, hash));
    }

    /// Returns the offset of the directory line of a key in its leaf.
    #[inline]
    fn line(&self, hash: KeyHash) -> usize {
        self.reader.forest().geometry().directory_line(hash)
    }

    #[inline]
    fn search_key(&self, view: View<'_>) -> SearchKey<'k> {
        SearchKey::new(&self.key[view.prefix_length()..])
    }
}

//! The way down to a key's leaf in steps, so that many operations can be on their way at once.
//!
//! Each step ends by asking memory for what the next one reads:
//!
//! | at | reads | asks for |
//! |---|---|---|
//! | a node | header and shortcuts | the key's segment; of a leaf also its log block, if need be |
//! | a segment of an interior node | the segment | the child's entry in the page table |
//! | a child | the page table | the child's header and shortcuts |
//! | a leaf's segment | | |
//!
//! Nodes whose children are interior nodes are few, and in the caches: there the three are one step.
//!
//! If leaves have tag directories, a get asks for other things of its leaf:
//!
//! | at | reads | asks for |
//! |---|---|---|
//! | the leaf as a child | the page table | its header, the line of its directory that leads to the key |
//! | the leaf | header and line | items that may be of the key, else the shortcuts; maybe its log block |
//! | its shortcuts | the shortcuts | the key's segment |
//!
//! What works on one operation at a time takes one step after the other; many that go together take each a
//! step in turn.

use honeycomb_memory::{LINE_BYTES, Lid, Node, Published};

use crate::forest::Root;
use crate::node::candidates::Candidates;
use crate::node::key::SearchKey;
use crate::node::key_hash::KeyHash;
use crate::node::shape::LEAF;
use crate::node::tag_directory::{Line, Named};
use crate::node::view::View;
use crate::read::reader::Reader;
use crate::read::search::{child_in, find_segment};
use crate::read::touched::{NodePart, Touched};

/// Pairs that a segment is taken to have, when it is said how far a scan reads.
const PAIRS_A_SEGMENT: usize = 4;
/// Most segments that are asked for at once; the processor sees by itself that more are read.
const SEGMENTS_MAX: usize = 8;
/// The level of the parents of leaves.
const ABOVE_LEAVES: usize = LEAF + 1;
/// Bytes of an item that a get asks for: most are shorter.
const ITEM_BYTES: usize = 48;

/// A read on its way to the leaf that its key is routed to.
// Small, and changed in place: a step is a few tens of instructions.
pub struct Descent<'r, 'k> {
    reader: &'r Reader<'r>,
    root: Root,
    key: &'k [u8],
    purpose: Purpose,
    /// Of a key that is to be found by the tag directory of its leaf.
    hash: Option<KeyHash>,
    /// The node that it is at.
    lid: Lid,
    state: State<'r>,
    /// At a segment: which one of its node.
    segment: usize,
    /// At a leaf: the log entries that are read.
    candidates: Candidates,
    /// At a leaf: the line of its tag directory, and the entries of it that are read. None if the segment is.
    named: Option<(usize, Named)>,
}

/// What is read of the leaf.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    /// The key's segment, and of the log block what may be of the key.
    Get,
    /// Fence keys, so many segments, and all of the log block.
    Scan { segments: usize },
    /// The key's segment, and all of the log block.
    Write,
}

/// Where a descent is.
#[derive(Clone, Copy)]
enum State<'r> {
    /// A node whose header and shortcuts were asked for.
    Node(Node<'r>),
    /// A segment of a parent of leaves that was asked for.
    Segment(Published<'r>),
    /// A leaf whose place in the page table was asked for.
    Child(Lid),
    /// A child that is a leaf with a tag directory, in which the key is to be found.
    LeafByHash(Lid, KeyHash),
    /// Such a leaf: its header and a line of the directory were asked for.
    Line(Node<'r>, KeyHash),
    /// A leaf whose shortcuts were asked for, since its tag directory lacks the key.
    Shortcuts(Published<'r>),
    /// A leaf of which all was asked for that is read.
    Leaf(Published<'r>),
    /// The tree is younger than the reader.
    Missing,
}

/// Where a descent has ended.
#[derive(Clone, Copy)]
pub(crate) struct Landing<'r> {
    pub(crate) leaf: View<'r>,
    /// Where the line of the leaf's tag directory is that leads to the key, and its entries that may do so.
    pub(crate) named: Option<(usize, Named)>,
    /// The segment that the key is in, or would be, if no line leads to it.
    pub(crate) segment: usize,
    /// The log entries that may be of the key; all if all are read.
    pub(crate) candidates: Candidates,
}

/// The leaf that a write goes to, as far as that is known without its lock.
#[derive(Clone, Copy)]
pub(crate) struct Target<'r> {
    pub(crate) lid: Lid,
    /// The buffer in which the segment of the key is this one.
    pub(crate) buffer: Node<'r>,
    pub(crate) segment: usize,
}

impl<'r> Reader<'r> {
    /// Begins to go down to the leaf of a key that is to be got.
    #[must_use]
    #[inline]
    pub fn descend_to_get<'k>(&'r self, root: Root, key: &'k [u8]) -> Descent<'r, 'k> {
        Descent::new(self, root, key, Purpose::Get)
    }

    /// Begins to go down to the leaf that a scan of about so many pairs starts in.
    #[must_use]
    #[inline]
    pub fn descend_to_scan<'k>(&'r self, root: Root, key: &'k [u8], pairs: usize) -> Descent<'r, 'k> {
        // Where a scan starts in its first segment is not known, so it most often needs one more.
        let segments = (pairs / PAIRS_A_SEGMENT + 2).min(SEGMENTS_MAX);
        Descent::new(self, root, key, Purpose::Scan { segments })
    }

    /// Begins to go down to the leaf of a key that is to be written.
    #[inline]
    pub(crate) fn descend_to_write<'k>(&'r self, root: Root, key: &'k [u8]) -> Descent<'r, 'k> {
        Descent::new(self, root, key, Purpose::Write)
    }

    /// Goes down to the leaf of a key. None only if the tree is younger than the reader.
    pub(crate) fn land(&'r self, root: Root, key: &[u8]) -> Option<Landing<'r>> {
        self.descend_to_scan(root, key, 0).descend().landing()
    }
}

/// Has descents take all their steps, each a step in turn, so that what one asks for comes while others
/// compute. After it all have landed.
// A loop for each step, and not one that tells the steps apart: so nothing is decided a step.
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
        Self { reader, root, key, purpose, hash, lid: root.0, state, segment: 0, candidates, named: None }
    }

    /// Takes all steps.
    #[must_use]
    #[inline]
    pub fn descend(mut self) -> Self {
        descend_together(std::slice::from_mut(&mut self));
        self
    }

    /// Where all steps have led to. None if the tree is younger than the reader.
    #[inline]
    pub(crate) fn landing(&self) -> Option<Landing<'r>> {
        let State::Leaf(published) = self.state else {
            assert!(matches!(self.state, State::Missing), "there are steps to take");
            return None;
        };
        let leaf = self.reader.forest().view_of(published);
        let Self { named, segment, candidates, .. } = *self;
        Some(Landing { leaf, named, segment, candidates })
    }

    /// Where all steps have led to. None if the tree is younger than the reader.
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

    /// Goes to the child, if it is at one. False once it has landed.
    #[inline(always)]
    fn advance(&mut self) -> bool {
        match self.state {
            State::Node(_) => {}
            State::Child(child) => self.go_to_child(child),
            State::LeafByHash(leaf, hash) => self.go_to_directory_line(leaf, hash),
            State::Line(node, hash) => self.choose_items(node, hash),
            State::Shortcuts(published) => self.choose_leaf_segment(published),
            State::Leaf(_) | State::Missing => return false,
            State::Segment(_) => unreachable!("its child was chosen before"),
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
        if let Some(touched) = self.reader.touched() {
            self.count(touched, published.node());
        }
    }

    /// Asks for what is read of a leaf besides the segment.
    #[inline]
    fn prefetch_leaf(&mut self, view: View<'r>, search_key: &SearchKey<'_>) {
        if let Purpose::Scan { segments } = self.purpose {
            let start = view.sorted_start();
            view.prefetch(start, start + LINE_BYTES);
            view.prefetch(view.segment(self.segment + 1), view.segment(self.segment + segments));
        }
        self.prefetch_log(view, search_key);
    }

    /// Asks for the log block of a leaf, if it is read.
    #[inline(always)]
    fn prefetch_log(&mut self, view: View<'r>, search_key: &SearchKey<'_>) {
        if self.purpose == Purpose::Get {
            self.candidates = Candidates::of(view, search_key);
        }
        if !self.candidates.is_empty() {
            view.prefetch(view.sorted_end(), view.size());
        }
    }

    /// Asks for the items of a leaf that its tag directory names.
    #[inline(never)]
    fn choose_items(&mut self, leaf: Node<'r>, hash: KeyHash) {
        let Some(published) = self.reader.at_version(leaf) else {
            self.state = State::Missing;
            return;
        };
        let (view, at) = (self.reader.forest().view_of(published), self.line(hash));
        self.prefetch_log(view, &self.search_key(view));
        let line = Line::read(view.from(at));
        let named = line.named(hash);
        line.offsets(named).for_each(|offset| view.prefetch(offset, offset + ITEM_BYTES));
        (self.state, self.named) = (State::Leaf(published), Some((at, named)));
        if named.is_empty() && !line.is_whole() {
            (self.state, self.named) = (State::Shortcuts(published), None);
            view.prefetch(LINE_BYTES, view.geometry().shortcuts_end());
        }
        if let Some(touched) = self.reader.touched() {
            self.count_by_hash(touched, view, at, named);
        }
    }

    /// Counts what was asked for of a leaf with a tag directory.
    #[cold]
    fn count_by_hash(&self, touched: &Touched, view: View<'_>, line: usize, named: Named) {
        touched.node(LEAF);
        touched.bytes(LEAF, NodePart::Shortcuts, 0, LINE_BYTES);
        touched.bytes(LEAF, NodePart::TagDirectory, line, line + LINE_BYTES);
        for offset in Line::read(view.from(line)).offsets(named) {
            touched.bytes(LEAF, NodePart::Segments, offset, offset + view.item(offset).bytes.len());
        }
        self.count_log(touched, view);
    }

    /// Finds the segment of a key that the tag directory of its leaf lacks.
    #[cold]
    fn choose_leaf_segment(&mut self, published: Published<'r>) {
        let view = self.reader.forest().view_of(published);
        self.segment = find_segment(view, &self.search_key(view));
        self.state = State::Leaf(published);
        if let Some(touched) = self.reader.touched() {
            touched.bytes(LEAF, NodePart::Shortcuts, LINE_BYTES, view.geometry().shortcuts_end());
            touched.bytes(
                LEAF,
                NodePart::Segments,
                view.segment(self.segment),
                view.segment(self.segment + 1),
            );
        }
    }

    /// Counts what was asked for of a node.
    #[cold]
    fn count(&self, touched: &Touched, node: Node<'_>) {
        let view = self.reader.forest().view_of(node.published());
        let level = view.level();
        touched.node(level);
        touched.bytes(level, NodePart::Shortcuts, 0, view.geometry().shortcuts_end());
        touched.bytes(level, NodePart::Segments, view.segment(self.segment), view.segment(self.segment + 1));
        if level == LEAF {
            self.count_log(touched, view);
        }
    }

    fn count_log(&self, touched: &Touched, view: View<'_>) {
        if view.log_count() > 0 {
            match self.candidates.is_empty() {
                true => touched.log_skipped(),
                false => touched.bytes(LEAF, NodePart::Log, view.sorted_end(), view.size()),
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

    /// Asks for the header of a leaf and the line of its tag directory that leads to the key.
    #[inline(never)]
    fn go_to_directory_line(&mut self, leaf: Lid, hash: KeyHash) {
        let (node, line) = (self.reader.current(leaf), self.line(hash));
        node.prefetch(0, LINE_BYTES);
        node.prefetch(line, line + LINE_BYTES);
        (self.lid, self.state) = (leaf, State::Line(node, hash));
    }

    /// Where in a leaf the line of its tag directory is that leads to a key.
    #[inline]
    fn line(&self, hash: KeyHash) -> usize {
        self.reader.forest().geometry().directory_line(hash)
    }

    #[inline]
    fn search_key(&self, view: View<'_>) -> SearchKey<'k> {
        SearchKey::new(&self.key[view.prefix_length()..])
    }
}

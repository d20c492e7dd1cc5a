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
//! What works on one operation at a time takes one step after the other.

use honeycomb_memory::{LINE_BYTES, Lid, Node, Published};

use crate::candidates::Candidates;
use crate::forest::Root;
use crate::key::Wanted;
use crate::reader::Reader;
use crate::search::{child_in, find_segment};
use crate::touched::{Part, Touched};
use crate::view::View;

/// Pairs that a segment is taken to have, when it is said how far a scan reads.
const PAIRS_A_SEGMENT: usize = 4;
/// Most segments that are asked for at once; the processor sees by itself that more are read.
const SEGMENTS_MAX: usize = 8;

/// A read on its way to the leaf that its key is routed to.
// Small, and changed in place: a step is a few tens of instructions.
pub struct Descent<'r, 'k> {
    reader: &'r Reader<'r>,
    root: Root,
    key: &'k [u8],
    purpose: Purpose,
    /// The node that it is at.
    lid: Lid,
    at: At<'r>,
    /// At a segment: which one of its node.
    segment: usize,
    /// At a leaf's segment: the log entries that are read.
    candidates: Candidates,
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
enum At<'r> {
    /// A node whose header and shortcuts were asked for.
    Node(Node<'r>),
    /// A segment of an interior node that was asked for.
    Segment(Published<'r>),
    /// A child whose place in the page table was asked for.
    Child(Lid),
    /// A segment of a leaf that was asked for.
    Leaf(Published<'r>),
    /// The tree is younger than the reader.
    Nowhere,
}

/// Where a descent has ended.
#[derive(Clone, Copy)]
pub(crate) struct Landing<'r> {
    pub(crate) leaf: View<'r>,
    /// The segment that the key is in, or would be.
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
        self.descend_to_scan(root, key, 0).land()
    }
}

impl<'r, 'k> Descent<'r, 'k> {
    #[inline]
    fn new(reader: &'r Reader<'r>, root: Root, key: &'k [u8], purpose: Purpose) -> Self {
        let at = At::Node(reader.current(root.0));
        Self { reader, root, key, purpose, lid: root.0, at, segment: 0, candidates: Candidates::ALL }
    }

    /// Takes a step, which is worth waiting for a little. False once there is none to take: all that the
    /// operation reads of the leaf has been asked for.
    #[inline]
    pub fn step(&mut self) -> bool {
        match self.at {
            At::Node(node) => self.choose_segment(node),
            At::Segment(published) => self.choose_child(published),
            At::Child(child) => self.go_to(child),
            At::Leaf(_) | At::Nowhere => return false,
        }
        true
    }

    /// Takes all steps that are left. None if the tree is younger than the reader.
    #[inline]
    pub(crate) fn land(&mut self) -> Option<Landing<'r>> {
        while self.step() {}
        let At::Leaf(published) = self.at else { return None };
        let leaf = self.reader.forest().view_of(published);
        Some(Landing { leaf, segment: self.segment, candidates: self.candidates })
    }

    /// Where all steps have led to. None if the tree is younger than the reader.
    #[inline]
    pub(crate) fn target(&self) -> Option<Target<'r>> {
        let At::Leaf(published) = self.at else { return None };
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

    #[inline]
    fn choose_segment(&mut self, node: Node<'r>) {
        let Some(published) = self.reader.at_version(node) else {
            self.at = At::Nowhere;
            return;
        };
        let view = self.reader.forest().view_of(published);
        let wanted = self.wanted(view);
        self.segment = find_segment(view, &wanted);
        if view.is_leaf() {
            self.at = At::Leaf(published);
            self.ask_of_leaf(view, &wanted);
        } else {
            self.at = At::Segment(published);
        }
        if let Some(touched) = self.reader.touched() {
            self.count(touched, view);
        }
    }

    /// Asks for what is read of a leaf besides the segment.
    #[inline]
    fn ask_of_leaf(&mut self, view: View<'r>, wanted: &Wanted<'_>) {
        match self.purpose {
            Purpose::Get => self.candidates = Candidates::of(view, wanted),
            Purpose::Write => {}
            Purpose::Scan { segments } => {
                let start = self.reader.forest().geometry().sorted_start();
                view.prefetch(start, start + LINE_BYTES);
                view.prefetch(view.segment(self.segment + 1), view.segment(self.segment + segments));
            }
        }
        if !self.candidates.is_empty() {
            view.prefetch(view.sorted_end(), view.size());
        }
    }

    /// Counts what was asked for of a node.
    #[cold]
    fn count(&self, touched: &Touched, view: View<'_>) {
        let (level, start) = (view.level(), view.geometry().sorted_start());
        touched.node(level);
        touched.bytes(level, Part::Shortcuts, 0, start);
        touched.bytes(level, Part::Segments, view.segment(self.segment), view.segment(self.segment + 1));
        if view.is_leaf() && view.log_count() > 0 {
            match self.candidates.is_empty() {
                true => touched.log_skipped(),
                false => touched.bytes(level, Part::Log, view.sorted_end(), view.size()),
            }
        }
    }

    #[inline]
    fn choose_child(&mut self, published: Published<'r>) {
        let view = self.reader.forest().view_of(published);
        let child = child_in(view, &self.wanted(view), self.segment).1;
        self.reader.forest().memory().prefetch_entry(child);
        self.lid = child;
        self.at = At::Child(child);
    }

    #[inline]
    fn go_to(&mut self, child: Lid) {
        let node = self.reader.current(child);
        self.reader.forest().prefetch(node);
        self.at = At::Node(node);
    }

    #[inline]
    fn wanted(&self, view: View<'_>) -> Wanted<'k> {
        Wanted::new(&self.key[view.prefix_length()..])
    }
}

//! The children of interior nodes to build. As long as the transaction changes no node, they are where they
//! were; a transaction that changes nodes while the children exist copies them to its own memory first.

use honeycomb_memory::Lid;

use crate::node::fences::{Fences, OwnedFences};
use crate::node::item::{ItemBytes, encode_child};
use crate::node::item_run::{ItemRun, Items};
use crate::node::search::{LEFTMOST, child_before};
use crate::node::view::View;
use crate::write::divide::NodeRun;

/// The children of one or more adjacent interior nodes.
pub(crate) struct Children<'a> {
    level: usize,
    fences: OwnedFences,
    leftmost: Lid,
    runs: Vec<Run<'a>>,
}

/// Adjacent children but the leftmost one.
enum Run<'a> {
    /// The items of a node, from one position up to another.
    Of { node: View<'a>, start: usize, end: usize },
    /// The items of a copy of a node, from one position up to another.
    Copied { node: Box<[u8]>, start: usize, end: usize },
    /// One child as an encoded item.
    One(ItemBytes),
}

impl<'a> Children<'a> {
    /// Returns a node whose only child is `leftmost`.
    pub(crate) fn new(level: usize, fences: Fences<'_>, leftmost: Lid) -> Self {
        Self { level, fences: fences.into(), leftmost, runs: Vec::new() }
    }

    /// Returns all children of a node.
    pub(crate) fn of(view: View<'a>) -> Self {
        let fences = Fences::spanning(view, view);
        let mut children = Self::new(view.level(), fences, view.leftmost());
        children.add(view, 0, view.sorted_count());
        children
    }

    /// Returns the children of a node before a child position; only `leftmost` if the position is that of the
    /// leftmost child.
    pub(crate) fn before(view: View<'a>, position: usize, leftmost: Lid, fences: Fences<'_>) -> Self {
        let leftmost = if position == LEFTMOST { leftmost } else { view.leftmost() };
        let mut children = Self::new(view.level(), fences, leftmost);
        children.add(view, 0, child_before(position).unwrap_or(LEFTMOST));
        children
    }

    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// Returns whether the leftmost child is the only one.
    pub(crate) fn is_alone(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds a child with its low fence key.
    pub(crate) fn push(&mut self, low: &[u8], child: Lid) {
        self.runs.push(Run::One(encode_child(low, child)));
    }

    /// Adds the children of a node after a child position.
    pub(crate) fn push_after(&mut self, view: View<'a>, position: usize) {
        self.add(view, position, view.sorted_count());
    }

    fn add(&mut self, node: View<'a>, start: usize, end: usize) {
        if start < end {
            self.runs.push(Run::Of { node, start, end });
        }
    }

    /// Returns copies of the children, which outlive changes to their nodes.
    pub(crate) fn to_owned(&self) -> Children<'static> {
        let owned = |run: &Run<'_>| match run {
            Run::Of { node, start, end } => Run::Copied { node: node.to_buffer(), start: *start, end: *end },
            Run::Copied { node, start, end } => Run::Copied { node: node.clone(), start: *start, end: *end },
            Run::One(item) => Run::One(item.clone()),
        };
        let Self { level, fences, leftmost, runs } = self;
        let (fences, runs) = (fences.clone(), runs.iter().map(owned).collect());
        Children { level: *level, fences, leftmost: *leftmost, runs }
    }

    /// Returns these children followed by others. The leftmost of the others gets an item with its fence key.
    pub(crate) fn followed_by(mut self, other: Self) -> Self {
        self.push(&other.fences.low, other.leftmost);
        self.runs.extend(other.runs);
        self.fences.high = other.fences.high;
        self
    }

    pub(crate) fn run(&self) -> NodeRun<'_> {
        let mut items = Items::with_capacity(self.runs.len());
        for run in &self.runs {
            items.push(match run {
                Run::Of { node, start, end } => ItemRun::sorted(*node, *start..*end),
                Run::Copied { node, start, end } => ItemRun::sorted(View::private(node), *start..*end),
                Run::One(item) => ItemRun::encoded(&[], item),
            });
        }
        NodeRun { level: self.level, fences: self.fences.borrow(), leftmost: Some(self.leftmost), items }
    }
}

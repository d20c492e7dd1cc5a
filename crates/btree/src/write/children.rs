//! The children of interior nodes to build, in owned memory: the transaction changes its nodes while they
//! exist.

use honeycomb_memory::Lid;

use crate::node::fences::{Fences, OwnedFences};
use crate::node::item::{ItemBytes, encode_child};
use crate::node::item_run::{ItemRun, Items};
use crate::node::search::{LEFTMOST, child_before};
use crate::node::view::View;
use crate::write::divide::NodeRun;

/// The children of one or more adjacent interior nodes.
pub(crate) struct Children {
    level: usize,
    fences: OwnedFences,
    leftmost: Lid,
    runs: Vec<OwnedRun>,
}

/// Adjacent children but the leftmost one.
enum OwnedRun {
    /// The items of a copy of a node, from one position up to another.
    Copied { node: Box<[u8]>, start: usize, end: usize },
    /// One child as an encoded item.
    One(ItemBytes),
}

impl Children {
    /// Returns a node whose only child is `leftmost`.
    pub(crate) fn new(level: usize, fences: Fences<'_>, leftmost: Lid) -> Self {
        Self { level, fences: fences.into(), leftmost, runs: Vec::new() }
    }

    /// Returns all children of a node.
    pub(crate) fn of(view: View<'_>) -> Self {
        let fences = Fences::spanning(view, view);
        let mut children = Self::new(view.level(), fences, view.leftmost());
        children.copy(view, 0, view.sorted_count());
        children
    }

    /// Returns the children of a node before a child position; only `leftmost` if the position is that of the
    /// leftmost child.
    pub(crate) fn before(view: View<'_>, position: usize, leftmost: Lid, fences: Fences<'_>) -> Self {
        let leftmost = if position == LEFTMOST { leftmost } else { view.leftmost() };
        let mut children = Self::new(view.level(), fences, leftmost);
        children.copy(view, 0, child_before(position).unwrap_or(LEFTMOST));
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
        self.runs.push(OwnedRun::One(encode_child(low, child)));
    }

    /// Adds the children of a node after a child position.
    pub(crate) fn push_after(&mut self, view: View<'_>, position: usize) {
        self.copy(view, position, view.sorted_count());
    }

    fn copy(&mut self, view: View<'_>, start: usize, end: usize) {
        if start < end {
            self.runs.push(OwnedRun::Copied { node: view.to_buffer(), start, end });
        }
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
                OwnedRun::Copied { node, start, end } => ItemRun::sorted(View::private(node), *start..*end),
                OwnedRun::One(item) => ItemRun::encoded(&[], item),
            });
        }
        NodeRun { level: self.level, fences: self.fences.borrow(), leftmost: Some(self.leftmost), items }
    }
}

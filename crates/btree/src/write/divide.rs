//! Divides the items of one or more nodes among new nodes, evenly by bytes.

use honeycomb_memory::Lid;

use crate::node::fences::{Fences, OwnedFences};
use crate::node::item::Item;
use crate::node::item_run::{ItemRun, Items};
use crate::node::key::separator;
use crate::node::plan::Plan;
use crate::node::shape::{LEAF, Shape};
use crate::node::size::{NodeKind, Size};
use crate::node::suffix::KeyParts;

/// The distribution of items among new nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distribution {
    /// This many nodes of similar size, or more if the items do not fit.
    Evenly(usize),
    /// All items except the last one in the first node. Used when keys arrive in ascending order.
    LastApart,
}

/// The contents of a new node.
pub(crate) struct NodeContents<'a> {
    pub(crate) fences: OwnedFences,
    /// The leftmost child; interior nodes only.
    leftmost: Option<Lid>,
    items: Items<'a>,
    kind: NodeKind,
    size: Size,
}

impl<'a> NodeContents<'a> {
    /// Returns the contents of a node of the same level as a node of another kind.
    fn new(kind: NodeKind, fences: OwnedFences, leftmost: Option<Lid>, items: Items<'a>) -> Self {
        let kind = NodeKind { prefix: fences.borrow().prefix_length(), ..kind };
        let size = items.size(kind);
        Self { fences, leftmost, items, kind, size }
    }

    /// Returns the plan of the node. `left` and `right` are the siblings of a leaf.
    pub(crate) fn plan(&self, left: Option<Lid>, right: Option<Lid>) -> Plan<'_> {
        let links = if self.kind.level == LEAF { [left, right] } else { [self.leftmost, None] };
        Plan::new(self.kind, self.fences.borrow(), links, &self.items, self.size)
    }
}

/// The contents of a run of adjacent nodes.
pub(crate) struct NodeRun<'a> {
    pub(crate) level: usize,
    pub(crate) fences: Fences<'a>,
    /// The leftmost child; interior nodes only.
    pub(crate) leftmost: Option<Lid>,
    pub(crate) items: Items<'a>,
}

/// A position between two items, identified by the item after it, which becomes the first item of the next
/// node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cut {
    item_run: usize,
    /// Position of the item in its item run.
    at: usize,
}

/// Divides a run of nodes. `distribution` sets the number of new nodes; it grows if the items do not fit.
pub(crate) fn divide<'a>(
    shape: &Shape,
    run: &NodeRun<'a>,
    distribution: Distribution,
) -> Vec<NodeContents<'a>> {
    let all_fit =
        |parts: &[NodeContents<'_>], room| parts.iter().all(|part| fits(shape, &part.plan(None, None), room));
    let (room, kind, count) = (log_room(shape, run.level), run.kind(), run.items.count());
    if distribution == Distribution::LastApart && count > 1 {
        let parts = run.parts(kind, &[run.last_item()]);
        if all_fit(&parts, 0) {
            return parts;
        }
    }
    let wanted = if let Distribution::Evenly(nodes) = distribution { nodes } else { 2 };
    for nodes in wanted..=count {
        let parts = run.parts(kind, &run.cuts(kind, nodes));
        if all_fit(&parts, room) {
            return parts;
        }
    }
    // Fewer items than nodes: one node for each item, or one empty node.
    let parts = run.parts(kind, &run.cuts(kind, count.max(1)));
    assert!(all_fit(&parts, 0), "the limits of keys and values make a node with one item fit");
    parts
}

impl<'a> NodeRun<'a> {
    /// Returns the plan of one node with all items. `left` and `right` are the siblings of a leaf.
    pub(crate) fn plan(&self, left: Option<Lid>, right: Option<Lid>) -> Plan<'_> {
        let (kind, links) = (self.kind(), [self.leftmost.or(left), right]);
        Plan::new(kind, self.fences, links, &self.items, self.items.size(kind))
    }

    /// Returns the bytes of the sorted block of one node with all items.
    pub(crate) fn bytes(&self) -> usize {
        self.plan(None, None).sorted_bytes()
    }

    /// Returns the kind of one node with all items.
    fn kind(&self) -> NodeKind {
        NodeKind { level: self.level, prefix: self.fences.prefix_length() }
    }

    fn item_run(&self, cut: Cut) -> ItemRun<'a> {
        self.items.item_runs[cut.item_run]
    }

    fn item(&self, cut: Cut) -> Item<'a> {
        self.item_run(cut).item(cut.at)
    }

    fn last_item(&self) -> Cut {
        let item_run = self.items.item_runs.len() - 1;
        let last = self.items.item_runs[item_run];
        Cut { item_run, at: last.last_before(last.end()) }
    }

    /// Returns the cuts that divide the run into `nodes` nodes: each before the first item whose middle byte
    /// is at or beyond an even share of all bytes, as if each item kept the prefix of its run.
    fn cuts(&self, kind: NodeKind, nodes: usize) -> Vec<Cut> {
        let item_runs = &self.items.item_runs;
        let whole = item_runs.iter().fold(Size::default(), |size, run| size.and(run.size_as_is(kind)));
        let share = |some| kind.share_of(whole, some);
        let total = share(whole);
        let (mut cuts, mut before) = (Vec::with_capacity(nodes), 0);
        for (index, item_run) in item_runs.iter().enumerate() {
            let mut start = item_run.first() + usize::from(index == 0);
            while cuts.len() + 1 < nodes {
                let goal = (total * (cuts.len() + 1) / nodes).saturating_sub(before);
                let Some(at) = item_run.position_at(goal, start, share, kind) else {
                    break;
                };
                cuts.push(Cut { item_run: index, at });
                start = item_run.after(at);
            }
            before += share(item_run.size_as_is(kind));
        }
        cuts
    }

    fn parts(&self, kind: NodeKind, cuts: &[Cut]) -> Vec<NodeContents<'a>> {
        let mut parts = Vec::with_capacity(cuts.len() + 1);
        let first = self.items.item_runs.first().map_or(0, |item_run| item_run.first());
        let (mut start, mut low, mut leftmost) =
            (Cut { item_run: 0, at: first }, self.fences.low.to_vec(), self.leftmost);
        for &cut in cuts {
            let high = self.separator(cut);
            let fences = OwnedFences { low, high: Some(high.clone()) };
            parts.push(NodeContents::new(kind, fences, leftmost, self.slice(start, Some(cut))));
            (low, start) = (high, cut);
            if self.level > 0 {
                // In an interior node the item at the cut moves up: its key becomes the fence key, its child
                // the leftmost child of the next node.
                leftmost = Some(self.item(cut).child());
                start.at = self.item_run(cut).after(cut.at);
            }
        }
        let fences = OwnedFences { low, high: self.fences.high.map(KeyParts::to_vec) };
        parts.push(NodeContents::new(kind, fences, leftmost, self.slice(start, None)));
        parts
    }

    /// Returns the fence key at `cut`.
    fn separator(&self, cut: Cut) -> Vec<u8> {
        let right = self.item_run(cut).key(self.item(cut));
        if self.level > 0 {
            return right.to_vec();
        }
        let is_first = cut.at == self.item_run(cut).first();
        let before = if is_first { self.items.item_runs[cut.item_run - 1] } else { self.item_run(cut) };
        let end = if is_first { before.end() } else { cut.at };
        separator(before.key(before.item(before.last_before(end))), right)
    }

    /// Returns the items from `start` up to `end`, or to the end of the run.
    fn slice(&self, start: Cut, end: Option<Cut>) -> Items<'a> {
        let past = end.map_or(self.items.item_runs.len(), |end| end.item_run + 1);
        let mut items = Items::with_capacity(past - start.item_run);
        for index in start.item_run..past {
            let mut item_run = self.items.item_runs[index];
            if let Some(end) = end.filter(|end| end.item_run == index) {
                item_run = item_run.split_at(end.at).0;
            }
            if start.item_run == index {
                item_run = item_run.split_at(start.at).1;
            }
            items.push(item_run);
        }
        items
    }
}

/// Returns the bytes that a new leaf reserves for its log block. It is less than the log threshold, so that
/// leaves can be fuller; in return the fullest leaves are consolidated more often.
pub(crate) fn log_room(shape: &Shape, level: usize) -> usize {
    if level == LEAF { shape.log_threshold_bytes.min(shape.block_bytes() / 40) } else { 0 }
}

/// Returns whether a plan fits a node with `room` bytes reserved for its log block.
pub(crate) fn fits(shape: &Shape, plan: &Plan<'_>, room: usize) -> bool {
    plan.sorted_bytes() + room <= shape.block_bytes()
}

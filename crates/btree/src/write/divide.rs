//! Divides the items of one or more nodes among new nodes, evenly by bytes.

use honeycomb_memory::Lid;

use crate::node::builder::Plan;
use crate::node::fences::{Fences, OwnedFences};
use crate::node::item::{Item, ItemHeader};
use crate::node::item_run::{ItemRun, Items, Tally};
use crate::node::key::{KeyParts, separator};
use crate::node::shape::Shape;

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
    pub(crate) leftmost: Option<Lid>,
    pub(crate) items: Items<'a>,
}

impl NodeContents<'_> {
    /// Returns the plan of the node. `left` and `right` are the siblings of a leaf.
    pub(crate) fn plan(&self, level: usize, left: Option<Lid>, right: Option<Lid>) -> Plan<'_> {
        let left = if level == 0 { left } else { self.leftmost };
        let right = right.filter(|_| level == 0);
        Plan::new(level, self.fences.borrow(), [left, right], &self.items)
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
    /// Offset of the item in the bytes of its item run.
    at: usize,
}

/// Divides a run of nodes. `distribution` sets the number of new nodes; it grows if the items do not fit.
pub(crate) fn divide<'a>(
    shape: &Shape,
    run: &NodeRun<'a>,
    distribution: Distribution,
) -> Vec<NodeContents<'a>> {
    let all_fit = |parts: &[NodeContents<'_>], room| {
        parts.iter().all(|part| fits(shape, &part.plan(run.level, None, None), room))
    };
    let room = log_room(shape, run.level);
    if distribution == Distribution::LastApart && run.items.tally.count > 1 {
        let parts = run.parts(&[run.last_item()]);
        if all_fit(&parts, 0) {
            return parts;
        }
    }
    let wanted = if let Distribution::Evenly(nodes) = distribution { nodes } else { 2 };
    for nodes in wanted..=run.items.tally.count {
        let parts = run.parts(&run.cuts(nodes));
        if all_fit(&parts, room) {
            return parts;
        }
    }
    // Fewer items than nodes: one node for each item, or one empty node.
    let parts = run.parts(&run.cuts(run.items.tally.count.max(1)));
    assert!(all_fit(&parts, 0), "the limits of keys and values make a node with one item fit");
    parts
}

impl<'a> NodeRun<'a> {
    /// Returns the plan of one node with all items. `left` and `right` are the siblings of a leaf.
    pub(crate) fn plan(&self, left: Option<Lid>, right: Option<Lid>) -> Plan<'_> {
        Plan::new(self.level, self.fences, [self.leftmost.or(left), right], &self.items)
    }

    /// Returns the bytes of the sorted block of one node with all items.
    pub(crate) fn bytes(&self) -> usize {
        self.plan(None, None).sorted_bytes()
    }

    fn item_run(&self, cut: Cut) -> ItemRun<'a> {
        self.items.item_runs[cut.item_run]
    }

    fn item(&self, cut: Cut) -> Item<'a> {
        Item::read(&self.item_run(cut).bytes[cut.at..])
    }

    fn last_item(&self) -> Cut {
        let item_run = self.items.item_runs.len() - 1;
        let bytes = self.items.item_runs[item_run].bytes.len();
        Cut { item_run, at: bytes - self.items.item_runs[item_run].last_before(bytes).bytes.len() }
    }

    /// Returns the cuts that divide the run into `nodes` nodes.
    fn cuts(&self, nodes: usize) -> Vec<Cut> {
        let prefix = self.fences.prefix_length();
        let total = self.items.bytes_with_prefix(prefix);
        let (mut cuts, mut last) = (Vec::with_capacity(nodes), Cut { item_run: 0, at: 0 });
        for node in 1..nodes {
            let Some(cut) = self.cut_after(last, total * node / nodes, prefix) else { break };
            cuts.push(cut);
            last = cut;
        }
        cuts
    }

    /// Returns the first item after `last` whose middle byte is at or beyond `goal`. `goal` counts bytes of
    /// items that lack a prefix of `prefix` bytes.
    fn cut_after(&self, last: Cut, goal: usize, prefix: usize) -> Option<Cut> {
        let mut before = 0;
        for (index, item_run) in self.items.item_runs.iter().enumerate() {
            let bytes = item_run.bytes_with_prefix(prefix);
            if before + bytes >= goal && index >= last.item_run {
                let after = if index == last.item_run { Some(last.at) } else { None };
                let found = item_at(*item_run, goal.saturating_sub(before), prefix, after);
                if let Some(at) = found {
                    return Some(Cut { item_run: index, at });
                }
            }
            before += bytes;
        }
        None
    }

    fn parts(&self, cuts: &[Cut]) -> Vec<NodeContents<'a>> {
        let mut parts = Vec::with_capacity(cuts.len() + 1);
        let (mut start, mut low, mut leftmost) =
            (Cut { item_run: 0, at: 0 }, self.fences.low.to_vec(), self.leftmost);
        let mut rest = self.items.tally;
        for &cut in cuts {
            let high = self.separator(cut);
            let fences = OwnedFences { low, high: Some(high.clone()) };
            let items = self.slice(start, Some(cut)).counted();
            rest -= items.tally;
            parts.push(NodeContents { fences, leftmost, items });
            (low, start) = (high, cut);
            if self.level > 0 {
                // In an interior node the item at the cut moves up: its key becomes the fence key, its child
                // the leftmost child of the next node.
                leftmost = Some(self.item(cut).child());
                start.at += self.item(cut).bytes.len();
                rest -= Tally::new(1, self.item_run(cut).prefix);
            }
        }
        let fences = OwnedFences { low, high: self.fences.high.map(KeyParts::to_vec) };
        let mut items = self.slice(start, None);
        items.tally += rest;
        parts.push(NodeContents { fences, leftmost, items });
        parts
    }

    /// Returns the fence key at `cut`.
    fn separator(&self, cut: Cut) -> Vec<u8> {
        let right = self.item_run(cut).key(self.item(cut));
        if self.level > 0 {
            return right.to_vec();
        }
        let before = if cut.at > 0 { (cut.item_run, cut.at) } else { (cut.item_run - 1, usize::MAX) };
        let item_run = self.items.item_runs[before.0];
        separator(item_run.key(item_run.last_before(before.1.min(item_run.bytes.len()))), right)
    }

    /// Returns the items from `start` up to `end`, or to the end of the run, with an empty tally.
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

/// Returns the offset of the first item of an item run, after the one at `after` if given, whose middle byte
/// is at or beyond `goal`.
fn item_at(item_run: ItemRun<'_>, goal: usize, prefix: usize, after: Option<usize>) -> Option<usize> {
    // If the prefix stays the same, items keep their lengths, and the search can start at a segment.
    let same = prefix == item_run.prefix.len();
    let mut at = item_run.starts().take_while(|&start| same && start <= goal).last().unwrap_or(0);
    let mut before = at;
    while at < item_run.bytes.len() {
        let item = ItemHeader::read(&item_run.bytes[at..]).item_bytes();
        let bytes = item + item_run.prefix.len() - prefix;
        if before + bytes / 2 >= goal && after.is_none_or(|after| at > after) {
            return Some(at);
        }
        (at, before) = (at + item, before + bytes);
    }
    None
}

/// Returns the bytes that a new leaf reserves for its log block. It is less than the log threshold, so that
/// leaves can be fuller; in return the fullest leaves are consolidated more often.
pub(crate) fn log_room(shape: &Shape, level: usize) -> usize {
    if level == 0 { shape.log_threshold_bytes.min(shape.block_bytes(level) / 40) } else { 0 }
}

/// Returns whether a plan fits a node with `room` bytes reserved for its log block.
pub(crate) fn fits(shape: &Shape, plan: &Plan<'_>, room: usize) -> bool {
    plan.sorted_bytes() + room <= shape.block_bytes(plan.level())
}

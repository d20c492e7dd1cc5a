//! Dividing the items of one or more nodes among new nodes, evenly by bytes.

use honeycomb_memory::Lid;

use crate::node::builder::Plan;
use crate::node::fences::{Fences, OwnedFences};
use crate::node::item::{Item, ItemHeader};
use crate::node::item_run::{ItemRun, Items, Tally};
use crate::node::key::{KeyParts, separator};
use crate::node::shape::Shape;

/// How to divide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Distribution {
    /// Into this many nodes of similar size, or more if they do not fit.
    Evenly(usize),
    /// All but the last item into the first node: keys are arriving in order.
    LastApart,
}

/// What one of the new nodes will hold.
pub(crate) struct NodeContents<'a> {
    pub(crate) fences: OwnedFences,
    /// Interior nodes only.
    pub(crate) leftmost: Option<Lid>,
    pub(crate) items: Items<'a>,
}

impl NodeContents<'_> {
    /// The node to build, with these siblings if it is a leaf.
    pub(crate) fn plan(&self, level: usize, left: Option<Lid>, right: Option<Lid>) -> Plan<'_> {
        let left = if level == 0 { left } else { self.leftmost };
        let right = right.filter(|_| level == 0);
        Plan::new(level, self.fences.borrow(), [left, right], &self.items)
    }
}

/// What a run of nodes holds.
pub(crate) struct NodeRun<'a> {
    pub(crate) level: usize,
    pub(crate) fences: Fences<'a>,
    /// Interior nodes only.
    pub(crate) leftmost: Option<Lid>,
    pub(crate) items: Items<'a>,
}

/// A place between items, by the item after it: the first of the next node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cut {
    item_run: usize,
    /// Where in the piece's bytes the item is.
    at: usize,
}

/// Divides a run among as many nodes as `share` says and as fit.
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
    // Fewer items than nodes wanted: as many nodes as there are items, or an empty one.
    let parts = run.parts(&run.cuts(run.items.tally.count.max(1)));
    assert!(all_fit(&parts, 0), "the limits of keys and values let one item fit");
    parts
}

impl<'a> NodeRun<'a> {
    /// The run as one node, with these siblings if it is a leaf.
    pub(crate) fn plan(&self, left: Option<Lid>, right: Option<Lid>) -> Plan<'_> {
        Plan::new(self.level, self.fences, [self.leftmost.or(left), right], &self.items)
    }

    /// Bytes of the sorted block of a node that holds all of it.
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

    /// Where to cut for `nodes` nodes.
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

    /// The first item after `last` the middle of whose bytes is `goal` bytes or more into the run, in a node
    /// with a prefix of `prefix` bytes.
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
                // Between interior nodes the item at the cut moves up: its key is the fence, its child the
                // leftmost.
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

    /// The fence between the items before and from `cut`.
    fn separator(&self, cut: Cut) -> Vec<u8> {
        let right = self.item_run(cut).key(self.item(cut));
        if self.level > 0 {
            return right.to_vec();
        }
        let before = if cut.at > 0 { (cut.item_run, cut.at) } else { (cut.item_run - 1, usize::MAX) };
        let item_run = self.items.item_runs[before.0];
        separator(item_run.key(item_run.last_before(before.1.min(item_run.bytes.len()))), right)
    }

    /// The items from one place to another, or to the end, with an empty tally.
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

/// The first item of a piece after the one at `after`, if given, the middle of whose bytes is `goal` or more
/// bytes into the piece.
fn item_at(item_run: ItemRun<'_>, goal: usize, prefix: usize, after: Option<usize>) -> Option<usize> {
    // Where items keep their bytes, those before a start that comes before the goal need no look.
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

/// Bytes of a leaf that are kept free for its log when it is built: fewer than the log may grow to, so that
/// leaves can be fuller, at the price of merging the fullest ones more often.
pub(crate) fn log_room(shape: &Shape, level: usize) -> usize {
    if level == 0 { shape.log_threshold_bytes.min(shape.block_bytes(level) / 40) } else { 0 }
}

/// Whether a node can be built, with this room left for its log.
pub(crate) fn fits(shape: &Shape, plan: &Plan<'_>, room: usize) -> bool {
    plan.sorted_bytes() + room <= shape.block_bytes(plan.level())
}

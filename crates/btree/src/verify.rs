//! Checks every invariant of an idle forest: the bytes of each node, key order, links, versions, and that
//! each LID and each byte of the arena has exactly one owner.

use std::collections::HashSet;

use honeycomb_layout as layout;
use honeycomb_memory::{BusAddress, Lid, Pin};
use thiserror::Error;

use crate::forest::{Forest, Root};
use crate::node::item::{CHILD_LID_BYTES, Item, ItemHeader};
use crate::node::key::{SearchKey, prefix_length, tag};
use crate::node::live::Live;
use crate::node::log::Overlay;
use crate::node::log_entry::LogEntry;
use crate::node::places::check_state;
use crate::node::search::lower_bound;
use crate::node::view::View;

/// Counts from a verification that found no violation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Pairs in all trees.
    pub pairs: u64,
    /// Leaves.
    pub leaves: u64,
    /// Interior nodes.
    pub interior_nodes: u64,
    /// Levels of the tallest tree; a single leaf counts as 1.
    pub height: u64,
    /// Log entries, including tombstones.
    pub log_entries: u64,
    /// Bytes of all keys.
    pub key_bytes: u64,
    /// Bytes of all values.
    pub value_bytes: u64,
    /// Overflow values.
    pub overflow_values: u64,
    /// Bytes of the leaves' buffers in use by headers, columns, items and log entries.
    pub leaf_bytes_used: u64,
    /// Leaves without a pair.
    pub empty_leaves: u64,
}

/// A violated invariant.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("node of LID {lid}: {description}")]
pub struct Violation {
    /// The LID of the node; 0 if the violation does not concern one node.
    pub lid: u64,
    /// The violated invariant, with the actual values.
    pub description: String,
}

macro_rules! check {
    ($self:ident, $condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(Violation { lid: $self.lid, description: format!($($message)+) });
        }
    };
}

impl Forest {
    /// Walks every tree and checks every invariant. `roots` must name all trees of the forest, and no other
    /// thread may write meanwhile: a write in progress would look like a violation.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn verify(&self, roots: &[Root]) -> Result<Verified, Violation> {
        self.verify_beside(roots, 0)
    }

    /// Like [`Forest::verify`], in an arena with `value_bytes` bytes of value buffers that belong to no tree.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn verify_beside(&self, roots: &[Root], value_bytes: u64) -> Result<Verified, Violation> {
        let forest: &Self = self;
        let pin = forest.memory().pin();
        let mut check = Check::new(forest, &pin, value_bytes);
        for root in roots {
            check.tree(*root)?;
        }
        check.accounting()?;
        Ok(check.counts)
    }
}

struct Check<'f> {
    forest: &'f Forest,
    pin: &'f Pin<'f>,
    /// The node being checked.
    lid: u64,
    seen: HashSet<Lid>,
    /// The overflow values of all pairs.
    values: HashSet<BusAddress>,
    counts: Verified,
    arena_bytes: u64,
    /// Bytes of the buffers of overflow values, including those that belong to no tree.
    value_units: u64,
}

/// The properties of a node that follow from its parent.
struct Expected {
    level: usize,
    low: Vec<u8>,
    high: Option<Vec<u8>>,
}

impl<'f> Check<'f> {
    fn new(forest: &'f Forest, pin: &'f Pin<'f>, value_bytes: u64) -> Self {
        let (seen, values, counts) = (HashSet::new(), HashSet::new(), Verified::default());
        let arena_bytes = forest.memory().accounting().arena_bytes as u64;
        Self { forest, pin, lid: 0, seen, values, counts, arena_bytes, value_units: value_bytes }
    }

    fn tree(&mut self, root: Root) -> Result<(), Violation> {
        let level = self.view(root.0)?.level();
        self.counts.height = self.counts.height.max(level as u64 + 1);
        let mut leaves = Vec::new();
        self.subtree(root.0, Expected { level, low: Vec::new(), high: None }, &mut leaves)?;
        self.siblings(&leaves)
    }

    /// Returns the node of a LID, and makes it the node being checked.
    fn view(&mut self, lid: Lid) -> Result<View<'f>, Violation> {
        self.lid = lid.get();
        let memory = self.forest.memory();
        check!(self, memory.is_live_lid(lid), "does not exist");
        let node = memory.node(self.pin, lid);
        let address = node.address().get();
        let published = node.published();
        self.named(check_state(published.state(), memory.node_bytes()))?;
        let view = View::published(published);
        check!(self, view.previous_address() != address, "is its own previous version");
        Ok(view)
    }

    /// Returns the result of a check of the node.
    fn named(&self, checked: Result<(), String>) -> Result<(), Violation> {
        checked.map_err(|description| Violation { lid: self.lid, description })
    }

    fn subtree(&mut self, lid: Lid, expected: Expected, leaves: &mut Vec<Lid>) -> Result<(), Violation> {
        let view = self.view(lid)?;
        check!(self, self.seen.insert(lid), "is reached twice");
        self.node(view, &expected)?;
        if view.is_leaf() {
            leaves.push(lid);
            return self.leaf(view);
        }
        self.children(view, &expected, leaves)
    }

    /// Checks the bytes of a node.
    fn node(&self, view: View<'_>, expected: &Expected) -> Result<(), Violation> {
        let (level, parent) = (view.level(), expected.level + 1);
        check!(self, level == expected.level, "level {level} under a node of {parent}");
        self.named(view.check_places())?;
        self.header(view, expected)?;
        self.sorted_block(view)?;
        self.named(view.columns().check(view))?;
        if view.is_leaf() { self.log(view) } else { Ok(()) }
    }

    /// Checks header and fence keys.
    fn header(&self, view: View<'_>, expected: &Expected) -> Result<(), Violation> {
        check!(
            self,
            view.node_version() <= self.forest.read_version(),
            "version {} is not released",
            view.node_version()
        );
        check!(self, self.forest.mvcc() || view.node_version() == 0, "has a version without MVCC");
        let (low, high) = (view.low_fence(), view.high_fence().map(|high| high.to_vec()));
        check!(self, low == expected.low, "low fence {low:?} is not {:?}", expected.low);
        check!(self, high == expected.high, "high fence {high:?} is not {:?}", expected.high);
        let prefix = prefix_length(low, high.as_deref());
        check!(
            self,
            view.prefix_length() == prefix,
            "prefix length {} is not {prefix}",
            view.prefix_length()
        );
        self.previous_version(view)
    }

    /// Checks the form of the previous version. It may be reclaimed, so only its address can be checked.
    fn previous_version(&self, view: View<'_>) -> Result<(), Violation> {
        let address = view.previous_address();
        let is_unit = address.is_multiple_of(layout::ALLOCATION_UNIT_BYTES as u64);
        let is_inside = address < self.arena_bytes;
        check!(self, is_unit && is_inside, "no buffer begins at the previous version, {address:#x}");
        check!(self, address == 0 || self.forest.mvcc(), "has a previous version without MVCC");
        Ok(())
    }

    fn sorted_block(&self, view: View<'_>) -> Result<(), Violation> {
        let mut last = None::<Vec<u8>>;
        for (at, item) in view.all_items() {
            let suffix = item.suffix().to_bytes();
            check!(self, item.header.padding() == 0, "padding of the item at {at} is not zero");
            check!(
                self,
                item.header == item.header.without_log_flags(),
                "item at {at} has flags of a log entry"
            );
            check!(self, !item.header.tombstone(), "item at {at} is a tombstone");
            check!(self, last.is_none_or(|last| last[..] < suffix[..]), "item at {at} is out of order");
            self.in_fences(view, item, at)?;
            last = Some(suffix.to_vec());
        }
        Ok(())
    }

    fn in_fences(&self, view: View<'_>, item: Item<'_>, at: usize) -> Result<(), Violation> {
        let key = view.key(item);
        check!(self, key.len() <= self.forest.shape().key_bytes_max(), "key at {at} is too long");
        check!(self, key.compare(view.low_fence()).is_ge(), "key at {at} is below the low fence");
        let below = view.high_fence().is_none_or(|high| key.compare(&high.to_vec()).is_lt());
        check!(self, below, "key at {at} is not below the high fence");
        Ok(())
    }

    fn leaf(&mut self, view: View<'_>) -> Result<(), Violation> {
        self.counts.leaves += 1;
        self.counts.leaf_bytes_used += view.used_bytes() as u64;
        self.counts.log_entries += view.log_count() as u64;
        let pairs = self.counts.pairs;
        let mut cursor = crate::read::cursor::Cursor::at_start(view, u64::MAX);
        while let Some(item) = cursor.next() {
            self.pair(view, item)?;
        }
        let count = self.counts.pairs - pairs;
        check!(self, Live::of(view).count() as u64 == count, "{:?} for {count} pairs", Live::of(view));
        self.counts.empty_leaves += u64::from(count == 0);
        Ok(())
    }

    fn pair(&mut self, view: View<'_>, item: Item<'_>) -> Result<(), Violation> {
        self.counts.pairs += 1;
        self.counts.key_bytes += view.key(item).len() as u64;
        let Some(value) = item.reference() else {
            self.counts.value_bytes += item.value().len() as u64;
            return Ok(());
        };
        let inline = self.forest.shape().inline_value_bytes_max();
        check!(
            self,
            value.length > inline && value.length <= layout::VALUE_BYTES_MAX,
            "overflow value of {} bytes",
            value.length
        );
        let address = value.address;
        let is_live = self.forest.memory().is_live_value(address, value.length);
        check!(self, is_live, "no overflow value of {} bytes at {address:?}", value.length);
        check!(self, self.values.insert(address), "overflow value at {address:?} belongs to two pairs");
        self.counts.value_bytes += value.length as u64;
        self.counts.overflow_values += 1;
        self.value_units += value.length.next_multiple_of(layout::ALLOCATION_UNIT_BYTES) as u64;
        Ok(())
    }

    fn log(&self, view: View<'_>) -> Result<(), Violation> {
        let mut order: Vec<LogEntry<'_>> = Vec::new();
        let mut newest = 0;
        for (index, entry) in view.log_entries().enumerate() {
            self.entry(view, &order, entry, index)?;
            check!(
                self,
                entry.place.version_delta >= newest,
                "log entry {index} is older than its predecessor"
            );
            newest = entry.place.version_delta;
            order.insert(entry.place.order_hint, entry);
        }
        let released = view.node_version() + newest <= self.forest.read_version();
        check!(self, released, "the version of a log entry is not released");
        let suffixes: Vec<Vec<u8>> = order.iter().map(|entry| suffix_of(entry.item)).collect();
        let sorted = suffixes.is_sorted();
        check!(self, sorted, "the order hints do not sort the log block");
        let overlay = Overlay::new(view, u64::MAX);
        let keys: Vec<Vec<u8>> = (0..overlay.len()).map(|index| suffix_of(overlay.item(index))).collect();
        let unique = keys.windows(2).all(|pair| pair[0] < pair[1]);
        check!(self, unique, "the log block has several newest entries for one key");
        Ok(())
    }

    /// Checks one log entry. `before` has the earlier entries in key order.
    fn entry(
        &self,
        view: View<'_>,
        before: &[LogEntry<'_>],
        entry: LogEntry<'_>,
        index: usize,
    ) -> Result<(), Violation> {
        let (suffix, header) = (&suffix_of(entry.item)[..], entry.item.header);
        let rank = before.partition_point(|other| other.item.suffix().compare(suffix).is_lt());
        check!(
            self,
            entry.place.order_hint == rank,
            "order hint of log entry {index} is {}, not {rank}",
            entry.place.order_hint
        );
        let position = lower_bound(view, SearchKey::new(suffix));
        check!(
            self,
            entry.place.back_pointer == position.position,
            "back pointer of log entry {index} is {}, not {}",
            entry.place.back_pointer,
            position.position
        );
        check!(
            self,
            header.replaces() == position.found,
            "the replace flag of log entry {index} does not match the sorted block"
        );
        let repeats = before.iter().any(|other| other.item.suffix().equals(suffix));
        check!(
            self,
            header.repeats() == repeats,
            "the repeat flag of log entry {index} does not match the log block"
        );
        check!(
            self,
            entry.place.repeats == repeats,
            "the log word of entry {index} does not match its repeat flag"
        );
        check!(self, header.padding() == 0, "flags of log entry {index} that do not exist are set");
        let end = entry.place.at + entry.bytes();
        let padding = end - entry.padding_bytes()..end;
        let is_zero = view.bytes(padding).iter().all(|&byte| byte == 0);
        check!(self, is_zero, "padding of log entry {index} is not zero");
        let tombstone_is_empty = !header.tombstone() || header == tombstone(header);
        check!(self, tombstone_is_empty, "tombstone {index} has a value");
        let fingerprint_matches = view.tags().get(index).is_none_or(|&other| other == tag(suffix));
        check!(self, fingerprint_matches, "fingerprint of log entry {index} does not match its key");
        self.in_fences(view, entry.item, index)
    }

    fn children(
        &mut self,
        view: View<'_>,
        expected: &Expected,
        leaves: &mut Vec<Lid>,
    ) -> Result<(), Violation> {
        check!(self, view.link_words()[1] == 0, "an interior node has a right sibling");
        self.counts.interior_nodes += 1;
        let lid = self.lid;
        let mut low = view.low_fence().to_vec();
        let mut child = view.leftmost();
        for (at, item) in view.all_items() {
            check!(self, item.value().len() == CHILD_LID_BYTES, "item at {at} has no child LID");
            let next = view.key(item).to_vec();
            let high = Some(next.clone());
            self.subtree(child, Expected { level: expected.level - 1, low, high }, leaves)?;
            self.lid = lid;
            (low, child) = (next, item.child());
        }
        let high = view.high_fence().map(|high| high.to_vec());
        self.subtree(child, Expected { level: expected.level - 1, low, high }, leaves)
    }

    fn siblings(&mut self, leaves: &[Lid]) -> Result<(), Violation> {
        for (index, &lid) in leaves.iter().enumerate() {
            self.lid = lid.get();
            let view = View::published(self.forest.node(self.pin, lid).published());
            let expected = |leaf: Option<&Lid>| leaf.map_or(0, |lid| lid.get());
            let left = expected(index.checked_sub(1).and_then(|left| leaves.get(left)));
            let (right, [stored_left, stored_right]) = (expected(leaves.get(index + 1)), view.link_words());
            check!(self, stored_left == left, "left sibling is LID {stored_left}, not {left}");
            check!(self, stored_right == right, "right sibling is LID {stored_right}, not {right}");
        }
        Ok(())
    }

    /// Checks that every live buffer, LID and value of the arena belongs to a tree.
    fn accounting(&mut self) -> Result<(), Violation> {
        self.lid = 0;
        let live = self.forest.memory().accounting();
        let nodes = self.counts.leaves + self.counts.interior_nodes;
        check!(self, live.live_nodes as u64 == nodes, "{} live buffers, {nodes} reached", live.live_nodes);
        check!(self, live.live_lids as u64 == nodes, "{} live LIDs, {nodes} reached", live.live_lids);
        let bytes = self.value_units;
        check!(
            self,
            live.live_value_bytes as u64 == bytes,
            "{} bytes of live values, {bytes} reached",
            live.live_value_bytes
        );
        Ok(())
    }
}

fn suffix_of(item: Item<'_>) -> Vec<u8> {
    item.suffix().to_bytes().to_vec()
}

fn tombstone(header: ItemHeader) -> ItemHeader {
    ItemHeader::new(header.suffix_bytes(), 0)
        .with_tombstone(true)
        .with_place(header.replaces(), header.repeats())
}

#[cfg(test)]
mod tests;

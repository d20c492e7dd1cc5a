//! Checks every invariant of an idle forest: the bytes of each node, key order, links, versions, and that
//! each LID and each byte of the arena has exactly one owner.

use std::collections::{HashMap, HashSet};

use honeycomb_layout::{self as layout, directory_line};
use honeycomb_memory::{Lid, Pin};
use thiserror::Error;

use crate::forest::{Forest, Root};
use crate::node::fences::Fences;
use crate::node::item::{Item, ItemHeader};
use crate::node::key::{SearchKey, head, prefix_length, tag};
use crate::node::key_hash::KeyHash;
use crate::node::live::Live;
use crate::node::log::Overlay;
use crate::node::log_entry::LogEntry;
use crate::node::segments::even_bytes;
use crate::node::tag_directory::Line;
use crate::node::view::View;
use crate::read::search::lower_bound;

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
    /// Bytes of the leaves' buffers in use by headers, shortcuts, items and log entries.
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
        let forest: &Self = self;
        let pin = forest.memory().pin();
        let mut check = Check {
            forest,
            pin: &pin,
            lid: 0,
            seen: HashSet::new(),
            counts: Verified::default(),
            value_units: 0,
        };
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
    counts: Verified,
    /// Bytes of the buffers of overflow values.
    value_units: u64,
}

/// The properties of a node that follow from its parent.
struct Expected {
    level: usize,
    low: Vec<u8>,
    high: Option<Vec<u8>>,
}

impl<'f> Check<'f> {
    fn tree(&mut self, root: Root) -> Result<(), Violation> {
        let level = self.forest.view(self.forest.node(self.pin, root.0)).level();
        self.counts.height = self.counts.height.max(level as u64 + 1);
        let mut leaves = Vec::new();
        self.subtree(root.0, Expected { level, low: Vec::new(), high: None }, &mut leaves)?;
        self.siblings(&leaves)
    }

    fn subtree(&mut self, lid: Lid, expected: Expected, leaves: &mut Vec<Lid>) -> Result<(), Violation> {
        self.lid = lid.get();
        check!(self, self.seen.insert(lid), "is reached twice");
        let node = self.forest.node(self.pin, lid);
        check!(self, !node.lock_and_size().locked(), "is locked although there is no writer");
        let view = self.forest.view(node);
        self.header(view, &expected)?;
        self.sorted_block(view)?;
        self.shortcuts(view)?;
        if view.is_leaf() {
            leaves.push(lid);
            return self.leaf(view);
        }
        self.children(view, &expected, leaves)
    }

    /// Checks header and fence keys.
    fn header(&self, view: View<'_>, expected: &Expected) -> Result<(), Violation> {
        let shape = self.forest.shape();
        check!(
            self,
            view.level() == expected.level,
            "level {} under a node of {}",
            view.level(),
            expected.level + 1
        );
        check!(self, view.size() <= shape.node_bytes, "size {} exceeds the node", view.size());
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
        let start = view.sorted_start() + Fences::spanning(view, view).bytes();
        check!(self, view.items_start() == start, "items start at {} and not at {start}", view.items_start());
        check!(
            self,
            view.sorted_end() >= start && view.sorted_end() <= view.size(),
            "sorted block ends at {}",
            view.sorted_end()
        );
        Ok(())
    }

    fn sorted_block(&self, view: View<'_>) -> Result<(), Violation> {
        let (mut offset, mut count, mut last) = (view.items_start(), 0, None);
        for (at, item) in view.items_from(view.items_start()) {
            check!(self, item.header.padding() == 0, "padding of the item at {at} is not zero");
            check!(
                self,
                item.header == item.header.without_log_flags(),
                "item at {at} has flags of a log entry"
            );
            check!(self, !item.header.tombstone(), "item at {at} is a tombstone");
            check!(self, last.is_none_or(|last| last < item.suffix()), "item at {at} is out of order");
            self.in_fences(view, item, at)?;
            (offset, last) = (at + item.bytes.len(), Some(item.suffix()));
            count += 1;
        }
        check!(self, offset == view.sorted_end(), "items end at {offset}, not at {}", view.sorted_end());
        check!(
            self,
            count == view.sorted_count(),
            "{count} items, but the header has {}",
            view.sorted_count()
        );
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

    fn shortcuts(&self, view: View<'_>) -> Result<(), Violation> {
        let count = view.shortcut_count();
        check!(self, count <= view.geometry().shortcut_capacity(), "{count} shortcuts are too many");
        check!(
            self,
            (count == 0) == (view.sorted_count() == 0),
            "{count} shortcuts for {} items",
            view.sorted_count()
        );
        check!(
            self,
            count == 0 || view.segment(0) == view.items_start(),
            "the first segment does not start at the first item"
        );
        let boundaries: HashSet<usize> = view.items_from(view.items_start()).map(|(at, _)| at).collect();
        let even = even_bytes(self.forest.shape(), view.sorted_end() - view.items_start());
        for index in 0..count {
            let offset = view.segment(index);
            check!(self, boundaries.contains(&offset), "segment {index} starts inside an item, at {offset}");
            check!(self, offset < view.segment(index + 1), "segment {index} is empty");
            let last =
                view.items_from(offset).map(|(at, _)| at).take_while(|&at| at < view.segment(index + 1));
            let to_last = last.last().map_or(0, |last| last - offset);
            check!(self, to_last <= 2 * even, "segment {index} has {to_last} bytes before its last item");
            let stored = u64::from_le_bytes(view.heads()[8 * index..][..8].try_into().expect("eight bytes"));
            let expected = head(view.item(offset).suffix());
            check!(self, stored == expected, "head {index} is {stored:#x}, not {expected:#x}");
        }
        Ok(())
    }

    /// Checks the fingerprint directory of a leaf: each line counts its items and has an entry for each of
    /// the first ones that fit.
    fn fingerprint_directory(&self, view: View<'_>) -> Result<(), Violation> {
        let line_offsets = view.geometry().tag_directory().step_by(directory_line::SIZE);
        let mut lines: HashMap<usize, (usize, usize)> =
            line_offsets.map(|line_offset| (line_offset, (0, 0))).collect();
        for (at, item) in view.items_from(view.items_start()) {
            let hash = KeyHash::of(&view.key(item).to_vec());
            let line_offset = view.geometry().directory_line(hash);
            let line = Line::read(view.from(line_offset));
            let entries = line.offsets(line.matching(hash)).filter(|&offset| offset == at).count();
            check!(self, entries <= 1, "item at {at} has {entries} entries in the fingerprint directory");
            let (items, named) = lines.entry(line_offset).or_default();
            (*items, *named) = (*items + 1, *named + entries);
        }
        for (line_offset, (items, named)) in lines {
            let count = Line::read(view.from(line_offset)).count();
            check!(
                self,
                count == items.min(255),
                "directory line at {line_offset} counts {count} of {items} items"
            );
            let entries = items.min(directory_line::TAGS_COUNT);
            check!(
                self,
                named == entries,
                "directory line at {line_offset} has {named} of {entries} entries"
            );
        }
        Ok(())
    }

    fn leaf(&mut self, view: View<'_>) -> Result<(), Violation> {
        if view.geometry().has_tag_directory() {
            self.fingerprint_directory(view)?;
        }
        self.log(view)?;
        self.counts.leaves += 1;
        self.counts.leaf_bytes_used += view.size() as u64;
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
        self.counts.value_bytes += value.length as u64;
        self.counts.overflow_values += 1;
        self.value_units += value.length.next_multiple_of(layout::ALLOCATION_UNIT_BYTES) as u64;
        Ok(())
    }

    fn log(&self, view: View<'_>) -> Result<(), Violation> {
        let bytes: usize = view.log_entries().map(LogEntry::bytes).sum();
        check!(
            self,
            bytes == view.log_bytes(),
            "log entries end after {bytes} of {} bytes",
            view.log_bytes()
        );
        let mut order: Vec<LogEntry<'_>> = Vec::new();
        let mut newest = 0;
        for (index, entry) in view.log_entries().enumerate() {
            self.entry(view, &order, entry, index)?;
            check!(self, entry.version_delta >= newest, "log entry {index} is older than its predecessor");
            newest = entry.version_delta;
            order.insert(entry.order_hint, entry);
        }
        let released = view.node_version() + newest <= self.forest.read_version();
        check!(self, released, "the version of a log entry is not released");
        let sorted = order.windows(2).all(|pair| pair[0].item.suffix() <= pair[1].item.suffix());
        check!(self, sorted, "the order hints do not sort the log block");
        let overlay = Overlay::new(view, u64::MAX);
        let keys: Vec<&[u8]> = (0..overlay.len()).map(|index| overlay.item(index).suffix()).collect();
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
        let (suffix, header) = (entry.item.suffix(), entry.item.header);
        let rank = before.partition_point(|other| other.item.suffix() < suffix);
        check!(
            self,
            entry.order_hint == rank,
            "order hint of log entry {index} is {}, not {rank}",
            entry.order_hint
        );
        let position = lower_bound(view, &SearchKey::new(suffix));
        check!(
            self,
            entry.back_pointer == position.offset,
            "back pointer of log entry {index} is {}, not {}",
            entry.back_pointer,
            position.offset
        );
        check!(
            self,
            header.replaces() == position.found,
            "the replace flag of log entry {index} does not match the sorted block"
        );
        let repeats = before.iter().any(|other| other.item.suffix() == suffix);
        check!(
            self,
            header.repeats() == repeats,
            "the repeat flag of log entry {index} does not match the log block"
        );
        check!(self, header.padding() == 0, "padding of log entry {index} is not zero");
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
        check!(self, view.log_count() == 0 && view.log_bytes() == 0, "an interior node has a log block");
        check!(self, view.right().is_none(), "an interior node has a right sibling");
        self.counts.interior_nodes += 1;
        let lid = self.lid;
        let mut low = view.low_fence().to_vec();
        let mut child = view.leftmost();
        for (at, item) in view.items_from(view.items_start()) {
            check!(self, item.value().len() == layout::child::SIZE, "item at {at} has no child LID");
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
            let view = self.forest.view(self.forest.node(self.pin, lid));
            let left = index.checked_sub(1).map(|left| leaves[left]);
            let right = leaves.get(index + 1).copied();
            check!(self, view.left() == left, "left sibling is {:?}, not {left:?}", view.left());
            check!(self, view.right() == right, "right sibling is {:?}, not {right:?}", view.right());
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

fn tombstone(header: ItemHeader) -> ItemHeader {
    ItemHeader::new(header.suffix_bytes(), 0)
        .with_tombstone(true)
        .with_place(header.replaces(), header.repeats())
}

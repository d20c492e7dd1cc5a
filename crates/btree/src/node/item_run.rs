//! Item runs: the items of a new node, as byte strings in the nodes from which they come.
//!
//! A consolidation or split mostly copies items without a change. A run of them is a single copy if the
//! node's prefix stays the same; otherwise each item is encoded again.

use std::ops::{AddAssign, Range, SubAssign};

use crate::node::item::{HEADER_BYTES, Item, ItemBytes, ItemHeader};
use crate::node::key::{KeyParts, SearchKey};
use crate::node::log::Overlay;
use crate::node::segments::Starts;
use crate::node::view::View;

/// Adjacent whole items whose keys lack `prefix`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ItemRun<'a> {
    pub(crate) prefix: &'a [u8],
    pub(crate) bytes: &'a [u8],
    /// Offset of the first item in its node, or of the item that it replaces.
    pub(crate) offset: usize,
    /// The segment starts of that node among these items.
    pub(crate) starts: Starts<'a>,
}

/// Items in key order.
#[derive(Debug, Default)]
pub(crate) struct Items<'a> {
    /// The runs; none of them is empty.
    pub(crate) item_runs: Vec<ItemRun<'a>>,
    pub(crate) tally: Tally,
    /// Bytes of all runs.
    bytes: usize,
}

/// Counts of items that are known without reading them.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    /// Number of items.
    pub(crate) count: usize,
    /// Bytes of the prefixes that the items lack.
    prefix_bytes: usize,
}

impl Tally {
    /// Returns the tally of `count` items that lack this prefix.
    pub(crate) fn new(count: usize, prefix: &[u8]) -> Self {
        Self { count, prefix_bytes: count * prefix.len() }
    }
}

impl SubAssign for Tally {
    fn sub_assign(&mut self, other: Self) {
        self.count -= other.count;
        self.prefix_bytes -= other.prefix_bytes;
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.prefix_bytes += other.prefix_bytes;
    }
}

impl<'a> Items<'a> {
    /// Returns no items, with capacity for `item_runs` runs.
    pub(crate) fn with_capacity(item_runs: usize) -> Self {
        Self { item_runs: Vec::with_capacity(item_runs), ..Self::default() }
    }

    /// Adds a run unless it is empty. The caller adds its items to the tally.
    #[inline]
    pub(crate) fn push(&mut self, item_run: ItemRun<'a>) {
        if !item_run.bytes.is_empty() {
            self.bytes += item_run.bytes.len();
            self.item_runs.push(item_run);
        }
    }

    /// Adds all items to the tally, which must be empty.
    pub(crate) fn counted(mut self) -> Self {
        self.item_runs
            .iter()
            .for_each(|item_run| self.tally += Tally::new(item_run.count(), item_run.prefix));
        self
    }

    /// Appends the items of the next node to the right.
    pub(crate) fn extend(&mut self, others: Self) {
        self.item_runs.extend(others.item_runs);
        self.bytes += others.bytes;
        self.tally += others.tally;
    }

    /// Returns the bytes of all items in a node with a prefix of `prefix_length` bytes.
    pub(crate) fn bytes_with_prefix(&self, prefix_length: usize) -> usize {
        self.bytes + self.tally.prefix_bytes - self.tally.count * prefix_length
    }
}

impl<'a> ItemRun<'a> {
    /// Returns a run without known segment starts.
    pub(crate) fn new(prefix: &'a [u8], bytes: &'a [u8]) -> Self {
        Self { prefix, bytes, offset: 0, starts: Starts::default() }
    }

    /// Returns the sorted items of a node from offset `from` up to `to`.
    pub(crate) fn sorted(view: View<'a>, from: usize, to: usize) -> Self {
        let starts = Starts::of(view).split_at(to).0.split_at(from).1;
        Self { prefix: view.prefix(), bytes: &view.from(from)[..to - from], offset: from, starts }
    }

    pub(crate) fn items(self) -> impl Iterator<Item = Item<'a>> {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            (!rest.is_empty()).then(|| {
                let item = Item::read(rest);
                rest = &rest[item.bytes.len()..];
                item
            })
        })
    }

    pub(crate) fn count(self) -> usize {
        let (mut at, mut count) = (0, 0);
        while at < self.bytes.len() {
            at += ItemHeader::read(&self.bytes[at..]).item_bytes();
            count += 1;
        }
        count
    }

    pub(crate) fn key(self, item: Item<'a>) -> KeyParts<'a> {
        KeyParts { prefix: self.prefix, suffix: item.suffix() }
    }

    /// Returns the known segment starts, as offsets in `bytes`.
    pub(crate) fn starts(self) -> impl DoubleEndedIterator<Item = usize> + 'a {
        self.starts.iter().map(move |start| start - self.offset)
    }

    /// Splits the run before the item at `at`.
    pub(crate) fn split_at(self, at: usize) -> (Self, Self) {
        let (before, after) = self.bytes.split_at(at);
        let starts = self.starts.split_at(self.offset + at);
        let offset = self.offset + at;
        (
            Self { bytes: before, starts: starts.0, ..self },
            Self { bytes: after, offset, starts: starts.1, ..self },
        )
    }

    /// Returns the last item that ends at or before `end`.
    pub(crate) fn last_before(self, end: usize) -> Item<'a> {
        let start = self.starts().rev().find(|&start| start < end).unwrap_or(0);
        let bytes = &self.bytes[start..end];
        Self { bytes, ..self }.items().last().expect("there are items before `end`")
    }

    /// Returns the bytes of the items in a node with a prefix of `prefix_length` bytes.
    pub(crate) fn bytes_with_prefix(self, prefix_length: usize) -> usize {
        if prefix_length == self.prefix.len() {
            return self.bytes.len();
        }
        let count = self.count();
        self.bytes.len() + self.prefix.len() * count - prefix_length * count
    }

    /// Writes the items for a node with a prefix of `prefix_length` bytes and returns the number of bytes
    /// written.
    #[inline]
    pub(crate) fn write(self, out: &mut [u8], prefix_length: usize) -> usize {
        if prefix_length == self.prefix.len() {
            out[..self.bytes.len()].copy_from_slice(self.bytes);
            clear_log_flags(out);
            return self.bytes.len();
        }
        self.write_anew(out, prefix_length)
    }

    fn write_anew(self, out: &mut [u8], prefix_length: usize) -> usize {
        let mut at = 0;
        for item in self.items() {
            at += write_item(&mut out[at..], self.key(item), item, prefix_length);
        }
        at
    }
}

// Only the first item of a run can come from a log block: the item of an entry is a separate run.
#[inline]
fn clear_log_flags(out: &mut [u8]) {
    ItemHeader::read(out).without_log_flags().write(out);
}

fn write_item(out: &mut [u8], key: KeyParts<'_>, item: Item<'_>, prefix_length: usize) -> usize {
    let (first, second) = key.skip(prefix_length);
    let suffix_bytes = first.len() + second.len();
    item.header.without_log_flags().with_suffix_bytes(suffix_bytes).write(out);
    let mut at = HEADER_BYTES;
    for part in [first, second, item.value()] {
        out[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    at
}

/// A change to one key of a leaf that is consolidated.
pub(crate) struct Change<'a> {
    /// Whether the key is greater than all other keys of the leaf.
    pub(crate) is_last: bool,
    /// Offset of the first sorted item whose key is not smaller.
    pub(crate) back_pointer: usize,
    /// The new item or tombstone, encoded with the leaf's prefix.
    pub(crate) item: &'a ItemBytes,
}

/// Returns the items of a consolidated leaf: its sorted block, its log block and one more change.
pub(crate) fn leaf_items<'a>(view: View<'a>, change: Option<&'a Change<'a>>) -> Items<'a> {
    let overlay = Overlay::new(view, u64::MAX);
    let mut consolidation = Consolidation::new(view, overlay.len() + 1);
    match change {
        None => consolidation.lay_all(&overlay, 0..overlay.len()),
        Some(change) => {
            let item = Item::read(change.item);
            let search_key = SearchKey::new(item.suffix());
            let before = overlay.before(&search_key, false);
            consolidation.lay_all(&overlay, 0..before);
            consolidation.lay(change.back_pointer, item);
            // Skip the entry whose key this change repeats.
            consolidation.lay_all(&overlay, before + usize::from(item.header.repeats())..overlay.len());
        }
    }
    consolidation.finish()
}

/// A consolidation in progress: changes are added to the items of the sorted block in key order.
struct Consolidation<'a> {
    view: View<'a>,
    prefix: &'a [u8],
    /// Offset of the first sorted item that was not added yet.
    offset: usize,
    /// The segment starts from that offset on.
    starts: Starts<'a>,
    items: Items<'a>,
    /// Number of items in the result.
    count: usize,
}

impl<'a> Consolidation<'a> {
    fn new(view: View<'a>, changes: usize) -> Self {
        let (offset, starts) = (view.items_start(), Starts::of(view));
        let items = Items::with_capacity(2 * changes + 1);
        Self { view, prefix: view.prefix(), offset, starts, items, count: view.sorted_count() }
    }

    fn lay_all(&mut self, overlay: &Overlay<'a>, entries: Range<usize>) {
        for (back_pointer, item) in overlay.entries(entries) {
            self.lay(back_pointer, item);
        }
    }

    #[inline(always)]
    fn lay(&mut self, back_pointer: usize, item: Item<'a>) {
        self.sorted_up_to(back_pointer);
        let mut starts = Starts::default();
        if item.header.replaces() {
            self.offset += self.view.item(self.offset).bytes.len();
            (starts, self.starts) = self.starts.split_at(self.offset);
            self.count -= 1;
        }
        if !item.header.tombstone() {
            self.items.push(ItemRun { prefix: self.prefix, bytes: item.bytes, offset: back_pointer, starts });
            self.count += 1;
        }
    }

    #[inline(always)]
    fn sorted_up_to(&mut self, offset: usize) {
        if offset > self.offset {
            let bytes = &self.view.from(self.offset)[..offset - self.offset];
            let (starts, rest) = self.starts.split_at(offset);
            self.items.push(ItemRun { prefix: self.prefix, bytes, offset: self.offset, starts });
            (self.offset, self.starts) = (offset, rest);
        }
    }

    fn finish(mut self) -> Items<'a> {
        self.sorted_up_to(self.view.sorted_end());
        self.items.tally = Tally::new(self.count, self.prefix);
        self.items
    }
}

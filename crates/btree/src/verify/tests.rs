//! Each flipped bit of a node is a violation, except in the bytes of keys, values and links.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use honeycomb_layout::node_header;
use honeycomb_memory::{MemoryConfig, Published};

use super::*;
use crate::Operation;
use crate::forest::Config;
use crate::node::columns::encoding::WORD_BYTES;
use crate::node::log_entry;
use crate::node::shape::Shape;
use crate::node::suffix::HEAD_BYTES;

/// Bytes of a child and of its LID in the column of children.
const CHILD_BYTES: usize = 8;
const LID_BYTES: usize = 6;
/// The lengths of keys and values in the columns of a leaf with a stride.
const STRIDE_LENGTHS: Range<usize> = 68..72;
/// The flag of a deletion, in the third byte of an item word.
const TOMBSTONE: u8 = 1 << 3;

/// Lengths of keys after their number, and of values.
struct Pairs {
    keys: [usize; 3],
    values: [usize; 3],
}

/// With a stride; without one; with equal heads, whose separators have items and next heads.
const KINDS: [Pairs; 3] = [
    Pairs { keys: [4; 3], values: [9; 3] },
    Pairs { keys: [0, 3, 11], values: [0, 5, 30] },
    Pairs { keys: [20, 30, 25], values: [1, 2, 3] },
];

fn forest(pairs: &Pairs) -> (Forest, Root) {
    let memory = MemoryConfig { arena_bytes: 16 << 20, huge_pages: false, ..MemoryConfig::default() };
    let shape = Shape { node_bytes: 1024, log_threshold_bytes: 256, ..Shape::default() };
    let forest = Forest::new(Config { memory, shape, mvcc: true }).unwrap();
    let root = forest.create_tree().unwrap();
    // In two rounds: the later keys are between the earlier ones, in log blocks.
    for number in (0..400_u32).step_by(2).chain((1..400).step_by(14)) {
        let kind = number as usize % 3;
        let long = pairs.keys[kind] >= 20;
        let mut key = if long { b"same head".to_vec() } else { Vec::new() };
        key.extend(number.to_be_bytes());
        key.resize(key.len() + pairs.keys[kind], 1);
        forest.write(root, &key, Operation::Put(&[7; 30][..pairs.values[kind]])).unwrap();
    }
    forest.verify(&[root]).unwrap();
    (forest, root)
}

/// Returns a copy of the whole node as a private buffer.
fn copy(published: Published<'_>, node_bytes: usize) -> Vec<u8> {
    let (node, state) = (published.node(), published.state());
    let words = (8..node_header::SIZE).step_by(8).map(|offset| node.word(offset));
    let mut bytes: Vec<u8> =
        std::iter::once(u64::from(state)).chain(words).flat_map(u64::to_le_bytes).collect();
    bytes.extend_from_slice(published.bytes());
    bytes.resize(node_bytes, 0);
    for (entry, word) in published.log_words().iter().enumerate() {
        let offset = node_bytes - log_entry::WORD_BYTES * (entry + 1);
        bytes[offset..offset + log_entry::WORD_BYTES].copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

/// The bits of a node that can differ without a violation in it, by byte.
struct Free(BTreeMap<usize, u8>);

impl Free {
    /// Keys, values, children, and the versions of log entries. A length may grow into zero bytes of a head
    /// or of padding, and a deletion may be a put of an empty value.
    fn of(view: View<'_>, node_bytes: usize) -> Self {
        let (columns, mut free) = (view.columns(), Self(BTreeMap::new()));
        let heads = honeycomb_layout::COLUMN_HEADS_OFFSET;
        free.bytes(heads..heads + HEAD_BYTES * columns.count());
        let tags = node_header::TAGS_OFFSET + view.log_count().min(node_header::TAGS_COUNT);
        free.bytes(tags..node_header::SIZE);
        if !view.is_leaf() {
            free.separators(view);
            return free;
        }
        for index in 0..columns.count() {
            let start = columns.item_offset(index);
            let word = if columns.stride().is_some() { 0 } else { free.word(start) };
            free.bytes(start + word..columns.value_range(index).end);
        }
        if columns.stride().is_some() {
            free.bytes(STRIDE_LENGTHS);
        }
        for (index, entry) in view.log_entries().enumerate() {
            let (start, end) = (entry.place.at, entry.place.at + entry.bytes() - entry.padding_bytes());
            free.bytes(start..start + HEAD_BYTES);
            let word = start + HEAD_BYTES;
            let rest = word + free.word(word);
            free.bytes(rest..end);
            let is_empty = entry.item.header.value_bytes() == 0;
            *free.0.entry(word + 2).or_default() |= if is_empty { TOMBSTONE } else { 0 };
            // The highest bit of the word is a flag.
            let log_word = node_bytes - log_entry::WORD_BYTES * (index + 1);
            free.bytes(log_word + 4..log_word + 7);
            free.0.insert(log_word + 7, 0x7f);
        }
        free
    }

    fn separators(&mut self, view: View<'_>) {
        let columns = view.columns();
        for (index, (_, item)) in view.all_items().enumerate() {
            let child = columns.children_start() + CHILD_BYTES * index;
            self.bytes(child..child + LID_BYTES);
            let at = columns.rest_offset(index);
            if at > 0 {
                let rest = at + self.word(at);
                self.bytes(rest..rest + item.suffix().rest().len());
            }
        }
    }

    fn bytes(&mut self, range: Range<usize>) {
        self.0.extend(range.map(|offset| (offset, u8::MAX)));
    }

    /// The lengths in an item word. Returns the bytes of the word.
    fn word(&mut self, at: usize) -> usize {
        self.bytes(at..at + 2);
        self.0.insert(at + 2, 0b11);
        WORD_BYTES
    }

    fn has(&self, offset: usize, bit: u32) -> bool {
        self.0.get(&offset).is_some_and(|bits| bits >> bit & 1 == 1)
    }
}

/// Returns the bytes of a node that the check reads: the part of the header that is not a link or a version,
/// the bytes in use, and the log words.
fn checked_bytes(view: View<'_>, node_bytes: usize) -> impl Iterator<Item = usize> {
    let log_words = node_bytes - log_entry::WORD_BYTES * view.log_count();
    (node_header::SORTED_END_OFFSET..view.size()).chain(log_words..node_bytes)
}

/// Flips each bit of a node alone, and returns the flips that pass the check.
fn undetected(check: &Check<'_>, view: View<'_>, bytes: &[u8]) -> Vec<(usize, u32)> {
    let level = view.level();
    let (low, high) = (view.low_fence().to_vec(), view.high_fence().map(|high| high.to_vec()));
    let expected = Expected { level, low, high };
    let free = Free::of(view, bytes.len());
    let mut found = Vec::new();
    for offset in checked_bytes(view, bytes.len()) {
        for bit in (0..8).filter(|&bit| !free.has(offset, bit)) {
            let mut flipped = bytes.to_vec();
            flipped[offset] ^= 1 << bit;
            // A length that is wrong may lead out of the node.
            let checked = catch_unwind(AssertUnwindSafe(|| {
                let (view, mut check) = (View::private(&flipped), Check::new(check.forest, check.pin, 0));
                check.node(view, &expected)?;
                if view.is_leaf() { check.leaf(view) } else { Ok(()) }
            }));
            if checked.is_ok_and(|checked| checked.is_ok()) {
                found.push((offset, bit));
            }
        }
    }
    found
}

#[test]
fn each_flipped_bit_is_a_violation() {
    let silent = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut all = Vec::new();
    let (mut leaves, mut interior, mut entries) = (0, 0, 0);
    for (kind, pairs) in KINDS.iter().enumerate() {
        let (forest, root) = forest(pairs);
        let pin = forest.memory().pin();
        let check = Check::new(&forest, &pin, 0);
        let mut lids = vec![root.0];
        while let Some(lid) = lids.pop() {
            let published = forest.node(&pin, lid).published();
            let (view, bytes) = (View::published(published), copy(published, forest.shape().node_bytes));
            if view.is_leaf() {
                leaves += 1;
                entries += view.log_count();
            } else {
                interior += 1;
                lids.push(view.leftmost());
                lids.extend(view.all_items().map(|(_, item)| item.child()));
            }
            let found = undetected(&check, view, &bytes);
            all.extend(found.into_iter().map(|flip| (kind, view.level(), flip)));
        }
    }
    std::panic::set_hook(silent);
    assert!(leaves > 20 && interior >= 3 && entries > 40, "{leaves}, {interior}, {entries}");
    assert!(all.is_empty(), "kind, level, (offset, bit): {all:?}");
}

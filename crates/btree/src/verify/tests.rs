//! Each flipped bit of a node is a violation, except in the bytes of keys, values and links, and `verify`
//! names the damaged part. No damage makes it panic.

mod damages;

use std::collections::BTreeMap;
use std::ops::Range;

use honeycomb_layout::node_header;
use honeycomb_memory::{LockAndSize, MemoryConfig, Published, Retired};
use honeycomb_testing::seed_or;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

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
/// The words of the siblings, or of the leftmost child.
const LINKS: Range<usize> = node_header::LEFT_OFFSET..node_header::SORTED_END_OFFSET;
/// The flag of a deletion, in the third byte of an item word.
const TOMBSTONE: u8 = 1 << 3;

/// Lengths of keys after their number, and of values.
struct Pairs {
    keys: [usize; 3],
    values: [usize; 3],
}

/// With a stride; without one; with equal heads, whose separators have items and next heads; with overflow
/// values.
const KINDS: [Pairs; 4] = [
    Pairs { keys: [4; 3], values: [9; 3] },
    Pairs { keys: [0, 3, 11], values: [0, 5, 30] },
    Pairs { keys: [20, 30, 25], values: [1, 2, 3] },
    Pairs { keys: [1, 2, 3], values: [200, 3, 700] },
];
/// The kinds with which one node shows all damages of its bytes.
const INLINE: Range<usize> = 0..3;

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
        forest.write(root, &key, Operation::Put(&[7; 700][..pairs.values[kind]])).unwrap();
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
    /// Keys, values, and the versions of log entries. A length may grow into zero bytes of a head or of
    /// padding, and a deletion may be a put of an empty value.
    fn of(view: View<'_>, forest: &Forest) -> Self {
        let node_bytes = forest.shape().node_bytes;
        let (columns, mut free) = (view.columns(), Self::versions(view, forest));
        let tags = node_header::TAGS_OFFSET + view.log_count().min(node_header::TAGS_COUNT);
        free.bytes(tags..node_header::SIZE);
        if !view.is_leaf() {
            return free;
        }
        free.heads(view);
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

    /// The sequence number, older versions, and the addresses of other buffers.
    fn versions(view: View<'_>, forest: &Forest) -> Self {
        let mut free = Self(BTreeMap::new());
        let any = |word: u64| word.to_le_bytes().into_iter().enumerate();
        free.0.extend(any(u64::from(u32::MAX - 1)));
        let version = view.node_version();
        let is_released = |bit: &u32| version ^ 1 << bit <= forest.read_version();
        let versions = (0..64).filter(is_released).fold(0, |bits, bit| bits | 1 << bit);
        free.0.extend(any(versions).map(|(at, bits)| (node_header::NODE_VERSION_OFFSET + at, bits)));
        let arena = forest.memory().accounting().arena_bytes as u64;
        let addresses = (arena - 1) & !(layout::ALLOCATION_UNIT_BYTES as u64 - 1);
        free.0.extend(any(addresses).map(|(at, bits)| (node_header::PREVIOUS_VERSION_OFFSET + at, bits)));
        free
    }

    /// What only other nodes show to be wrong: siblings, children, and the separators between these.
    fn links(&mut self, view: View<'_>) {
        self.bytes(LINKS);
        if view.is_leaf() {
            return;
        }
        self.heads(view);
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

    fn heads(&mut self, view: View<'_>) {
        let heads = honeycomb_layout::COLUMN_HEADS_OFFSET;
        self.bytes(heads..heads + HEAD_BYTES * view.sorted_count());
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

/// Returns the bytes of a node that the check reads: those in use, and the log words.
fn checked_bytes(view: View<'_>, node_bytes: usize) -> impl Iterator<Item = usize> {
    let log_words = node_bytes - log_entry::WORD_BYTES * view.log_count();
    (0..view.size()).chain(log_words..node_bytes)
}

/// Flips each bit of a node alone, and returns the flips that pass the check.
fn undetected(
    view: View<'_>,
    bytes: &[u8],
    free: &Free,
    check: impl Fn(&[u8]) -> Result<(), Violation>,
) -> Vec<(usize, u32)> {
    let mut found = Vec::new();
    for offset in checked_bytes(view, bytes.len()) {
        for bit in (0..8).filter(|&bit| !free.has(offset, bit)) {
            let mut flipped = bytes.to_vec();
            flipped[offset] ^= 1 << bit;
            if check(&flipped).is_ok() {
                found.push((offset, bit));
            }
        }
    }
    found
}

/// Checks a private node, without its siblings and children.
fn check_alone(check: &Check<'_>, expected: &Expected, bytes: &[u8]) -> Result<(), Violation> {
    check.named(check_state(LockAndSize::from(word_at(bytes, 0)), bytes.len()))?;
    let (view, mut check) = (View::private(bytes), Check::new(check.forest, check.pin, 0));
    check.node(view, expected)?;
    if view.is_leaf() { check.leaf(view) } else { Ok(()) }
}

fn word_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(*bytes[offset..].first_chunk().unwrap())
}

#[test]
fn each_flipped_bit_is_a_violation() {
    let (mut leaves, mut interior, mut entries) = (0, 0, 0);
    for kind in INLINE {
        let (forest, root) = forest(&KINDS[kind]);
        let pin = forest.memory().pin();
        let check = Check::new(&forest, &pin, 0);
        for lid in lids(&forest, root) {
            let published = forest.node(&pin, lid).published();
            let (view, bytes) = (View::published(published), copy(published, forest.shape().node_bytes));
            let (low, high) = (view.low_fence().to_vec(), view.high_fence().map(|high| high.to_vec()));
            let expected = Expected { level: view.level(), low, high };
            (leaves, interior) = if view.is_leaf() { (leaves + 1, interior) } else { (leaves, interior + 1) };
            entries += view.log_count();
            let mut free = Free::of(view, &forest);
            free.links(view);
            let found = undetected(view, &bytes, &free, |bytes| check_alone(&check, &expected, bytes));
            assert!(found.is_empty(), "kind {kind}, level {}, (offset, bit): {found:?}", view.level());
        }
    }
    assert!(leaves > 20 && interior >= 3 && entries > 40, "{leaves}, {interior}, {entries}");
}

/// In the whole tree, the links of a node and its references to overflow values are checked, too.
#[test]
fn each_flipped_bit_of_a_tree_is_a_violation() {
    for (kind, pairs) in KINDS.iter().enumerate() {
        let (forest, root) = forest(pairs);
        let lids = lids(&forest, root);
        // The root, and a leaf with log entries.
        let has_log = |lid: &&Lid| with_view(&forest, **lid, |view, _| view.log_count() > 1);
        for lid in [root.0, *lids.iter().find(has_log).unwrap()] {
            let found = with_view(&forest, lid, |view, bytes| {
                let free = Free::of(view, &forest);
                undetected(view, bytes, &free, |bytes| verify_with(&forest, root, lid, bytes))
            });
            assert!(found.is_empty(), "kind {kind}, LID {}, (offset, bit): {found:?}", lid.get());
        }
        forest.verify(&[root]).unwrap();
    }
}

/// Not every such damage changes the meaning of a node, but none makes `verify` panic.
#[test]
fn random_bytes_never_make_it_panic() {
    const NODES: usize = 5_000;
    let mut rng = StdRng::seed_from_u64(seed_or(1));
    let mut found = 0;
    for pairs in &KINDS {
        let (forest, root) = forest(pairs);
        let lids = lids(&forest, root);
        for _ in 0..NODES {
            let lid = lids[rng.random_range(0..lids.len())];
            let mut bytes = with_view(&forest, lid, |_, bytes| bytes.to_vec());
            // Half of the damages are in the header or the samples.
            let end = if rng.random() { bytes.len() } else { honeycomb_layout::COLUMN_HEADS_OFFSET };
            for _ in 0..rng.random_range(1..8) {
                bytes[rng.random_range(0..end)] = *[0, 1, 0x80, 0xff, rng.random()].choose(&mut rng).unwrap();
            }
            found += usize::from(verify_with(&forest, root, lid, &bytes).is_err());
        }
    }
    assert!(found > 2 * NODES, "{found}");
}

/// Returns the LIDs of a tree, from its root on.
fn lids(forest: &Forest, root: Root) -> Vec<Lid> {
    let (pin, mut lids, mut next) = (forest.memory().pin(), vec![root.0], 0);
    while let Some(&lid) = lids.get(next) {
        let view = View::published(forest.node(&pin, lid).published());
        if !view.is_leaf() {
            lids.push(view.leftmost());
            lids.extend(view.all_items().map(|(_, item)| item.child()));
        }
        next += 1;
    }
    lids
}

/// Calls a function with a node and its bytes.
fn with_view<T>(forest: &Forest, lid: Lid, run: impl FnOnce(View<'_>, &[u8]) -> T) -> T {
    let pin = forest.memory().pin();
    let published = forest.node(&pin, lid).published();
    let bytes = copy(published, forest.shape().node_bytes);
    drop(pin);
    run(View::private(&bytes), &bytes)
}

/// Verifies a tree in which a node has these bytes, and restores the node.
fn verify_with(forest: &Forest, root: Root, lid: Lid, bytes: &[u8]) -> Result<(), Violation> {
    let state = LockAndSize::from(word_at(bytes, 0));
    check_state(state, bytes.len()).map_err(|description| Violation { lid: lid.get(), description })?;
    let original = with_view(forest, lid, |_, bytes| bytes.to_vec());
    replace(forest, lid, bytes);
    let verified = forest.verify(&[root]);
    replace(forest, lid, &original);
    verified.map(drop)
}

fn replace(forest: &Forest, lid: Lid, bytes: &[u8]) {
    let memory = forest.memory();
    let mut buffer = memory.allocate_node().unwrap();
    buffer.copy_from_slice(bytes);
    let old = memory.node(&memory.pin(), lid).address();
    memory.map(lid, buffer);
    memory.retire([Retired::Node(old)]);
    memory.reclaim();
}

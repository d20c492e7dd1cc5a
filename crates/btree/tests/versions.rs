//! Versions: the read version of a reader, the state at it, and the maximum version delta in a node.
#![allow(missing_docs)]

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use honeycomb_btree::{
    BatchOperation, BatchOutcome, Config, Existing, Forest, Operation, Outcome, Reader, Root, Scan, Shape,
};
use honeycomb_memory::MemoryConfig;
use honeycomb_testing::index::{MIB, Model, Pairs, everything, forest, scan, tiny};

/// With only one operation in flight at a time, a reader waits for its pin during a batch. Its read version
/// must be taken after that wait.
#[test]
fn a_reader_takes_its_version_under_its_pin() {
    let memory =
        MemoryConfig { arena_bytes: 16 * MIB, participants: 1, huge_pages: false, ..MemoryConfig::default() };
    let forest = Forest::new(Config { memory, shape: tiny(128), ..Config::default() }).unwrap();
    let root = forest.create_tree().unwrap();
    let keys: Vec<[u8; 4]> = (0..5_000_u32).map(u32::to_be_bytes).collect();
    let operation = Operation::Add(1);
    let batch: Vec<_> = keys.iter().map(|key| BatchOperation { root, key, operation }).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let reader = forest.reader();
                assert_eq!(reader.version(), forest.read_version());
            }
        });
        (0..40).for_each(|_| drop(forest.apply(&batch).unwrap()));
        done.store(true, Ordering::Relaxed);
    });
}

/// A tree of four levels. Its keys are long and differ only in the last byte, so fence keys are long too.
struct Tall {
    forest: Forest,
    root: Root,
    model: Model,
}

const TALL: u64 = 600;

impl Tall {
    fn key(number: u64) -> Vec<u8> {
        let group = (number / 3 * 181 % 199) as u8;
        [vec![group; 115], vec![(number % 3) as u8]].concat()
    }

    fn write(&mut self, numbers: impl Iterator<Item = u64>, value: Option<&[u8]>) {
        for key in numbers.map(Self::key) {
            let operation = value.map_or(Operation::Delete, Operation::Put);
            self.forest.write(self.root, &key, operation).unwrap();
            match value {
                Some(value) => drop(self.model.insert(key, value.to_vec())),
                None => drop(self.model.remove(&key)),
            }
        }
    }

    fn delete_range(&mut self, lower: u8, upper: u8) {
        let (lower, upper) = (vec![lower], vec![upper]);
        let bounds = (Bound::Included(&lower[..]), Bound::Excluded(&upper[..]));
        self.forest.delete_range(self.root, bounds.0, bounds.1).unwrap();
        self.model.retain(|key, _| *key < lower || *key >= upper);
    }
}

fn check(reader: &Reader<'_>, root: Root, expected: &Model) {
    let mut pairs: Pairs = expected.clone().into_iter().collect();
    assert_eq!(everything(reader, root), pairs, "at version {}", reader.version());
    pairs.reverse();
    assert_eq!(scan(reader, root, &Scan { backward: true, ..Scan::default() }), pairs);
    for key in (0..TALL).map(Tall::key) {
        let found = reader.get(root, &key).map(|found| found.value);
        assert_eq!(found, expected.get(&key).map(Vec::as_slice), "at version {}", reader.version());
    }
}

/// Each reader sees the tree as it was at its version, while the tree grows, changes, shrinks and grows
/// again.
#[test]
fn readers_see_the_tree_as_it_was() {
    let forest = forest(tiny(400), 16 * MIB, true);
    let root = forest.create_tree().unwrap();
    let mut tall = Tall { forest, root, model: Model::new() };
    let changes: [fn(&mut Tall); 8] = [
        |tall| tall.write(0..TALL / 4, Some(b"first")),
        |tall| tall.write(0..TALL, Some(b"second")),
        |tall| tall.write((0..TALL).step_by(9), Some(b"third")),
        |tall| tall.write((0..TALL).filter(|number| number % 7 != 0), None),
        |tall| tall.write((0..TALL).step_by(3), Some(b"fourth")),
        |tall| tall.delete_range(20, 150),
        |tall| tall.write((0..TALL).step_by(2), Some(b"fifth")),
        |tall| tall.delete_range(0, 255),
    ];
    let mut kept = Vec::new();
    for change in changes {
        let lease = tall.forest.memory().lease().unwrap();
        kept.push((lease, tall.forest.read_version(), tall.model.clone()));
        change(&mut tall);
        for (lease, version, model) in &kept {
            check(&tall.forest.reader_at(&lease.enter().unwrap(), *version), root, model);
        }
        check(&tall.forest.reader(), root, &tall.model);
    }
    let statistics = tall.forest.statistics();
    assert!(statistics.root_growths >= 3 && statistics.scan_descents > 0, "{statistics:?}");
}

#[test]
fn a_large_version_delta_forces_a_consolidation() {
    let forest = forest(Shape { version_delta_max: 2_000, ..tiny(512) }, 4 * MIB, true);
    let (seldom, often) = (forest.create_tree().unwrap(), forest.create_tree().unwrap());
    let put = |root| forest.write(root, b"key", Operation::Put(b"value")).map(drop).unwrap();
    put(seldom);
    (0..900).for_each(|_| forest.write(often, b"counter", Operation::Add(1)).map(drop).unwrap());
    let consolidations = forest.statistics().consolidations;
    put(seldom);
    assert_eq!(forest.statistics().consolidations, consolidations, "the delta fits");
    (0..200).for_each(|_| forest.write(often, b"counter", Operation::Add(1)).map(drop).unwrap());
    let consolidations = forest.statistics().consolidations;
    put(seldom);
    assert_eq!(forest.statistics().consolidations, consolidations + 1, "the delta does not fit");
}

/// A node that a batch has built gets the version of the batch, so it is never too old for a log entry.
#[test]
fn a_batch_appends_to_nodes_that_it_has_built() {
    let keys: Vec<[u8; 4]> = (0..100_u32).map(u32::to_be_bytes).collect();
    let nodes_built = |versions_before: usize| {
        let forest = forest(Shape { version_delta_max: 2_000, ..tiny(512) }, 4 * MIB, true);
        let (root, other) = (forest.create_tree().unwrap(), forest.create_tree().unwrap());
        for _ in 0..versions_before {
            forest.write(other, b"counter", Operation::Add(1)).unwrap();
        }
        let before = forest.statistics();
        let operation = Operation::Put(b"value");
        let batch: Vec<_> = keys.iter().map(|key| BatchOperation { root, key, operation }).collect();
        forest.apply(&batch).unwrap();
        let after = forest.statistics();
        after.consolidations + after.patches - before.consolidations - before.patches
    };
    // The published leaf is too old for an entry, so the batch builds that, too.
    assert_eq!(nodes_built(3_000), nodes_built(0) + 1);
}

/// A pair that a batch has changed has no version yet, so a swap with the version from before must fail.
#[test]
fn a_batch_does_not_swap_what_it_changed() {
    let forest = forest(tiny(128), MIB, true);
    let root = forest.create_tree().unwrap();
    for key in [b"a", b"b", b"c", b"d"] {
        forest.write(root, key, Operation::Put(&[1; 40])).unwrap();
    }
    for key in [b"a", b"b", b"c", b"d"] {
        let version = forest.reader().get(root, key).unwrap().version;
        let swap = Operation::CompareVersionAndSwap { version, value: b"swapped" };
        let one = |operation| BatchOperation { root, key: &key[..], operation };
        let outcome = forest.apply(&[one(Operation::Put(b"put")), one(swap)]).unwrap();
        assert!(matches!(outcome, BatchOutcome::Rejected { index: 1, .. }), "{outcome:?}");
        let mut outcomes = Vec::new();
        let each = [one(Operation::Put(b"put")), one(swap)];
        forest.write_each(&each, |_, outcome| outcomes.push(outcome.unwrap()));
        let version = forest.reader().get(root, key).unwrap().version;
        assert_eq!(
            outcomes,
            [Outcome::Updated, Outcome::Mismatch(Box::new(Existing { value: b"put".to_vec(), version }))]
        );
    }
}

/// If a batch consolidates a leaf, the leaf gets the version of the batch. The other swaps of the batch still
/// expect versions from before it.
#[test]
fn swaps_of_a_batch_compare_versions_from_before_it() {
    let forest = forest(tiny(128), 4 * MIB, true);
    let root = forest.create_tree().unwrap();
    let keys: Vec<[u8; 2]> = (0..20_u16).map(u16::to_be_bytes).collect();
    for key in &keys {
        forest.write(root, key, Operation::Put(b"value")).unwrap();
    }
    for round in 0..50_u8 {
        let reader = forest.reader();
        let version = |key| reader.get(root, key).unwrap().version;
        let value = [round];
        let swap = |key| Operation::CompareVersionAndSwap { version: version(key), value: &value };
        let batch: Vec<_> =
            keys.iter().map(|key| BatchOperation { root, key, operation: swap(key) }).collect();
        let applied = forest.apply(&batch).unwrap();
        assert!(matches!(applied, BatchOutcome::Applied { .. }), "round {round}: {applied:?}");
        assert!(matches!(forest.apply(&batch).unwrap(), BatchOutcome::Rejected { index: 0, .. }));
    }
}

//! Allocation failures at each allocation of each kind of write: the write returns an error and neither loses
//! nor leaks anything.
#![allow(missing_docs)]

use std::iter::zip;
use std::ops::Bound;

use honeycomb_btree::{BatchEntry, BatchOperation, Config, Error, Forest, Operation, Root, TreeRange};
use honeycomb_memory::{Faults, MemoryConfig};
use honeycomb_testing::index::{Keys, MIB, Pairs, everything, key, tiny};

/// Returns a forest with a tree of three levels, and the faults of its allocations.
fn prepared(pairs: u64) -> (Forest, Root, Faults) {
    let faults = Faults::default();
    let memory = MemoryConfig {
        arena_bytes: 8 * MIB,
        huge_pages: false,
        faults: faults.clone(),
        ..MemoryConfig::default()
    };
    let forest = Forest::new(Config { memory, shape: tiny(128), ..Config::default() }).unwrap();
    let root = forest.create_tree().unwrap();
    for number in 0..pairs {
        let key = key(Keys::Random, number, 128);
        let length = if number % 50 == 0 { 700 } else { 20 };
        forest.write(root, &key, Operation::Put(&vec![number as u8; length])).unwrap();
    }
    (forest, root, faults)
}

/// The number of structural changes.
fn structural_changes(forest: &Forest) -> u64 {
    let counted = forest.statistics();
    let leaves = counted.leaf_splits + counted.leaf_redistributions + counted.leaf_merges;
    let interiors = counted.interior_splits + counted.interior_merges;
    leaves + interiors + counted.consolidations + counted.patches + counted.root_growths
}

fn contents(forest: &Forest, root: Root) -> Pairs {
    everything(&forest.reader(), root)
}

/// Lets the first allocation of a write fail, then the second, and so on until the write succeeds. Returns
/// the number of its allocations.
fn failing_everywhere(pairs: u64, write: fn(&Forest, Root) -> Result<(), Error>) -> u64 {
    for nth in 0.. {
        let (forest, root, faults) = prepared(pairs);
        let (before, counted) = (contents(&forest, root), structural_changes(&forest));
        faults.set(nth);
        let result = write(&forest, root);
        faults.clear();
        forest.verify(&[root]).unwrap();
        match result {
            Ok(()) => {
                assert_ne!(contents(&forest, root), before);
                return nth;
            }
            Err(error) => {
                assert!(matches!(error, Error::Memory(_)), "{error}");
                assert_eq!(contents(&forest, root), before, "allocation {nth} failed");
                assert_eq!(
                    structural_changes(&forest),
                    counted,
                    "an attempt counts, allocation {nth} failed"
                );
            }
        }
        // The same write succeeds once memory is available.
        write(&forest, root).unwrap();
        forest.verify(&[root]).unwrap();
    }
    unreachable!("every write succeeds in the end")
}

#[test]
fn puts_that_consolidate_and_split() {
    let mut most = 0;
    for pairs in 380..420 {
        most = most.max(failing_everywhere(pairs, |forest, root| {
            forest.write(root, &key(Keys::Random, 5_000, 128), Operation::Put(&[9; 90])).map(drop)
        }));
    }
    assert!(most >= 6, "a split allocates leaves, LIDs and parents, not {most}");
}

#[test]
fn large_values() {
    let allocations = failing_everywhere(200, |forest, root| {
        forest.write(root, &key(Keys::Random, 50, 128), Operation::Put(&[9; 5_000])).map(drop)
    });
    assert!(allocations >= 2);
}

#[test]
fn other_writes() {
    failing_everywhere(200, |forest, root| {
        forest.write(root, b"fresh", Operation::Insert(&[1; 300])).map(drop)
    });
    failing_everywhere(200, |forest, root| {
        forest.write(root, &key(Keys::Random, 100, 128), Operation::Update(&[1; 300])).map(drop)
    });
    failing_everywhere(200, |forest, root| {
        forest.write(root, &key(Keys::Random, 100, 128), Operation::Delete).map(drop)
    });
    failing_everywhere(200, |forest, root| {
        let swap = Operation::CompareAndSwap { expected: &[100; 700], value: &[1; 600] };
        forest.write(root, &key(Keys::Random, 100, 128), swap).map(drop)
    });
    failing_everywhere(200, |forest, root| {
        let key = key(Keys::Random, 100, 128);
        let version = forest.reader().get(root, &key).unwrap().version;
        let swap = Operation::CompareVersionAndSwap { version, value: &[1; 600] };
        forest.write(root, &key, swap).map(drop)
    });
    for pairs in 200..220 {
        failing_everywhere(pairs, |forest, root| forest.write(root, b"counter", Operation::Add(1)).map(drop));
    }
}

#[test]
fn batches() {
    let allocations = failing_everywhere(300, |forest, root| {
        let keys: Vec<Vec<u8>> = (290..340).map(|number| key(Keys::Random, number, 128)).collect();
        let operation = |index: usize| match index % 3 {
            0 => Operation::Delete,
            1 => Operation::Put(&[8; 100]),
            _ => Operation::Put(&[8; 600]),
        };
        let batch: Vec<_> = keys
            .iter()
            .enumerate()
            .map(|(index, key)| BatchOperation { root, key, operation: operation(index) })
            .collect();
        forest.apply(&batch).map(drop)
    });
    assert!(allocations > 20);
}

#[test]
fn batches_with_ranges() {
    let allocations = failing_everywhere(300, |forest, root| {
        let range = |lower, upper| TreeRange { root, lower: Bound::Included(lower), upper };
        let (all, since) = (range(&[], Bound::Unbounded), forest.read_version());
        let put = |key| BatchEntry::Write(BatchOperation { root, key, operation: Operation::Put(&[8; 600]) });
        let batch = [
            put(&[0x30, 1]),
            BatchEntry::DeleteRange(range(&[0x20], Bound::Excluded(&[0x70]))),
            BatchEntry::Unchanged { range: all, since },
            put(&[0x60, 1]),
            BatchEntry::DeleteRange(range(&[0x90], Bound::Excluded(&[0xd0]))),
        ];
        forest.apply_entries(&batch).map(drop)
    });
    assert!(allocations > 5);
}

/// A write of a group that fails for lack of memory is retried alone. If the retry fails too, all other
/// writes succeed.
#[test]
fn grouped_writes() {
    let mut keys: Vec<Vec<u8>> = (300..340).map(|number| key(Keys::Random, number, 128)).collect();
    // Neighbours write to one leaf.
    keys.sort();
    // A short entry has room in the log of a leaf that a long one has just split.
    let lengths = [[90, 90], [600, 600], [90, 0]];
    for (nth, lengths) in (0..60).flat_map(|nth| lengths.map(|lengths| (nth, lengths))) {
        let (forest, root, faults) = prepared(300);
        let put = |key, length| BatchOperation { root, key, operation: Operation::Put(&[8; 600][..length]) };
        let batch: Vec<_> =
            zip(&keys, lengths.into_iter().cycle()).map(|(key, length)| put(key, length)).collect();
        faults.set(nth);
        let mut failed = Vec::new();
        forest.write_each(&batch, |index, outcome| match outcome {
            Ok(outcome) => assert!(outcome.wrote()),
            Err(error) => failed.push((index, error)),
        });
        faults.clear();
        assert!(failed.len() <= 1, "{failed:?}");
        let pairs = 300 + (keys.len() - failed.len()) as u64;
        assert_eq!(forest.verify(&[root]).unwrap().pairs, pairs, "allocation {nth} failed");
        for (index, error) in failed {
            assert!(matches!(error, Error::Memory(_)), "{error}");
            assert!(forest.write(root, &keys[index], Operation::Put(b"")).unwrap().wrote());
        }
    }
}

#[test]
fn range_deletions_and_merges() {
    let allocations = failing_everywhere(400, |forest, root| {
        let bounds = (Bound::Included(&[0x20][..]), Bound::Excluded(&[0xd0][..]));
        forest.delete_range(root, bounds.0, bounds.1).map(drop)
    });
    assert!(allocations >= 2);
}

/// Returns a tree that deletions have left sparse: most leaves are a third full, which is more than the limit
/// below which a write merges them.
fn sparse() -> (Forest, Root, Faults) {
    let (forest, root, faults) = prepared(400);
    for number in (0..400).filter(|number| number % 5 > 1) {
        forest.write(root, &key(Keys::Random, number, 128), Operation::Delete).unwrap();
    }
    (forest, root, faults)
}

#[test]
fn passes() {
    for nth in 0.. {
        let (forest, root, faults) = sparse();
        let before = contents(&forest, root);
        faults.set(nth);
        let mut position = Vec::new();
        let result = forest.compact(root, &mut position, 1000);
        faults.clear();
        forest.verify(&[root]).unwrap();
        assert_eq!(contents(&forest, root), before, "allocation {nth} failed");
        if let Ok(compacted) = result {
            assert!(compacted.is_done && compacted.freed > 5, "{compacted:?}");
            assert!(nth > 20, "merges allocate leaves, LIDs and parents, not {nth}");
            break;
        }
        // A pass continues at the same position.
        assert!(forest.compact(root, &mut position, 1000).unwrap().is_done);
        forest.verify(&[root]).unwrap();
        assert_eq!(contents(&forest, root), before);
    }
}

/// A deletion succeeds even if there is no memory to merge its sparse leaf.
#[test]
fn deletes_that_leave_sparse_leaves() {
    for nth in 0..40 {
        let (forest, root, faults) = prepared(100);
        faults.set(nth);
        let mut failed = 0;
        for number in 0..100 {
            match forest.write(root, &key(Keys::Random, number, 128), Operation::Delete) {
                Ok(outcome) => assert!(outcome.wrote()),
                Err(error) => {
                    assert!(matches!(error, Error::Memory(_)), "{error}");
                    failed += 1;
                }
            }
        }
        faults.clear();
        assert!(failed <= 1);
        assert_eq!(forest.verify(&[root]).unwrap().pairs, failed, "allocation {nth} failed");
    }
}

#[test]
fn new_trees() {
    let (forest, root, faults) = prepared(10);
    for nth in 0..2 {
        faults.set(nth);
        assert!(forest.create_tree().is_err());
        forest.verify(&[root]).unwrap();
    }
    faults.clear();
    let second = forest.create_tree().unwrap();
    forest.verify(&[root, second]).unwrap();
}

/// A full store rejects writes, executes reads, and accepts writes again after a deletion.
#[test]
fn a_full_arena_recovers() {
    let memory = MemoryConfig { arena_bytes: MIB, huge_pages: false, ..MemoryConfig::default() };
    let forest = Forest::new(Config { memory, shape: tiny(128), ..Config::default() }).unwrap();
    let root = forest.create_tree().unwrap();
    let mut stored = 0;
    let error = loop {
        match forest.write(root, &key(Keys::Random, stored, 128), Operation::Put(&[3; 40])) {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Memory(_)), "{error}");
    assert!(stored > 5_000, "{stored}");
    forest.verify(&[root]).unwrap();
    assert_eq!(contents(&forest, root).len() as u64, stored);
    forest.delete_range(root, Bound::Unbounded, Bound::Excluded(&[0x40])).unwrap();
    for number in 0..stored / 8 {
        forest.write(root, &key(Keys::Random, stored + number, 128), Operation::Put(&[3; 40])).unwrap();
    }
    forest.verify(&[root]).unwrap();
}

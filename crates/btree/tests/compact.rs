//! Deletions free memory: whichever pairs were deleted, in whatever order, a tree has at most twice as many
//! nodes as a bulk load of the remaining pairs.
#![allow(missing_docs)]

use std::ops::{Bound, ControlFlow};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use honeycomb_btree::{BatchOperation, Forest, Operation, Outcome, Root, Scan, Shape};
use honeycomb_testing::index::{self, Keys, MIB, everything, forest, tiny};
use honeycomb_testing::seed_or;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

/// Bytes that a tree may use beyond twice the nodes of a bulk load.
const CONSTANT: usize = 64 << 10;

#[derive(Debug, Clone, Copy)]
enum Order {
    Sequential,
    Reverse,
    Random,
    /// Evenly spread over all keys.
    Spread,
}

const ORDERS: [Order; 4] = [Order::Sequential, Order::Reverse, Order::Random, Order::Spread];
const VALUE_BYTES: [usize; 10] = [0, 16, 50, 100, 150, 200, 300, 400, 469, 1000];

fn key(number: usize) -> [u8; 8] {
    (number as u64).to_be_bytes()
}

/// Returns the numbers of the pairs to delete, in order of deletion.
fn doomed(order: Order, count: usize, percent: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    match order {
        Order::Sequential => {}
        Order::Reverse => numbers.reverse(),
        Order::Random => numbers.shuffle(&mut StdRng::seed_from_u64(count as u64)),
        Order::Spread => {
            numbers.retain(|number| (number + 1) * percent / 100 > number * percent / 100);
            return numbers;
        }
    }
    numbers.truncate(count * percent / 100);
    numbers
}

/// Returns a tree of `count` pairs, inserted in random or ascending order.
fn filled(count: usize, value: &[u8], ascending: bool) -> (Forest, Root) {
    let forest = forest(Shape::default(), 64 * MIB, true);
    let root = forest.create_tree().unwrap();
    let mut numbers: Vec<usize> = (0..count).collect();
    if !ascending {
        numbers.shuffle(&mut StdRng::seed_from_u64(1));
    }
    for number in numbers {
        forest.write(root, &key(number), Operation::Insert(value)).unwrap();
    }
    (forest, root)
}

fn delete(forest: &Forest, root: Root, numbers: &[usize]) {
    for &number in numbers {
        assert_eq!(forest.write(root, &key(number), Operation::Delete).unwrap(), Outcome::Deleted);
    }
}

/// Runs a complete compaction pass.
fn compact(forest: &Forest, root: Root) {
    let mut position = Vec::new();
    while !forest.compact(root, &mut position, 16).unwrap().is_done {}
    forest.memory().reclaim();
}

/// Returns the bytes of the nodes of all trees.
fn node_bytes(forest: &Forest) -> usize {
    forest.memory().accounting().live_node_bytes
}

/// Returns the bytes of the nodes of a bulk load of a tree's pairs.
fn loaded_bytes(tree: &Forest, root: Root) -> usize {
    let fresh = forest(*tree.shape(), 64 * MIB, true);
    let fresh_root = fresh.create_tree().unwrap();
    let mut loader = fresh.loader(fresh_root, 90).unwrap();
    let (reader, mut key) = (tree.reader(), Vec::new());
    reader.scan(root, &Scan::default(), |pair| {
        key.clear();
        pair.copy_key_into(&mut key);
        loader.push(&key, pair.value()).unwrap();
        ControlFlow::Continue(())
    });
    loader.finish().unwrap();
    node_bytes(&fresh)
}

#[track_caller]
fn assert_compact(forest: &Forest, root: Root, what: &str) {
    forest.verify(&[root]).unwrap();
    let (bytes, loaded) = (node_bytes(forest), loaded_bytes(forest, root));
    assert!(bytes <= 2 * loaded + CONSTANT, "{what}: {bytes} bytes of nodes, {loaded} loaded");
}

fn deleted_pairs_leave_no_nodes(value_bytes: usize) {
    let count = (MIB / (value_bytes + 11)).min(20_000);
    for (order, percent) in ORDERS.iter().flat_map(|&order| [(order, 100), (order, 90), (order, 50)]) {
        for ascending in [true, false] {
            let (forest, root) = filled(count, &vec![7; value_bytes], ascending);
            let doomed = doomed(order, count, percent);
            delete(&forest, root, &doomed);
            let before = node_bytes(&forest);
            compact(&forest, root);
            let what = format!("{percent}% of values of {value_bytes} bytes, {order:?}, {ascending}");
            assert_compact(&forest, root, &what);
            assert_eq!(everything(&forest.reader(), root).len(), count - doomed.len());
            let most = loaded_bytes(&forest, root) * 3 / 2 + CONSTANT;
            assert!(node_bytes(&forest) <= most, "{what}: three leaves were not merged into two");
            if percent == 100 {
                assert!(before <= CONSTANT, "{what}: writes without a pass leave {before} bytes of nodes");
                assert_eq!(
                    node_bytes(&forest),
                    forest.memory().node_bytes(),
                    "{what}: more than one empty leaf"
                );
            }
        }
    }
}

#[test]
fn deleted_short_pairs_leave_no_nodes() {
    VALUE_BYTES[..5].iter().for_each(|&bytes| deleted_pairs_leave_no_nodes(bytes));
}

#[test]
fn deleted_long_pairs_leave_no_nodes() {
    VALUE_BYTES[5..].iter().for_each(|&bytes| deleted_pairs_leave_no_nodes(bytes));
}

/// Shorter values leave sparse leaves too.
#[test]
fn shorter_values_leave_no_nodes() {
    let (forest, root) = filled(4_000, &[7; 400], true);
    for number in 0..4_000 {
        forest.write(root, &key(number), Operation::Update(&[7; 9])).unwrap();
    }
    assert!(forest.shrunk_bytes() >= 4_000 * 391);
    compact(&forest, root);
    assert_compact(&forest, root, "shorter values");
}

/// Deleted ranges leave few pairs between them.
#[test]
fn deleted_ranges_leave_no_nodes() {
    for together in [20, 50, 300] {
        let (forest, root) = filled(20_000, &[7; 100], true);
        for first in (0..20_000).step_by(together) {
            let (lower, upper) = (key(first + 1), key(first + together));
            forest.delete_range(root, Bound::Included(&lower), Bound::Excluded(&upper)).unwrap();
        }
        compact(&forest, root);
        assert_compact(&forest, root, &format!("one of {together}"));
    }
}

/// Long keys that differ only at the end lead to interior nodes with few children, which a pass merges too.
#[test]
fn interior_nodes_are_merged() {
    let long = |number: usize| [&[number as u8 ^ 0x5a; 120][..], &key(number)].concat();
    let forest = forest(Shape { node_bytes: 2048, ..tiny(512) }, 64 * MIB, true);
    let root = forest.create_tree().unwrap();
    for number in 0..6_000 {
        forest.write(root, &long(number), Operation::Insert(b"value")).unwrap();
    }
    let high = forest.verify(&[root]).unwrap();
    // Keeps each interior node above the quarter below which a write merges it.
    for number in (0..6_000).filter(|number| number % 5 > 1) {
        forest.write(root, &long(number), Operation::Delete).unwrap();
    }
    compact(&forest, root);
    let low = forest.verify(&[root]).unwrap();
    assert!(
        low.interior_nodes * 5 < high.interior_nodes * 3,
        "{} of {}",
        low.interior_nodes,
        high.interior_nodes
    );
    assert_compact(&forest, root, "long keys");
}

/// A single pass is sufficient after any writes.
#[test]
fn one_pass_compacts_any_tree() {
    let first_seed = seed_or(1);
    for (offset, keys) in [Keys::Random, Keys::AnyLength, Keys::Paths, Keys::Counting].into_iter().enumerate()
    {
        let mut rng = StdRng::seed_from_u64(first_seed + offset as u64);
        let forest = forest(tiny(256), 64 * MIB, true);
        let root = forest.create_tree().unwrap();
        for round in 0..30 {
            let (keep, length) = (rng.random_range(0.0..1.0), rng.random_range(0..150));
            for _ in 0..3_000 {
                let number = rng.random_range(0..4_000);
                let key = index::key(keys, number, forest.shape().key_bytes_max());
                let value = vec![7; rng.random_range(0..=length)];
                let write = if rng.random_bool(keep) { Operation::Put(&value) } else { Operation::Delete };
                forest.write(root, &key, write).unwrap();
            }
            compact(&forest, root);
            assert_compact(&forest, root, &format!("{keys:?}, round {round}"));
        }
    }
}

/// A queue inserts at its end and deletes at its front. Its own writes merge the empty leaves.
#[test]
fn a_queue_leaves_no_empty_leaves() {
    for (value_bytes, together) in [(107, 1), (107, 30), (16, 1), (400, 7)] {
        let forest = forest(Shape::default(), 16 * MIB, true);
        let root = forest.create_tree().unwrap();
        for first in (0..60_000).step_by(together) {
            let value = vec![7; value_bytes];
            for number in first..first + together {
                forest.write(root, &key(number), Operation::Insert(&value)).unwrap();
            }
            let gone: Vec<_> =
                (first..first + together).filter_map(|number| number.checked_sub(3_000)).map(key).collect();
            let delete = |key| BatchOperation { root, key, operation: Operation::Delete };
            let batch: Vec<_> = gone.iter().map(|key| delete(key)).collect();
            forest.write_each(&batch, |_, outcome| assert_eq!(outcome.unwrap(), Outcome::Deleted));
        }
        let found = forest.verify(&[root]).unwrap();
        assert_eq!(found.empty_leaves, 0, "values of {value_bytes} bytes, {together} together");
        assert_compact(&forest, root, &format!("values of {value_bytes} bytes, {together} together"));
    }
}

/// A step of a pass checks a limited number of leaves, and a pass over a compact tree changes nothing.
#[test]
fn steps_are_bounded() {
    let (forest, root) = filled(20_000, &[7; 100], true);
    delete(&forest, root, &doomed(Order::Spread, 20_000, 66));
    for leaves in [1, 2, 10] {
        let mut position = Vec::new();
        let step = forest.compact(root, &mut position, leaves).unwrap();
        assert!(step.leaves >= leaves && step.leaves < leaves + 16 && !step.is_done, "{step:?}");
    }
    compact(&forest, root);
    let (before, version) = (forest.statistics(), forest.read_version());
    compact(&forest, root);
    assert_eq!((forest.statistics(), forest.read_version()), (before, version));
    assert!(before.compactions > 50);
}

/// Writers never miss a pair while compaction passes run.
#[test]
fn passes_run_concurrently_with_writers() {
    const PAIRS: usize = 20_000;
    let (forest, root) = filled(PAIRS, &[7; 60], true);
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let (forest, end) = (&forest, &end);
        scope.spawn(move || {
            while !end.load(Ordering::Relaxed) {
                compact(forest, root);
            }
        });
        for part in 0..2 {
            scope.spawn(move || {
                for round in 0..6 {
                    let mine = (0..PAIRS).filter(|number| number % 2 == part && number % 16 > 2 * round);
                    for number in mine.clone() {
                        assert_eq!(
                            forest.write(root, &key(number), Operation::Delete).unwrap(),
                            Outcome::Deleted
                        );
                    }
                    for number in mine {
                        let insert = Operation::Insert(&[8; 60]);
                        assert_eq!(forest.write(root, &key(number), insert).unwrap(), Outcome::Inserted);
                    }
                }
                end.store(true, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(forest.verify(&[root]).unwrap().pairs, PAIRS as u64);
}

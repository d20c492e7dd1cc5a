//! Roots that grow under concurrent writers: a node that a descent has found may be on another level when the
//! writer locks it.
#![allow(missing_docs)]

use std::ops::Bound;
use std::time::{Duration, Instant};
use std::{hint, thread};

use honeycomb_btree::{Forest, Operation, Outcome, Root};
use honeycomb_layout::node_header;
use honeycomb_memory::{LockAndSize, Node, NodeBuffer, Retired};
use honeycomb_testing::index::{MIB, forest, tiny};
use honeycomb_testing::seed_or;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const RUN: Duration = Duration::from_millis(500);
/// The end of a run in which the scheduler keeps the threads from meeting.
const RUN_MAX: Duration = Duration::from_secs(20);
/// Enough for all retired memory if the scheduler suspends an operation in flight during the whole test.
const ARENA: usize = 1024 * MIB;
const THREADS: u8 = 3;

/// Returns long keys that differ pairwise only in the last byte. Their fence keys are long too, so interior
/// nodes have few children and trees are tall.
fn key(thread: u8, number: u8) -> Vec<u8> {
    [&[thread][..], &[number / 2; 115], &[number]].concat()
}

/// Inserts pairs in a range that no other thread uses, reads them, and deletes them.
fn add_and_remove(forest: &Forest, root: Root, thread: u8, count: u8) {
    let keys: Vec<_> = (0..count).map(|number| key(thread, number)).collect();
    for key in &keys {
        assert_eq!(forest.write(root, key, Operation::Insert(key)).unwrap(), Outcome::Inserted);
    }
    for key in &keys {
        assert_eq!(forest.reader().get(root, key).map(|found| found.value), Some(&key[..]));
    }
    let (lower, upper) = ([thread], [thread + 1]);
    let bounds = (Bound::Included(&lower[..]), Bound::Excluded(&upper[..]));
    assert_eq!(forest.delete_range(root, bounds.0, bounds.1).unwrap(), u64::from(count));
}

/// Runs all threads, each with up to `most` pairs in the tree.
fn run(most: u8) {
    let forest = forest(tiny(128), ARENA, true);
    let root = forest.create_tree().unwrap();
    let (began, seed) = (Instant::now(), seed_or(1));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let forest = &forest;
            let mut rng = StdRng::seed_from_u64(seed + u64::from(thread));
            scope.spawn(move || {
                while began.elapsed() < RUN || (began.elapsed() < RUN_MAX && !is_enough(forest)) {
                    add_and_remove(forest, root, thread, rng.random_range(1..=most));
                }
            });
        }
    });
    assert_eq!(forest.verify(&[root]).unwrap().pairs, 0);
    println!("{:?}", forest.statistics());
    assert!(is_enough(&forest));
}

fn is_enough(forest: &Forest) -> bool {
    let statistics = forest.statistics();
    statistics.root_growths > 10 && statistics.root_collapses > 10
}

#[test]
fn a_tree_grows_and_shrinks_under_writers() {
    // The first run varies between one leaf and several, the second between two and three levels.
    run(4);
    run(40);
}

/// Returns a private copy of a node.
fn copy_of<'m>(forest: &'m Forest, node: Node<'_>) -> NodeBuffer<'m> {
    let mut buffer = forest.memory().allocate_node().unwrap();
    let (seen, bytes) = (node.published().state(), node.published().bytes());
    let state = LockAndSize::new(seen.size(), seen.log_count());
    put(&mut buffer, node_header::LOCK_AND_SIZE_OFFSET, u64::from(state));
    for offset in (8..node_header::SIZE).step_by(8) {
        put(&mut buffer, offset, node.word(offset));
    }
    buffer[node_header::SIZE..seen.size()].copy_from_slice(bytes);
    buffer
}

fn put(buffer: &mut [u8], offset: usize, word: u64) {
    buffer[offset..offset + 8].copy_from_slice(&word.to_le_bytes());
}

/// Writes to a tree of `pairs` pairs while its root is locked. While the writer waits for the lock, a new
/// root above a copy of the old one replaces it. The replacement happens later in each round, so that in some
/// rounds the writer is about to acquire the lock.
fn grow_under_a_waiting_writer(pairs: u8, round: u32) {
    let forest = forest(tiny(0), 4 * MIB, false);
    let root = forest.create_tree().unwrap();
    let other = forest.create_tree().unwrap();
    let insert = |number| drop(forest.write(root, &key(0, number), Operation::Insert(&[7; 100])).unwrap());
    (0..pairs).map(|number| 20 * number).for_each(insert);
    let (memory, pin) = (forest.memory(), forest.memory().pin());
    let old = memory.node(&pin, root.lid());
    let empty = memory.node(&pin, other.lid());
    let (below, mut above) = (copy_of(&forest, old), copy_of(&forest, empty));
    let lid = memory.reserve_lid().unwrap().keep();
    put(&mut above, node_header::LEFT_OFFSET, lid.get());
    above[node_header::LEVEL_OFFSET] = below[node_header::LEVEL_OFFSET] + 1;
    let locked = old.try_lock(old.lock_and_size()).unwrap();
    let retries = || forest.statistics().retries;
    let before = retries();
    thread::scope(|scope| {
        scope.spawn(|| (0..pairs).map(|number| 20 * number + 1).for_each(insert));
        // Do not yield here: the writer yields too after it has waited for a while.
        while retries() == before {}
        (0..16 * round).for_each(|_| hint::spin_loop());
        memory.map(lid, below);
        memory.map(root.lid(), above);
        locked.abandon();
    });
    memory.retire([Retired::Node(old.address())]);
    drop(pin);
    assert_eq!(forest.verify(&[root, other]).unwrap().pairs, 2 * u64::from(pairs));
}

#[test]
fn a_grown_root_is_not_used_as_a_leaf() {
    (0..100).for_each(|round| grow_under_a_waiting_writer(2, round));
}

#[test]
fn a_grown_root_is_not_used_as_a_parent_of_leaves() {
    // Two levels: a leaf that must be split needs the lock of the root.
    (0..100).for_each(|round| grow_under_a_waiting_writer(10, round));
}

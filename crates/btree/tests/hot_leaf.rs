//! All threads read and write one leaf, so that races of a few instructions occur.
#![allow(missing_docs)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use honeycomb_btree::{Forest, Operation, Outcome, Root};
use honeycomb_testing::index::{MIB, everything, forest, tiny};

const RUN: Duration = Duration::from_millis(300);
/// Enough for all retired memory if the scheduler suspends an operation in flight during the whole test.
const ARENA: usize = 1024 * MIB;
const WRITERS: u64 = 3;
const COUNTERS: u64 = 3;

fn key(counter: u64) -> Vec<u8> {
    counter.to_be_bytes().to_vec()
}

/// Adds one to each counter in turn and returns the number of additions.
fn add(forest: &Forest, root: Root, done: &AtomicBool) -> u64 {
    let mut additions = 0;
    while !done.load(Ordering::Relaxed) {
        let outcome = forest.write(root, &key(additions % COUNTERS), Operation::Add(1)).unwrap();
        assert!(matches!(outcome, Outcome::Added { .. } | Outcome::AddedFirst { .. }));
        additions += 1;
    }
    additions
}

/// Reads one counter with a get and all counters with a scan. The counter never decreases.
fn read(forest: &Forest, root: Root, done: &AtomicBool) {
    let mut before = 0;
    while !done.load(Ordering::Relaxed) {
        let reader = forest.reader();
        let got = reader.get(root, &key(0)).unwrap().value.to_vec();
        let counters = everything(&reader, root);
        assert_eq!(counters.len() as u64, COUNTERS);
        assert_eq!(counters[0].1, got);
        let now = u64::from_le_bytes(got.try_into().unwrap());
        assert!(now >= before, "{now} after {before}");
        before = now;
    }
}

fn run(log_threshold_bytes: usize) {
    let forest = forest(tiny(log_threshold_bytes), ARENA, true);
    let root = forest.create_tree().unwrap();
    for counter in 0..COUNTERS {
        forest.write(root, &key(counter), Operation::Add(0)).unwrap();
    }
    let done = AtomicBool::new(false);
    let additions: u64 = thread::scope(|scope| {
        let (forest, done) = (&forest, &done);
        let writers: Vec<_> = (0..WRITERS).map(|_| scope.spawn(move || add(forest, root, done))).collect();
        (0..2).for_each(|_| drop(scope.spawn(move || read(forest, root, done))));
        thread::sleep(RUN);
        done.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    let value = |(_, value): (Vec<u8>, Vec<u8>)| u64::from_le_bytes(value.try_into().unwrap());
    assert_eq!(everything(&forest.reader(), root).into_iter().map(value).sum::<u64>(), additions);
}

#[test]
fn no_addition_is_lost_in_a_log() {
    run(512);
}

#[test]
fn no_addition_is_lost_in_buffers_that_are_replaced() {
    run(0);
}

//! Concurrent transactions that read a range and write if it is unchanged, while another thread changes the
//! structure of the tree. Their outcomes must match some serial order.
#![allow(missing_docs)]

use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use honeycomb_btree::{BatchEntry, BatchOperation, BatchOutcome, Forest, Operation, Root, Scan, TreeRange};
use honeycomb_testing::index::{MIB, Pairs, everything, forest, scan, tiny};
use honeycomb_testing::seed_or;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const THREADS: u64 = 4;
const TRANSACTIONS: usize = 10_000;
const MEMORY_BYTES: usize = 256 * MIB;

struct Store {
    forest: Forest,
    root: Root,
    applied: AtomicU64,
    rejected: AtomicU64,
}

impl Store {
    fn new() -> Self {
        let forest = forest(tiny(128), MEMORY_BYTES, true);
        let root = forest.create_tree().unwrap();
        Self { forest, root, applied: AtomicU64::new(0), rejected: AtomicU64::new(0) }
    }

    /// Returns the pairs of a range and their read version.
    fn read(&self, lower: &[u8], upper: &[u8]) -> (Pairs, u64) {
        let reader = self.forest.reader();
        let (lower, upper) = (Included(lower), Excluded(upper));
        (scan(&reader, self.root, &Scan { lower, upper, ..Scan::default() }), reader.version())
    }

    /// Executes a write if no pair of the range was written after a version. Returns whether it was executed.
    fn write_if(
        &self,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        since: u64,
        key: &[u8],
        operation: Operation<'_>,
    ) -> bool {
        let root = self.root;
        let range = TreeRange { root, lower, upper };
        let write = BatchEntry::Write(BatchOperation { root, key, operation });
        let outcome = self.forest.apply_entries(&[write, BatchEntry::Unchanged { range, since }]).unwrap();
        let applied = matches!(outcome, BatchOutcome::Applied { .. });
        (if applied { &self.applied } else { &self.rejected }).fetch_add(1, Ordering::Relaxed);
        applied
    }

    /// Inserts and deletes pairs next to the ranges, so that leaves are split, merged and redistributed.
    fn churn(&self, rng: &mut StdRng) {
        let digit = rng.random_range(0..10_u8);
        for number in 0..rng.random_range(1..40_u8) {
            let key = [b'0' + digit, b'~', number];
            self.forest.write(self.root, &key, Operation::Put(&[7; 40])).unwrap();
        }
        let (lower, upper) = ([b'0' + digit, b'~'], [b'0' + digit, b'~', rng.random_range(0..60)]);
        self.forest.delete_range(self.root, Included(&lower), Excluded(&upper)).unwrap();
    }

    /// Runs the transactions in several threads, and `churn` in another thread.
    fn run(&mut self, transaction: impl Fn(&Self, &mut StdRng, u64) + Sync) {
        let (done, first) = (AtomicBool::new(false), seed_or(1));
        let this = &*self;
        thread::scope(|scope| {
            let (done, transaction) = (&done, &transaction);
            let run = |thread| {
                scope.spawn(move || {
                    let mut rng = StdRng::seed_from_u64(first + thread);
                    (0..TRANSACTIONS).for_each(|_| transaction(this, &mut rng, thread));
                })
            };
            let threads: Vec<_> = (0..THREADS).map(run).collect();
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(first + THREADS);
                while !done.load(Ordering::Relaxed) {
                    // A thread that is preempted while it reads keeps all nodes that are replaced meanwhile.
                    let memory = this.forest.memory().accounting();
                    if memory.free_bytes + memory.free_list_bytes > MEMORY_BYTES / 2 {
                        this.churn(&mut rng);
                    } else {
                        thread::yield_now();
                    }
                }
            });
            // If a thread panics, stop the other one.
            let ends: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            done.store(true, Ordering::Relaxed);
            ends.into_iter().for_each(|end| end.unwrap());
        });
        let (applied, rejected) =
            (self.applied.load(Ordering::Relaxed), self.rejected.load(Ordering::Relaxed));
        println!("{applied} applied, {rejected} rejected, {:?}", self.forest.statistics());
        assert!(applied > TRANSACTIONS as u64 / 4, "{applied} applied, {rejected} rejected");
        self.forest.verify(&[self.root]).unwrap();
    }
}

/// Returns the bounds of a group of keys, identified by one byte.
fn group(digit: u8) -> ([u8; 2], [u8; 2]) {
    ([digit, b'a'], [digit, b'b'])
}

#[test]
fn counted_ranges_have_no_phantoms() {
    const MOST: usize = 12;
    Store::new().run(|store, rng, _| {
        let digit = b'0' + rng.random_range(0..10);
        let (lower, upper) = group(digit);
        let (pairs, since) = store.read(&lower, &upper);
        assert!(pairs.len() <= MOST, "{} pairs, more than {MOST}", pairs.len());
        if pairs.len() == MOST {
            let (doomed, _) = &pairs[rng.random_range(0..MOST)];
            store.forest.write(store.root, doomed, Operation::Delete).unwrap();
        } else {
            let key = [digit, b'a', rng.random(), rng.random()];
            let value = vec![0; rng.random_range(0..120)];
            store.write_if((Included(&lower), Excluded(&upper)), since, &key, Operation::Put(&value));
        }
    });
}

#[test]
fn at_least_one_stays_on_call() {
    Store::new().run(|store, rng, thread| {
        let digit = b'0' + rng.random_range(0..10);
        let (lower, upper) = group(digit);
        let me = [digit, b'a', thread as u8];
        let (on_call, since) = store.read(&lower, &upper);
        let i_am = on_call.iter().any(|(key, _)| *key == me);
        // Once the first one has arrived, the group is never empty.
        if !i_am {
            store.forest.write(store.root, &me, Operation::Put(b"on call")).unwrap();
        } else if on_call.len() > 1
            && store.write_if((Included(&lower), Excluded(&upper)), since, &me, Operation::Delete)
        {
            assert!(!store.read(&lower, &upper).0.is_empty(), "nobody is on call");
        }
    });
}

#[test]
fn sequence_numbers_are_unique() {
    let mut store = Store::new();
    store.run(|store, rng, thread| {
        let lower = [b'5', b'a'];
        let (numbers, since) = store.read(&lower, b"5b");
        let last = numbers.last().map_or(0, |(key, _)| u32::from_be_bytes(*key.last_chunk().unwrap()));
        let key = [&lower[..], &(last + 1).to_be_bytes()].concat();
        // The condition detects an insertion after the last pair: its range is empty.
        let after = [&lower[..], &last.to_be_bytes()].concat();
        let range =
            (Excluded(&after[..]), if rng.random_bool(0.5) { Excluded(&b"5b"[..]) } else { Unbounded });
        store.write_if(range, since, &key, Operation::Put(&thread.to_le_bytes()));
        if numbers.len() > 30 {
            let end = numbers[20].0.clone();
            store.forest.delete_range(store.root, Included(&lower), Excluded(&end)).unwrap();
        }
    });
    let pairs = everything(&store.forest.reader(), store.root);
    let last = pairs.iter().rfind(|(key, _)| key.starts_with(b"5a")).unwrap();
    let last = u32::from_be_bytes(*last.0.last_chunk().unwrap());
    assert_eq!(u64::from(last), store.applied.load(Ordering::Relaxed));
}

//! Without MVCC, single operations stay linearizable. The test uses counters under several writers, in nodes
//! that are permanently consolidated, split and merged.
//!
//! Each addition returns a unique sum, so the sums of a counter are its versions. An operation that started
//! after the end of another one must not have an older sum; an addition must have a newer one.
#![allow(missing_docs)]

use std::time::Instant;

use honeycomb_btree::{Forest, Operation, Root};
use honeycomb_testing::index::{Keys, MIB, forest, key, tiny};
use honeycomb_testing::seed_or;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Enough for all retired memory if the scheduler suspends an operation in flight during the whole test.
const ARENA: usize = 1024 * MIB;
const THREADS: u64 = 4;
const COUNTERS: u64 = 6;
const STEPS: usize = 20_000;

struct Record {
    began: Instant,
    ended: Instant,
    counter: u64,
    sum: u64,
    added: bool,
}

fn counter_key(counter: u64) -> Vec<u8> {
    key(Keys::Random, 1_000_000 + counter, 128)
}

fn step(forest: &Forest, root: Root, rng: &mut StdRng) -> Record {
    let (counter, added) = (rng.random_range(0..COUNTERS), rng.random_bool(0.4));
    let key = counter_key(counter);
    let began = Instant::now();
    let sum = if added {
        forest.write(root, &key, Operation::Add(1)).unwrap().sum().expect("a sum")
    } else {
        let reader = forest.reader();
        reader.get(root, &key).map_or(0, |found| u64::from_le_bytes(found.value.try_into().unwrap()))
    };
    Record { began, ended: Instant::now(), counter, sum, added }
}

/// Writes pairs near the counters, so that the leaves of the counters change.
fn disturb(forest: &Forest, root: Root, rng: &mut StdRng) {
    let key = key(Keys::Random, rng.random_range(0..400), 128);
    let value = [7; 60];
    let operation = if rng.random_bool(0.5) { Operation::Put(&value) } else { Operation::Delete };
    forest.write(root, &key, operation).unwrap();
}

fn check(mut records: Vec<Record>) {
    records.sort_by_key(|record| record.began);
    let mut by_end: Vec<&Record> = records.iter().collect();
    by_end.sort_by_key(|record| record.ended);
    let mut ended = by_end.into_iter().peekable();
    let mut newest = 0;
    for record in &records {
        while let Some(earlier) = ended.next_if(|earlier| earlier.ended < record.began) {
            newest = newest.max(earlier.sum);
        }
        let fine = if record.added { record.sum > newest } else { record.sum >= newest };
        assert!(fine, "{newest} was returned before {} of counter {}", record.sum, record.counter);
    }
    let mut sums: Vec<u64> = records.iter().filter(|record| record.added).map(|record| record.sum).collect();
    sums.sort_unstable();
    assert_eq!(sums, (1..=sums.len() as u64).collect::<Vec<_>>(), "an addition was lost or repeated");
}

#[test]
fn counters_are_linearizable_without_versions() {
    let forest = forest(tiny(128), ARENA, false);
    let root = forest.create_tree().unwrap();
    let first_seed = seed_or(1);
    let mut records = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let forest = &forest;
                let mut rng = StdRng::seed_from_u64(first_seed * 100 + thread);
                scope.spawn(move || {
                    let mut records = Vec::new();
                    for _ in 0..STEPS {
                        disturb(forest, root, &mut rng);
                        records.push(step(forest, root, &mut rng));
                    }
                    records
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    for counter in 0..COUNTERS {
        check(records.extract_if(.., |record| record.counter == counter).collect());
    }
    let verified = forest.verify(&[root]).unwrap();
    assert!(verified.leaves > 3, "{verified:?}");
    let statistics = forest.statistics();
    let joins = statistics.leaf_merges + statistics.compactions;
    assert!(statistics.leaf_splits > 0 && joins > 0, "{statistics:?}");
}

//! Random operations on tiny nodes, each compared with a `BTreeMap`, with a verification at intervals.
#![allow(missing_docs)]

use std::ops::Bound;

use honeycomb_btree::{BatchOperation, BatchOutcome, Forest, Operation, Outcome, Root, Scan, Shape};
use honeycomb_memory::Lease;
use honeycomb_testing::index::{
    AddToBytes, Keys, MIB, Model, apply, borrow, everything, expected_scan, forest, key, pick, scan, tiny,
    value_for,
};
use honeycomb_testing::seed_or;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// A version under a lease, and the contents of the tree at that version.
struct Kept {
    lease: Lease,
    version: u64,
    model: Model,
}

struct ModelTest {
    forest: Forest,
    root: Root,
    model: Model,
    rng: StdRng,
    keys: Keys,
    key_count: u64,
    kept: Vec<Kept>,
}

impl ModelTest {
    fn new(shape: Shape, mvcc: bool, keys: Keys, key_count: u64, seed: u64) -> Self {
        let forest = forest(shape, 256 * MIB, mvcc);
        let root = forest.create_tree().unwrap();
        let rng = StdRng::seed_from_u64(seed);
        Self { forest, root, model: Model::new(), rng, keys, key_count, kept: Vec::new() }
    }

    fn key(&mut self) -> Vec<u8> {
        let number = self.rng.random_range(0..self.key_count);
        key(self.keys, number, self.forest.shape().key_bytes_max())
    }

    fn value(&mut self) -> Vec<u8> {
        value_for(self.keys, &mut self.rng, self.forest.shape().inline_value_bytes_max())
    }

    fn bound(&mut self) -> Bound<Vec<u8>> {
        match self.rng.random_range(0..5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(self.key()),
            _ => Bound::Excluded(self.key()),
        }
    }

    fn step(&mut self) {
        match self.rng.random_range(0..10_000) {
            0..6000 => self.write(),
            6000..7500 => self.get(),
            7500..9500 => self.scan(),
            9500..9750 => self.with_batch(Self::batch),
            9750..9960 => self.with_batch(Self::each),
            9960..9970 => self.compact(),
            9970..9985 => self.delete_range(),
            9985..9991 => self.keep(),
            9991 => self.reload(),
            _ => self.check_kept(),
        }
    }

    fn with_operation<T>(&mut self, run: impl FnOnce(&mut Self, &[u8], Operation<'_>) -> T) -> T {
        let (key, value) = (self.key(), self.value());
        let current = self.model.get(&key).cloned().unwrap_or_default();
        let version = self.forest.reader().get(self.root, &key).map_or(0, |found| found.version);
        let wrong = self.rng.random_bool(0.3);
        let operation = match self.rng.random_range(0..100) {
            0..30 => Operation::Put(&value),
            30..50 => Operation::Insert(&value),
            50..62 => Operation::Update(&value),
            62..82 => Operation::Delete,
            82..86 => Operation::CompareAndDelete { expected: if wrong { b"wrong" } else { &current } },
            86..91 => {
                Operation::CompareAndSwap { expected: if wrong { b"wrong" } else { &current }, value: &value }
            }
            91..95 if self.forest.mvcc() => {
                Operation::CompareVersionAndSwap { version: version + u64::from(wrong), value: &value }
            }
            95..98 => Operation::Add(self.rng.random_range(-3..10)),
            _ => Operation::Function(&AddToBytes),
        };
        run(self, &key, operation)
    }

    fn write(&mut self) {
        self.with_operation(|run, key, operation| {
            let version = run.forest.reader().get(run.root, key).map(|found| found.version);
            let outcome = run.forest.write(run.root, key, operation).unwrap();
            assert_eq!(outcome, apply(&mut run.model, key, operation, version), "{operation:?} of {key:?}");
        });
    }

    fn get(&mut self) {
        let key = self.key();
        let reader = self.forest.reader();
        let found = reader.get(self.root, &key).map(|found| found.value);
        assert_eq!(found, self.model.get(&key).map(Vec::as_slice), "get {key:?}");
    }

    fn scan(&mut self) {
        let (lower, upper) = (self.bound(), self.bound());
        let request = Scan {
            lower: borrow(&lower),
            upper: borrow(&upper),
            floor_start: self.rng.random_bool(0.4),
            backward: self.rng.random_bool(0.4),
            keys_only: self.rng.random_bool(0.2),
            limit: *pick(&mut self.rng, &[0, 1, 3, 4, 10, 100]),
        };
        let found = scan(&self.forest.reader(), self.root, &request);
        assert_eq!(found, expected_scan(&self.model, &request), "{request:?}");
    }

    fn with_batch(&mut self, run: fn(&mut Self, &[BatchOperation<'_>])) {
        let mut owned = Vec::new();
        let most = *pick(&mut self.rng, &[4, 12, 40]);
        for _ in 0..self.rng.random_range(1..most) {
            let value = self.value();
            owned.push((self.key(), value, self.rng.random_range(0..11)));
        }
        let operation = |value, choice| match choice {
            0..5 => Operation::Put(value),
            5..8 => Operation::Delete,
            8 => Operation::Insert(value),
            9 => Operation::Function(&AddToBytes),
            _ => Operation::Add(7),
        };
        let root = self.root;
        let batch: Vec<BatchOperation<'_>> = owned
            .iter()
            .map(|(key, value, choice)| BatchOperation { root, key, operation: operation(value, *choice) })
            .collect();
        run(self, &batch);
    }

    fn each(&mut self, batch: &[BatchOperation<'_>]) {
        let mut outcomes = Vec::new();
        self.forest.write_each(batch, |index, outcome| outcomes.push((index, outcome.unwrap())));
        let apply = |(index, one): (usize, &BatchOperation<'_>)| {
            (index, apply(&mut self.model, one.key, one.operation, None))
        };
        assert_eq!(outcomes, Vec::from_iter(batch.iter().enumerate().map(apply)));
    }

    fn batch(&mut self, batch: &[BatchOperation<'_>]) {
        let (expected, model) = model_batch(&self.model, batch);
        match self.forest.apply(batch).unwrap() {
            BatchOutcome::Applied { outcomes, .. } => assert_eq!(Ok(outcomes), expected),
            BatchOutcome::Rejected { outcome, .. } => assert_eq!(Err(outcome), expected),
        }
        self.model = model;
    }

    fn delete_range(&mut self) {
        let (lower, upper) = if self.rng.random_bool(0.9) {
            let low = self.key();
            let above = self.model.range(low.clone()..).nth(self.rng.random_range(0..200));
            let high = above.map_or_else(|| low.clone(), |(key, _)| key.clone());
            (Bound::Included(low), Bound::Excluded(high))
        } else {
            (self.bound(), self.bound())
        };
        let doomed = Scan { lower: borrow(&lower), upper: borrow(&upper), ..Scan::default() };
        let doomed = expected_scan(&self.model, &doomed);
        let count = self.forest.delete_range(self.root, borrow(&lower), borrow(&upper)).unwrap();
        assert_eq!(count, doomed.len() as u64, "delete from {lower:?} to {upper:?}");
        for (key, _) in doomed {
            self.model.remove(&key);
        }
    }

    /// Loads the contents again, into the same tree, in parts or as a whole.
    fn reload(&mut self) {
        let everything = (Bound::Unbounded, Bound::Unbounded);
        let deleted = self.forest.delete_range(self.root, everything.0, everything.1).unwrap();
        assert_eq!(deleted, self.model.len() as u64);
        let fill_percent = self.rng.random_range(10..=100);
        let part_pairs = *pick(&mut self.rng, &[7, 100, usize::MAX]);
        let mut loader = self.forest.loader(self.root, fill_percent).unwrap();
        let pairs = Vec::from_iter(&self.model);
        for (number, pairs) in pairs.chunks(part_pairs).enumerate() {
            let low = if number == 0 { &[][..] } else { pairs[0].0 };
            let mut part = self.forest.loader_part(low, fill_percent).unwrap();
            pairs.iter().for_each(|(key, value)| part.push(key, value).unwrap());
            loader.append(part).unwrap();
        }
        assert_eq!(loader.finish().unwrap(), deleted);
    }

    /// Runs a part of a compaction pass from a random position.
    fn compact(&mut self) {
        let mut position = self.key();
        let leaves = *pick(&mut self.rng, &[1, 3, 20]);
        let compacted = self.forest.compact(self.root, &mut position, leaves).unwrap();
        assert!(compacted.leaves >= leaves || compacted.is_done);
    }

    fn keep(&mut self) {
        if self.forest.mvcc() && self.kept.len() < 8 {
            let lease = self.forest.memory().lease().unwrap();
            let version = self.forest.read_version();
            self.kept.push(Kept { lease, version, model: self.model.clone() });
        }
    }

    fn check_kept(&mut self) {
        let Some(index) = self.kept.len().checked_sub(1).map(|last| self.rng.random_range(0..=last)) else {
            return;
        };
        let kept = self.kept.swap_remove(index);
        let used = kept.lease.enter().unwrap();
        let reader = self.forest.reader_at(&used, kept.version);
        let backward = self.rng.random_bool(0.5);
        let request = Scan { backward, ..Scan::default() };
        assert_eq!(scan(&reader, self.root, &request), expected_scan(&kept.model, &request));
        for (key, value) in kept.model.iter().step_by(7) {
            assert_eq!(reader.get(self.root, key).unwrap().value, value);
        }
    }

    fn verify(&mut self) {
        let found = self.forest.verify(&[self.root]).unwrap();
        assert_eq!(found.pairs, self.model.len() as u64);
    }

    fn run(mut self, steps: u64) {
        for step in 0..steps {
            self.step();
            if step % VERIFY_STEPS == 0 {
                self.verify();
                assert_eq!(everything(&self.forest.reader(), self.root), Vec::from_iter(self.model.clone()));
            }
        }
        self.verify();
        self.empty_out();
    }

    /// Removes the tree and checks that all memory was freed.
    fn empty_out(mut self) {
        while !self.kept.is_empty() {
            self.check_kept();
        }
        self.forest.drop_tree(self.root).unwrap();
        self.forest.memory().reclaim();
        self.forest.verify(&[]).unwrap();
        let accounting = self.forest.memory().accounting();
        assert_eq!((accounting.live_nodes, accounting.retired_nodes), (0, 0));
        println!("{:?}", self.forest.statistics());
    }
}

/// Returns the outcomes of a batch on a model, or the outcome that rejects it, and the model after it. The
/// execution in key order affects only the choice of the rejection.
fn model_batch(model: &Model, batch: &[BatchOperation<'_>]) -> (Result<Vec<Outcome>, Outcome>, Model) {
    let mut after = model.clone();
    let mut outcomes = vec![Outcome::Absent; batch.len()];
    let mut order: Vec<usize> = (0..batch.len()).collect();
    order.sort_by_key(|&index| batch[index].key);
    for index in order {
        let BatchOperation { key, operation, .. } = &batch[index];
        let outcome = apply(&mut after, key, *operation, None);
        if !outcome.wrote() && !matches!(operation, Operation::Delete) {
            return (Err(outcome), model.clone());
        }
        outcomes[index] = outcome;
    }
    (Ok(outcomes), after)
}

/// Steps of each run. Twenty runs execute ten million steps.
const STEPS: u64 = 500_000;
/// Steps between two verifications.
const VERIFY_STEPS: u64 = 8_192;

fn run(shape: Shape, mvcc: bool, keys: Keys, key_count: u64, default_seed: u64) {
    ModelTest::new(shape, mvcc, keys, key_count, seed_or(default_seed)).run(STEPS);
}

#[test]
fn random_keys_in_tiny_nodes() {
    run(tiny(128), true, Keys::Random, 2_000, 1);
}

#[test]
fn random_keys_in_tiny_nodes_with_another_seed() {
    run(tiny(256), true, Keys::Random, 600, 2);
}

#[test]
fn keys_of_any_length_in_tiny_nodes() {
    run(tiny(200), true, Keys::AnyLength, 1_500, 3);
}

#[test]
fn keys_of_any_length_up_to_460_bytes() {
    let shape = Shape { node_bytes: 4096, ..Shape::default() };
    assert_eq!(shape.key_bytes_max(), 460);
    run(shape, true, Keys::AnyLength, 1_500, 4);
}

#[test]
fn paths_share_prefixes() {
    run(tiny(160), true, Keys::Paths, 1_500, 5);
}

#[test]
fn keys_with_equal_heads() {
    run(tiny(128), true, Keys::EqualHeads, 4_000, 6);
}

#[test]
fn keys_shorter_than_a_head() {
    run(tiny(128), true, Keys::Short, 3_000, 15);
}

/// The longest keys of tiny nodes, which have few of them, and those of a default store.
#[test]
fn the_longest_keys_with_common_prefixes() {
    run(tiny(128), true, Keys::LongPrefix, 1_000, 16);
    let shape = Shape { node_bytes: 4096, ..Shape::default() };
    assert_eq!(shape.key_bytes_max(), 460);
    run(shape, true, Keys::LongPrefix, 1_500, 17);
}

#[test]
fn keys_that_differ_only_by_zeros_at_their_end() {
    run(tiny(128), true, Keys::TrailingZeros, 3_000, 18);
}

/// Most leaves have a stride, lose it with a longer key or value, and have it again when that is deleted.
#[test]
fn lengths_that_are_uniform_most_of_the_time() {
    run(tiny(128), true, Keys::MostlyUniform, 2_000, 19);
    run(Shape::default(), true, Keys::MostlyUniform, 6_000, 20);
}

#[test]
fn counting_keys_without_a_log() {
    run(tiny(0), true, Keys::Counting, 1_500, 7);
}

#[test]
fn the_default_shape() {
    run(Shape::default(), true, Keys::Random, 6_000, 8);
}

#[test]
fn short_logs_in_tiny_nodes() {
    let shape = tiny(128);
    run(shape, true, Keys::Random, 2_000, 11);
    run(shape, true, Keys::AnyLength, 1_500, 12);
}

#[test]
fn paths_in_tiny_nodes_with_longer_logs() {
    run(tiny(160), true, Keys::Paths, 1_500, 13);
}

#[test]
fn the_default_shape_with_another_seed() {
    run(Shape::default(), true, Keys::Random, 6_000, 14);
}

#[test]
fn without_mvcc() {
    run(tiny(128), false, Keys::Random, 2_000, 9);
}

#[test]
fn version_delta_overflow_forces_consolidation() {
    let shape = Shape { version_delta_max: 1100, ..tiny(512) };
    run(shape, true, Keys::Paths, 800, 10);
}

#[test]
fn large_nodes_and_large_values() {
    let shape = Shape { node_bytes: 16_384, log_threshold_bytes: 4096, ..Shape::default() };
    let forest = forest(shape, 256 * MIB, true);
    let root = forest.create_tree().unwrap();
    let sizes = [0, 1, 469, 470, 471, 511, 512, 513, 8191, 8192, 8193, MIB, 16 * MIB - 1, 16 * MIB];
    for round in 0..3_u8 {
        for (number, &size) in sizes.iter().enumerate() {
            let value = vec![round ^ number as u8; size];
            forest.write(root, &[number as u8], Operation::Put(&value)).unwrap();
            assert_eq!(forest.reader().get(root, &[number as u8]).unwrap().value, value);
        }
        assert_eq!(forest.verify(&[root]).unwrap().pairs, sizes.len() as u64);
    }
    let too_long = vec![0; 16 * MIB + 1];
    let error = forest.write(root, b"k", Operation::Put(&too_long)).unwrap_err();
    assert_eq!(error.to_string(), "value of 16777217 bytes: a value has at most 16777216 bytes");
}

#[test]
fn keys_at_below_and_above_their_limits() {
    let forest = forest(Shape::default(), 16 * MIB, true);
    let root = forest.create_tree().unwrap();
    for length in [1, 459, 460] {
        assert_eq!(forest.write(root, &vec![7; length], Operation::Put(b"v")).unwrap(), Outcome::Inserted);
    }
    for length in [0, 461] {
        let error = forest.write(root, &vec![7; length], Operation::Put(b"v")).unwrap_err();
        assert_eq!(error.to_string(), format!("key of {length} bytes: a key has 1 to 460 bytes"));
    }
    assert_eq!(everything(&forest.reader(), root).len(), 3);
}

//! Batches with conditions on ranges and with range deletions.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::ops::Bound::{self, Excluded, Included, Unbounded};

use honeycomb_btree::{
    BatchEntry, BatchOperation, BatchOutcome, Error, Forest, Operation, Outcome, Root, Scan, Shape, TreeRange,
};
use honeycomb_testing::index::{
    Keys, MIB, Model, apply, borrow, everything, expected_scan, forest, is_inverted, key, pick, tiny, value,
};
use honeycomb_testing::seed_or;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

fn unchanged<'a>(root: Root, (lower, upper): Bounds<'a>, since: u64) -> BatchEntry<'a> {
    BatchEntry::Unchanged { range: TreeRange { root, lower, upper }, since }
}

fn write<'a>(root: Root, key: &'a [u8], operation: Operation<'a>) -> BatchEntry<'a> {
    BatchEntry::Write(BatchOperation { root, key, operation })
}

fn is_unchanged(forest: &Forest, root: Root, range: Bounds<'_>, since: u64) -> bool {
    match forest.apply_entries(&[unchanged(root, range, since)]).unwrap() {
        BatchOutcome::Applied { version, outcomes } => {
            assert_eq!((version, outcomes), (0, vec![Outcome::Unchanged]));
            true
        }
        BatchOutcome::Rejected { index, outcome } => {
            let Outcome::Changed { version } = outcome else { panic!("{outcome:?}") };
            assert!(index == 0 && since < version && version <= forest.read_version());
            false
        }
    }
}

fn between<'a>(lower: &'a [u8], upper: &'a [u8]) -> Bounds<'a> {
    (Included(lower), Excluded(upper))
}

#[test]
fn a_condition_detects_every_kind_of_write() {
    let forest = forest(Shape::default(), 16 * MIB, true);
    let root = forest.create_tree().unwrap();
    let put = |key: &[u8], value: &[u8]| forest.write(root, key, Operation::Put(value)).unwrap();
    put(b"b", b"1");
    put(b"d", b"1");
    let writes: [(&[u8], Operation<'_>); 5] = [
        (b"c", Operation::Insert(b"phantom")),
        (b"b", Operation::Update(b"2")),
        (b"c", Operation::Delete),
        (b"b", Operation::Update(&[7; 1000])),
        (b"b", Operation::Delete),
    ];
    for (key, operation) in writes {
        let since = forest.read_version();
        assert!(is_unchanged(&forest, root, between(b"b", b"d"), since));
        assert!(forest.write(root, key, operation).unwrap().wrote());
        assert!(!is_unchanged(&forest, root, between(b"b", b"d"), since), "{operation:?}");
        assert!(!is_unchanged(&forest, root, (Unbounded, Unbounded), since));
        assert!(is_unchanged(&forest, root, between(b"b", b"d"), forest.read_version()));
    }
    let since = forest.read_version();
    forest.delete_range(root, Unbounded, Unbounded).unwrap();
    assert!(!is_unchanged(&forest, root, between(b"b", b"e"), since));
}

#[test]
fn writes_outside_the_range_do_not_count() {
    let forest = forest(Shape::default(), 16 * MIB, true);
    let root = forest.create_tree().unwrap();
    let since = forest.read_version();
    for key in [b"a", b"d"] {
        forest.write(root, key, Operation::Put(b"")).unwrap();
    }
    assert!(is_unchanged(&forest, root, between(b"b", b"d"), since));
    assert!(is_unchanged(&forest, root, (Excluded(b"a"), Excluded(b"d")), since));
    assert!(!is_unchanged(&forest, root, (Included(b"a"), Excluded(b"d")), since));
    assert!(!is_unchanged(&forest, root, (Excluded(b"a"), Included(b"d")), since));
    // No key can be in these ranges.
    for bounds in [between(b"d", b"a"), (Excluded(b"d"), Included(b"d")), (Excluded(b"a"), Excluded(b"a"))] {
        assert!(is_unchanged(&forest, root, bounds, 0));
    }
    // Deletions of absent keys and rejected writes change nothing.
    assert_eq!(forest.write(root, b"b", Operation::Delete).unwrap(), Outcome::Absent);
    assert_eq!(forest.write(root, b"b", Operation::Update(b"")).unwrap(), Outcome::Absent);
    assert!(is_unchanged(&forest, root, between(b"b", b"d"), since));
}

#[test]
fn a_failed_condition_rejects_the_whole_batch() {
    let forest = forest(Shape::default(), 16 * MIB, true);
    let root = forest.create_tree().unwrap();
    let since = forest.read_version();
    let batch = [
        write(root, b"a", Operation::Put(b"1")),
        unchanged(root, between(b"b", b"c"), since),
        write(root, b"bb", Operation::Put(b"2")),
    ];
    // Writes of the batch itself do not count.
    let BatchOutcome::Applied { version, outcomes } = forest.apply_entries(&batch).unwrap() else { panic!() };
    assert_eq!(outcomes, [Outcome::Inserted, Outcome::Unchanged, Outcome::Inserted]);
    assert_eq!(version, forest.read_version());
    let rejected = BatchOutcome::Rejected { index: 1, outcome: Outcome::Changed { version } };
    assert_eq!(forest.apply_entries(&batch).unwrap(), rejected);
    assert_eq!(forest.read_version(), version);
}

#[test]
fn conditions_need_versions() {
    let forest = forest(Shape::default(), 16 * MIB, false);
    let root = forest.create_tree().unwrap();
    let batch = [write(root, b"a", Operation::Put(b"1")), unchanged(root, (Unbounded, Unbounded), 0)];
    let error = forest.apply_entries(&batch).unwrap_err();
    assert!(matches!(error, Error::NoVersions), "{error}");
    assert!(everything(&forest.reader(), root).is_empty());
    let deletion = BatchEntry::DeleteRange(TreeRange { root, lower: Unbounded, upper: Unbounded });
    let outcome = forest.apply_entries(&[batch[0], deletion]).unwrap();
    let outcomes = vec![Outcome::Inserted, Outcome::RangeDeleted { pairs: 1 }];
    assert_eq!(outcome, BatchOutcome::Applied { version: 0, outcomes });
}

#[test]
fn range_deletions_see_earlier_entries() {
    let forest = forest(Shape::default(), 16 * MIB, true);
    let root = forest.create_tree().unwrap();
    forest.write(root, b"b", Operation::Put(&[1; 1000])).unwrap();
    let version = forest.reader().get(root, b"b").unwrap().version;
    let swap = Operation::CompareVersionAndSwap { version, value: b"swapped" };
    let deletion = BatchEntry::DeleteRange(TreeRange { root, lower: Included(b"b"), upper: Excluded(b"d") });
    let batch = [
        write(root, b"c", Operation::Insert(&[2; 1000])),
        write(root, b"b", swap),
        deletion,
        write(root, b"c", Operation::Insert(b"after")),
        deletion,
        write(root, b"c", Operation::Insert(b"last")),
    ];
    let BatchOutcome::Applied { outcomes, .. } = forest.apply_entries(&batch).unwrap() else { panic!() };
    let (inserted, removed) = (Outcome::Inserted, |pairs| Outcome::RangeDeleted { pairs });
    assert_eq!(
        outcomes,
        [inserted.clone(), Outcome::Updated, removed(2), inserted.clone(), removed(1), inserted]
    );
    assert_eq!(everything(&forest.reader(), root), [(b"c".to_vec(), b"last".to_vec())]);
    // The batch has deleted the pair that the swap expects.
    let version = forest.reader().get(root, b"c").unwrap().version;
    let swap = Operation::CompareVersionAndSwap { version, value: b"swapped" };
    let rejected = BatchOutcome::Rejected { index: 1, outcome: Outcome::Absent };
    assert_eq!(forest.apply_entries(&[deletion, write(root, b"c", swap)]).unwrap(), rejected);
    assert_eq!(everything(&forest.reader(), root).len(), 1);
}

/// Random batches in tiny nodes, compared with a map and with the version of the last write of each key.
struct BatchTest {
    forest: Forest,
    root: Root,
    keys: Keys,
    rng: StdRng,
    model: Model,
    written: BTreeMap<Vec<u8>, u64>,
    /// Versions that were visible.
    versions: Vec<u64>,
    applied: u64,
    rejected: u64,
    /// Rejected batches although no pair of a range had changed.
    unnecessary: u64,
}

impl BatchTest {
    fn new(shape: Shape, keys: Keys, seed: u64) -> Self {
        let forest = forest(shape, 256 * MIB, true);
        let root = forest.create_tree().unwrap();
        let (rng, versions) = (StdRng::seed_from_u64(seed), vec![forest.read_version()]);
        let (model, written) = (Model::new(), BTreeMap::new());
        Self { forest, root, keys, rng, model, written, versions, applied: 0, rejected: 0, unnecessary: 0 }
    }

    fn key(&mut self) -> Vec<u8> {
        let number = self.rng.random_range(0..1500);
        key(self.keys, number, self.forest.shape().key_bytes_max())
    }

    /// Returns a random range, usually a short one.
    fn range(&mut self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let low = self.key();
        if self.rng.random_bool(0.05) {
            let bounds = [Unbounded, Included(low), Excluded(self.key())];
            return (pick(&mut self.rng, &bounds).clone(), pick(&mut self.rng, &bounds).clone());
        }
        let above = self.written.range(low.clone()..).nth(self.rng.random_range(0..40));
        let high = above.map_or_else(|| low.clone(), |(key, _)| key.clone());
        let upper = if self.rng.random_bool(0.5) { Included(high) } else { Excluded(high) };
        (if self.rng.random_bool(0.5) { Included(low) } else { Excluded(low) }, upper)
    }

    /// Returns a random visible version, usually a recent one.
    fn since(&mut self) -> u64 {
        let back = *pick(&mut self.rng, &[1, 1, 2, 3, 5, 10, 30, 300]);
        self.versions[self.versions.len().saturating_sub(back)]
    }

    fn step(&mut self) {
        let root = self.root;
        let entries: Vec<_> = (0..self.rng.random_range(1..6)).map(|_| self.entry()).collect();
        let batch: Vec<BatchEntry<'_>> = entries.iter().map(|entry| entry.borrow(root)).collect();
        let (outcomes, model) = self.expected(&batch);
        match self.forest.apply_entries(&batch).unwrap() {
            BatchOutcome::Applied { version, outcomes: returned } => {
                assert_eq!(Ok(&returned), outcomes.as_ref());
                self.applied += 1;
                self.note(batch.iter().zip(&returned), version, model);
            }
            BatchOutcome::Rejected { index, outcome: Outcome::Changed { version } } => {
                let BatchEntry::Unchanged { range, since } = batch[index] else {
                    panic!("{:?}", batch[index])
                };
                assert!(version > since && since < self.forest.read_version());
                self.rejected += 1;
                self.unnecessary += u64::from(self.newest_in(range) <= since);
            }
            BatchOutcome::Rejected { index, outcome } => {
                assert!(outcomes.is_err(), "{index} {outcome:?}");
            }
        }
    }

    fn entry(&mut self) -> OwnedEntry {
        let value = value(&mut self.rng, self.forest.shape().inline_value_bytes_max());
        match self.rng.random_range(0..100) {
            0..25 => OwnedEntry::Unchanged(self.range(), self.since()),
            25..30 => OwnedEntry::DeleteRange(self.range()),
            30..60 => OwnedEntry::Put(self.key(), value),
            60..65 => OwnedEntry::Insert(self.key(), value),
            _ => OwnedEntry::Delete(self.key()),
        }
    }

    fn newest_in(&self, TreeRange { lower, upper, .. }: TreeRange<'_>) -> u64 {
        let (from, to) = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        if is_inverted(&from, &to) {
            return 0;
        }
        self.written.range((from, to)).map(|(_, &version)| version).max().unwrap_or(0)
    }

    /// Returns the outcomes of a batch that is not rejected unnecessarily, and the model after it.
    fn expected(&self, batch: &[BatchEntry<'_>]) -> (Result<Vec<Outcome>, Outcome>, Model) {
        let mut after = self.model.clone();
        let mut outcomes = Vec::new();
        let changed = |entry: &&BatchEntry<'_>| match entry {
            BatchEntry::Unchanged { range, since } => self.newest_in(*range) > *since,
            _ => false,
        };
        if batch.iter().any(|entry| changed(&entry)) {
            return (Err(Outcome::Changed { version: 0 }), after);
        }
        for entry in batch {
            outcomes.push(match *entry {
                BatchEntry::Unchanged { .. } => Outcome::Unchanged,
                BatchEntry::DeleteRange(TreeRange { lower, upper, .. }) => {
                    let doomed = expected_scan(&after, &Scan { lower, upper, ..Scan::default() });
                    doomed.iter().for_each(|(key, _)| drop(after.remove(key)));
                    Outcome::RangeDeleted { pairs: doomed.len() as u64 }
                }
                BatchEntry::Write(BatchOperation { key, operation, .. }) => {
                    let outcome = apply(&mut after, key, operation, None);
                    if outcome == Outcome::Exists {
                        return (Err(outcome), self.model.clone());
                    }
                    outcome
                }
            });
        }
        (Ok(outcomes), after)
    }

    fn note<'b>(
        &mut self,
        batch: impl Iterator<Item = (&'b BatchEntry<'b>, &'b Outcome)>,
        version: u64,
        model: Model,
    ) {
        for (entry, _) in batch.filter(|(_, outcome)| outcome.wrote()) {
            match *entry {
                BatchEntry::Write(BatchOperation { key, .. }) => {
                    self.written.insert(key.to_vec(), version);
                }
                BatchEntry::DeleteRange(TreeRange { lower, upper, .. }) => {
                    let doomed = expected_scan(&self.model, &Scan { lower, upper, ..Scan::default() });
                    self.written.extend(doomed.into_iter().map(|(key, _)| (key, version)));
                }
                BatchEntry::Unchanged { .. } => {}
            }
        }
        self.model = model;
        self.versions.push(self.forest.read_version());
    }

    fn run(mut self, steps: usize) {
        for step in 0..steps {
            self.step();
            if step % 1000 == 0 {
                assert_eq!(everything(&self.forest.reader(), self.root), Vec::from_iter(self.model.clone()));
                self.forest.verify(&[self.root]).unwrap();
            }
        }
        println!("{} applied, {} rejected, {} unnecessary", self.applied, self.rejected, self.unnecessary);
        assert!(self.applied > steps as u64 / 2 && self.rejected > steps as u64 / 100);
        // Tiny leaves are rebuilt every few writes.
        assert!(self.unnecessary < self.rejected * 3 / 4);
        self.forest.drop_tree(self.root).unwrap();
        self.forest.memory().reclaim();
        self.forest.verify(&[]).unwrap();
    }
}

/// A [`BatchEntry`] in owned memory.
enum OwnedEntry {
    Unchanged((Bound<Vec<u8>>, Bound<Vec<u8>>), u64),
    DeleteRange((Bound<Vec<u8>>, Bound<Vec<u8>>)),
    Put(Vec<u8>, Vec<u8>),
    Insert(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
}

impl OwnedEntry {
    fn borrow(&self, root: Root) -> BatchEntry<'_> {
        match self {
            Self::Unchanged((lower, upper), since) => unchanged(root, (borrow(lower), borrow(upper)), *since),
            Self::DeleteRange((lower, upper)) => {
                BatchEntry::DeleteRange(TreeRange { root, lower: borrow(lower), upper: borrow(upper) })
            }
            Self::Put(key, value) => write(root, key, Operation::Put(value)),
            Self::Insert(key, value) => write(root, key, Operation::Insert(value)),
            Self::Delete(key) => write(root, key, Operation::Delete),
        }
    }
}

#[test]
fn random_batches_in_tiny_nodes() {
    BatchTest::new(tiny(128), Keys::Random, seed_or(1)).run(8_000);
    BatchTest::new(tiny(256), Keys::AnyLength, seed_or(2)).run(8_000);
}

#[test]
fn random_batches_of_paths() {
    BatchTest::new(tiny(160), Keys::Paths, seed_or(3)).run(8_000);
    BatchTest::new(Shape::default(), Keys::EqualHeads, seed_or(4)).run(8_000);
}

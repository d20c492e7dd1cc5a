//! Checks concurrent histories: each result matches the state at its version, and versions respect real time.
//!
//! Threads execute random operations on few keys in tiny nodes, so that consolidations, splits, merges, range
//! deletions and compaction race with all other operations. Readers pause at times, so that the tree changes
//! between their steps. Large batches take long, so that later versions wait for their release. Memory is
//! reclaimed as soon as possible. Each thread records its operations, their outcomes, their versions, and
//! their start and end times. Afterwards the test checks:
//! 1. The writes, replayed in version order, have the recorded outcomes.
//! 2. Each get and each scan returns exactly the state at its read version.
//! 3. An operation that started after the end of another one has a version that is not older; a write has a
//!    newer one.
//! 4. A rejected operation is correct at some version that was current during its execution.
//!
//! `HONEYCOMB_SOAK_SECONDS=3600` runs rounds of it for an hour.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use honeycomb_btree::{BatchOperation, BatchOutcome, Forest, Operation, Outcome, Root, Scan};
use honeycomb_testing::index::{
    AddToBytes, Keys, MIB, Model, Pairs, apply, expected_scan, forest, key, tiny,
};
use honeycomb_testing::soak;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

#[derive(Debug, Clone)]
enum Event {
    /// A write or a batch of writes, at one version.
    Wrote(Vec<(Vec<u8>, Write, Outcome)>),
    DeletedRange {
        lower: Vec<u8>,
        upper: Vec<u8>,
        count: u64,
    },
    /// A write that was rejected because of the existing pair.
    Rejected {
        key: Vec<u8>,
        write: Write,
        outcome: Outcome,
    },
    NothingInRange {
        lower: Vec<u8>,
        upper: Vec<u8>,
    },
    Got {
        key: Vec<u8>,
        value: Option<Vec<u8>>,
    },
    Scanned {
        lower: Vec<u8>,
        upper: Vec<u8>,
        backward: bool,
        floor_start: bool,
        limit: usize,
        pairs: Pairs,
    },
}

#[derive(Debug, Clone)]
enum Write {
    Put(Vec<u8>),
    Insert(Vec<u8>),
    Update(Vec<u8>),
    Delete,
    Swap { expected: Vec<u8>, value: Vec<u8> },
    Add(i64),
    Function,
}

impl Write {
    fn operation(&self) -> Operation<'_> {
        match self {
            Self::Put(value) => Operation::Put(value),
            Self::Insert(value) => Operation::Insert(value),
            Self::Update(value) => Operation::Update(value),
            Self::Delete => Operation::Delete,
            Self::Swap { expected, value } => Operation::CompareAndSwap { expected, value },
            Self::Add(delta) => Operation::Add(*delta),
            Self::Function => Operation::Function(&AddToBytes),
        }
    }
}

#[derive(Debug)]
struct Record {
    began: Instant,
    ended: Instant,
    /// The read versions before the start and after the end of a rejected operation.
    versions: (u64, u64),
    event: Event,
}

struct Worker<'a> {
    forest: &'a Forest,
    root: Root,
    rng: StdRng,
    round: &'a Round,
    number: u64,
    records: Vec<Record>,
}

impl Worker<'_> {
    fn key(&mut self) -> Vec<u8> {
        let number = self.rng.random_range(0..self.round.key_count);
        key(self.round.keys, number, self.forest.shape().key_bytes_max())
    }

    /// Returns a unique value, sometimes an overflow value.
    fn value(&mut self) -> Vec<u8> {
        self.number += 1;
        let mut value = self.number.to_le_bytes().to_vec();
        if self.rng.random_bool(0.05) {
            value.resize(self.forest.shape().inline_value_bytes_max() + 9, 7);
        }
        value
    }

    fn write(&mut self) -> Write {
        match self.rng.random_range(0..100) {
            0..35 => Write::Put(self.value()),
            35..50 => Write::Insert(self.value()),
            50..60 => Write::Update(self.value()),
            60..88 => Write::Delete,
            88..93 => {
                let key = self.key();
                let expected = self.forest.reader().get(self.root, &key).map(|found| found.value.to_vec());
                Write::Swap { expected: expected.unwrap_or_default(), value: self.value() }
            }
            93..97 => Write::Function,
            _ => Write::Add(1),
        }
    }

    fn step(&mut self) {
        let began = Instant::now();
        let before = self.forest.read_version();
        let (event, version) = match self.rng.random_range(0..1000) {
            0..550 => self.write_one(),
            550..570 => self.batch(),
            570..573 => self.delete_range(),
            573..780 => self.get(),
            _ => self.scan(),
        };
        let versions =
            version.map_or_else(|| (before, self.forest.read_version()), |version| (version, version));
        let ended = Instant::now();
        self.records.push(Record { began, ended, versions, event });
        if self.rng.random_bool(0.02) {
            self.forest.memory().reclaim();
        }
        if self.rng.random_bool(0.02) {
            let mut position = self.key();
            self.forest.compact(self.root, &mut position, 4).unwrap();
        }
    }

    fn write_one(&mut self) -> (Event, Option<u64>) {
        let (key, write) = (self.key(), self.write());
        let (outcome, version) = self.forest.write_versioned(self.root, &key, write.operation()).unwrap();
        if outcome.wrote() {
            return (Event::Wrote(vec![(key, write, outcome)]), Some(version));
        }
        (Event::Rejected { key, write, outcome }, None)
    }

    fn batch(&mut self) -> (Event, Option<u64>) {
        let most = if self.rng.random_bool(0.2) { self.round.batch_max } else { 8 };
        let count = self.rng.random_range(2..most);
        let mut writes: BTreeMap<Vec<u8>, Write> = BTreeMap::new();
        for _ in 0..count {
            let write = if self.rng.random_bool(0.6) { Write::Put(self.value()) } else { Write::Delete };
            writes.insert(self.key(), write);
        }
        let root = self.root;
        let batch: Vec<BatchOperation<'_>> = writes
            .iter()
            .map(|(key, write)| BatchOperation { root, key, operation: write.operation() })
            .collect();
        let BatchOutcome::Applied { version, outcomes } = self.forest.apply(&batch).unwrap() else {
            panic!("puts and deletes are never rejected")
        };
        if version == 0 {
            let (key, write) = writes.into_iter().next().unwrap();
            return (Event::Rejected { key, write, outcome: Outcome::Absent }, None);
        }
        let wrote = writes.into_iter().zip(outcomes).map(|((key, write), outcome)| (key, write, outcome));
        (Event::Wrote(wrote.collect()), Some(version))
    }

    fn range(&mut self) -> (Vec<u8>, Vec<u8>) {
        let (a, b) = (self.key(), self.key());
        if a < b { (a, b) } else { (b, a) }
    }

    fn delete_range(&mut self) -> (Event, Option<u64>) {
        let (lower, upper) = self.range();
        let bounds = (Bound::Included(&lower[..]), Bound::Excluded(&upper[..]));
        let (count, version) = self.forest.delete_range_versioned(self.root, bounds.0, bounds.1).unwrap();
        if count == 0 {
            return (Event::NothingInRange { lower, upper }, None);
        }
        (Event::DeletedRange { lower, upper, count }, Some(version))
    }

    fn get(&mut self) -> (Event, Option<u64>) {
        let key = self.key();
        let reader = self.forest.reader();
        pause(&mut self.rng);
        let value = reader.get(self.root, &key).map(|found| found.value.to_vec());
        (Event::Got { key, value }, Some(reader.version()))
    }

    fn scan(&mut self) -> (Event, Option<u64>) {
        let (lower, upper) = self.range();
        let (backward, floor_start) = (self.rng.random_bool(0.4), self.rng.random_bool(0.4));
        let limit = if self.rng.random_bool(0.2) { usize::MAX } else { self.rng.random_range(1..20) };
        let reader = self.forest.reader();
        pause(&mut self.rng);
        let mut pairs = Pairs::new();
        reader.scan(self.root, &scan_of(&lower, &upper, backward, floor_start, limit), |pair| {
            pairs.push((pair.key(), pair.value().to_vec()));
            pause(&mut self.rng);
            ControlFlow::Continue(())
        });
        (Event::Scanned { lower, upper, backward, floor_start, limit, pairs }, Some(reader.version()))
    }
}

/// Yields at random to other threads.
fn pause(rng: &mut StdRng) {
    if rng.random_bool(0.02) {
        thread::yield_now();
    }
}

fn scan_of<'a>(
    lower: &'a [u8],
    upper: &'a [u8],
    backward: bool,
    floor_start: bool,
    limit: usize,
) -> Scan<'a> {
    let (lower, upper) = (Bound::Included(lower), Bound::Excluded(upper));
    Scan { lower, upper, backward, floor_start, limit, ..Scan::default() }
}

/// Checks a complete history.
fn check(records: &[Record]) {
    check_real_time(records);
    let mut writes: Vec<&Record> = records.iter().filter(|record| is_write(record)).collect();
    writes.sort_by_key(|record| record.versions.0);
    let mut at_version: Vec<&Record> = records.iter().filter(|record| is_read(record)).collect();
    at_version.sort_by_key(|record| record.versions.0);
    let mut histories = Histories::new();
    let (mut model, mut reads) = (Model::new(), at_version.into_iter().peekable());
    for write in writes {
        while let Some(read) = reads.next_if(|read| read.versions.0 < write.versions.0) {
            check_read(&model, read);
        }
        replay(&mut model, write, &mut histories);
    }
    reads.for_each(|read| check_read(&model, read));
    records.iter().for_each(|record| check_rejected(&histories, record));
}

fn is_write(record: &Record) -> bool {
    matches!(record.event, Event::Wrote(_) | Event::DeletedRange { .. })
}

fn is_read(record: &Record) -> bool {
    matches!(record.event, Event::Got { .. } | Event::Scanned { .. })
}

fn check_real_time(records: &[Record]) {
    let mut by_begin: Vec<&Record> = records.iter().collect();
    by_begin.sort_by_key(|record| record.began);
    let mut by_end = by_begin.clone();
    by_end.sort_by_key(|record| record.ended);
    let mut ended = by_end.into_iter().peekable();
    let mut newest = 0;
    for record in by_begin {
        while let Some(earlier) = ended.next_if(|earlier| earlier.ended < record.began) {
            let version =
                if is_write(earlier) || is_read(earlier) { earlier.versions.1 } else { earlier.versions.0 };
            newest = newest.max(version);
        }
        let version = record.versions.1;
        let fine = if is_write(record) { version > newest } else { version >= newest };
        assert!(fine, "version {newest} was returned before the start of {record:?}");
    }
}

fn check_read(model: &Model, record: &Record) {
    match &record.event {
        Event::Got { key, value } => assert_eq!(model.get(key), value.as_ref(), "{record:?}"),
        Event::Scanned { lower, upper, backward, floor_start, limit, pairs } => {
            let expected = expected_scan(model, &scan_of(lower, upper, *backward, *floor_start, *limit));
            assert_eq!(pairs, &expected, "{record:?}");
        }
        _ => unreachable!("only reads are checked here"),
    }
}

type Histories = BTreeMap<Vec<u8>, Vec<(u64, Option<Vec<u8>>)>>;

fn replay(model: &mut Model, record: &Record, histories: &mut Histories) {
    let version = record.versions.0;
    let mut note = |key: &Vec<u8>, value: Option<&Vec<u8>>| {
        histories.entry(key.clone()).or_default().push((version, value.cloned()));
    };
    match &record.event {
        Event::Wrote(writes) => {
            for (key, write, outcome) in writes {
                assert_eq!(&apply(model, key, write.operation(), None), outcome, "{record:?}");
                note(key, model.get(key));
            }
        }
        Event::DeletedRange { lower, upper, count } => {
            let doomed: Vec<Vec<u8>> =
                model.range(lower.clone()..upper.clone()).map(|(key, _)| key.clone()).collect();
            assert_eq!(doomed.len() as u64, *count, "{record:?}");
            for key in doomed {
                model.remove(&key);
                note(&key, None);
            }
        }
        _ => unreachable!("only writes are replayed"),
    }
}

/// Returns the values of a key between two versions.
fn values_between<'h>(histories: &'h Histories, key: &[u8], from: u64, to: u64) -> Vec<Option<&'h Vec<u8>>> {
    let Some(history) = histories.get(key) else { return vec![None] };
    let start = history.partition_point(|(version, _)| *version <= from);
    let end = history.partition_point(|(version, _)| *version <= to);
    let first = start.checked_sub(1).and_then(|index| history[index].1.as_ref());
    std::iter::once(first).chain(history[start..end].iter().map(|(_, value)| value.as_ref())).collect()
}

fn check_rejected(histories: &Histories, record: &Record) {
    let (from, to) = record.versions;
    match &record.event {
        Event::Rejected { key, write, outcome } => {
            let explained = values_between(histories, key, from, to).into_iter().any(|value| {
                let mut model: Model = value.map(|value| (key.clone(), value.clone())).into_iter().collect();
                let version =
                    if let Outcome::Mismatch(existing) = outcome { Some(existing.version) } else { None };
                apply(&mut model, key, write.operation(), version) == *outcome
            });
            assert!(explained, "no state from {from} to {to} explains {record:?}");
        }
        Event::NothingInRange { lower, upper } => {
            let keys = histories.range(lower.clone()..upper.clone()).map(|(key, _)| key);
            for key in keys {
                let absent = values_between(histories, key, from, to).contains(&None);
                assert!(absent, "{key:?} existed from {from} to {to}: {record:?}");
            }
        }
        _ => {}
    }
}

/// Enough for all retired memory if the scheduler suspends an operation in flight during the whole test.
const ARENA: usize = 1024 * MIB;
struct Round {
    log_bytes: usize,
    keys: Keys,
    key_count: u64,
    batch_max: usize,
    threads: u64,
    steps: usize,
}

/// Runs one round: starts the threads together, checks the history, and verifies the forest.
fn run(round: &Round, seed: u64) -> usize {
    let forest = forest(tiny(round.log_bytes), ARENA, true);
    let root = forest.create_tree().unwrap();
    let barrier = Barrier::new(round.threads as usize);
    let records = thread::scope(|scope| {
        let threads: Vec<_> = (0..round.threads)
            .map(|thread| {
                let (forest, barrier) = (&forest, &barrier);
                scope.spawn(move || {
                    let rng = StdRng::seed_from_u64(seed.wrapping_mul(31).wrapping_add(thread));
                    let number = thread << 40;
                    let mut worker = Worker { forest, root, rng, round, number, records: Vec::new() };
                    barrier.wait();
                    (0..round.steps).for_each(|_| worker.step());
                    worker.records
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    check(&records);
    forest.verify(&[root]).unwrap();
    records.len()
}

const ROUNDS: [Round; 6] = [
    Round { log_bytes: 128, keys: Keys::Random, key_count: 200, batch_max: 16, threads: 4, steps: 2_000 },
    Round { log_bytes: 256, keys: Keys::Paths, key_count: 60, batch_max: 16, threads: 4, steps: 2_000 },
    Round { log_bytes: 200, keys: Keys::AnyLength, key_count: 40, batch_max: 16, threads: 6, steps: 1_500 },
    Round { log_bytes: 0, keys: Keys::Counting, key_count: 300, batch_max: 16, threads: 4, steps: 2_000 },
    Round { log_bytes: 512, keys: Keys::EqualHeads, key_count: 8, batch_max: 8, threads: 8, steps: 1_000 },
    Round { log_bytes: 128, keys: Keys::AnyLength, key_count: 900, batch_max: 900, threads: 6, steps: 700 },
];

#[test]
fn every_result_is_the_state_at_its_version() {
    soak(&ROUNDS, 200_000, run);
}

//! Concurrent histories of several threads on few keys, checked for linearizability.

mod common;

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use honeycomb_hashtable::{Answers, Operation, Request, TableConfig};
use honeycomb_testing::linearizability::{Event, Sequential, is_linearizable};
use honeycomb_testing::{Random, soak};

use common::{Answer, OwnedOperation, TestFunction, TestTable, answer, memory, requests, table};

const THREADS: u64 = 4;
const STEPS: usize = 24;

/// The value of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct State(Option<Vec<u8>>);

impl Sequential for State {
    type Operation = OwnedOperation;
    type Answer = Answer;

    fn apply(&mut self, _client: usize, operation: &OwnedOperation) -> Answer {
        common::apply(&mut self.0, operation)
    }
}

#[derive(Debug)]
struct Round {
    first_key: usize,
    keys: usize,
    config: TableConfig,
}

fn rounds() -> Vec<Round> {
    let config = |buckets, inline_pair_bytes_max, fill_percent| TableConfig {
        buckets,
        inline_pair_bytes_max,
        fill_percent,
        ..TableConfig::default()
    };
    vec![
        Round { first_key: 0, keys: 1, config: config(1, 50, None) },
        Round { first_key: 0, keys: 2, config: config(1, 0, None) },
        Round { first_key: 0, keys: 3, config: config(1, 20, Some(20)) },
        // Short keys, whose pairs may fill slabs without a header.
        Round { first_key: 3, keys: 2, config: config(1, 0, None) },
        // Keys of several stripes, which a batch visits in turn.
        Round { first_key: 3, keys: 5, config: config(64, 30, Some(60)) },
    ]
}

/// Every history of each key is linearizable, also of keys that batches access together, while the threads
/// also change other keys, so that chains and buckets change. The order of a batch is that of its client.
#[test]
fn histories_are_linearizable() {
    soak(&rounds(), 100_000, run);
}

fn run(round: &Round, seed: u64) -> usize {
    let memory = memory(16 << 20);
    let table = table(&memory, &round.config);
    let (clock, barrier) = (AtomicU64::new(0), Barrier::new(THREADS as usize));
    let histories: Vec<Vec<Vec<Event<OwnedOperation, Answer>>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (table, clock, barrier) = (&table, &clock, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    client(table, round, clock, Random::new(seed * THREADS + thread))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for key in 0..round.keys {
        let history: Vec<_> = histories.iter().map(|of_thread| of_thread[key].clone()).collect();
        assert!(is_linearizable::<State>(&history, State::default()), "{round:?}, seed {seed}: {history:#?}");
    }
    table.verify().unwrap();
    THREADS as usize * STEPS
}

/// A thread: returns its history of each key.
fn client(
    table: &TestTable<'_>,
    round: &Round,
    clock: &AtomicU64,
    mut random: Random,
) -> Vec<Vec<Event<OwnedOperation, Answer>>> {
    let (mut histories, mut left) = (vec![Vec::new(); round.keys], STEPS);
    while left > 0 {
        disturb(table, &mut random);
        let count = random.pick(&[1, 1, 2, 3, 6, 12]).min(left);
        left -= count;
        let batch: Vec<_> = (0..count)
            .map(|_| (common::key(round.first_key + random.below(round.keys)), operation(&mut random)))
            .collect();
        let began = clock.fetch_add(1, Ordering::SeqCst);
        let answers = execute(table, &batch, count == 1 && random.chance(50));
        let ended = clock.fetch_add(1, Ordering::SeqCst);
        for ((key, operation), answer) in batch.into_iter().zip(answers) {
            let number = (0..round.keys).find(|number| common::key(round.first_key + number) == key);
            histories[number.unwrap()].push(Event { operation, began, ended, answer });
        }
    }
    histories
}

/// Executes a batch, or its first operation alone.
fn execute(table: &TestTable<'_>, batch: &[(Vec<u8>, OwnedOperation)], alone: bool) -> Vec<Answer> {
    let numbers = common::functions().1;
    if alone {
        let (mut out, (key, operation)) = (Vec::new(), &batch[0]);
        let outcome = table.apply(key, operation.borrow(&numbers), &mut out);
        return vec![answer(outcome.as_ref().copied(), &out)];
    }
    let mut answers = Answers::default();
    table.execute(&requests(batch, &numbers), &mut answers);
    (0..batch.len()).map(|index| answer(answers.outcome(index), answers.bytes())).collect()
}

/// A few values of lengths that have all representations. With a key of four bytes, 28 fill a slab.
fn operation(random: &mut Random) -> OwnedOperation {
    let length = random.pick(&[4, 12, 28, 60, 300, 3000]);
    let value = vec![random.below(2) as u8; length];
    let (function, one) = (TestFunction::AddU32, vec![1, 0, 0, 0]);
    match random.below(20) {
        0..5 => OwnedOperation::Get,
        5..8 => OwnedOperation::Put(value),
        8..10 => OwnedOperation::Insert(value),
        10 => OwnedOperation::Update(value),
        11..13 => OwnedOperation::Delete,
        13 => OwnedOperation::VectorWithScalar(function, one),
        14 => OwnedOperation::VectorWithVector(function, one.repeat(length / 4)),
        15 => OwnedOperation::Scalar(function, one),
        16 => OwnedOperation::Reduce(function, one),
        17 => OwnedOperation::Filter(vec![1, 0]),
        18 => OwnedOperation::CompareAndDelete(vec![1; length]),
        _ => OwnedOperation::CompareAndSwap(vec![1; length], value),
    }
}

/// Writes to a key that no history contains.
fn disturb(table: &TestTable<'_>, random: &mut Random) {
    let key = common::key(100 + random.below(30));
    let value = vec![9; random.below(40)];
    let operation = if random.chance(60) { Operation::Put(&value) } else { Operation::Delete };
    table.apply(&key, operation, &mut Vec::new()).unwrap();
}

/// Threads increment a counter one at a time, which replaces the value in place, and in batches, which
/// forward it. No increment is lost, and every original value occurs once.
#[test]
fn increments_are_atomic() {
    [1, 100].into_iter().for_each(increment_in_batches_of);
}

fn increment_in_batches_of(operations: usize) {
    let memory = memory(16 << 20);
    let table = table(&memory, &TableConfig::default());
    table.apply(b"counter", Operation::Put(&[0; 4]), &mut Vec::new()).unwrap();
    let number = common::functions().1[common::TestFunction::AddU32 as usize];
    let increment = Operation::UpdateScalar { function: number, operands: &[1, 0, 0, 0] };
    let mut originals: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let thread = || {
            let (mut answers, mut all) = (Answers::default(), Vec::new());
            let batch = vec![Request { key: b"counter", operation: increment }; operations];
            for _ in 0..10_000 / operations {
                table.execute(&batch, &mut answers);
                all.extend(answers.bytes().chunks(4).map(<[u8]>::to_vec));
            }
            all
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(thread)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let count = originals.len() as u32;
    assert_eq!(u64::from(count), THREADS * 10_000);
    originals.sort_by_key(|bytes| u32::from_le_bytes(bytes[..].try_into().unwrap()));
    let expected: Vec<Vec<u8>> = (0..count).map(|number| number.to_le_bytes().to_vec()).collect();
    assert!(originals == expected);
}

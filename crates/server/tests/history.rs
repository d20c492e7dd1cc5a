//! Histories of concurrent, pipelining clients are linearizable, including ranges and transactions.
//! `HONEYCOMB_SOAK_SECONDS=3600` runs the test for an hour.
#![allow(missing_docs)]

mod common;
#[path = "history/keyspace.rs"]
mod keyspace;
#[path = "history/restarts.rs"]
mod restarts;

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_protocol::resp::{Reply, encode};
use honeycomb_server::Config;
use honeycomb_testing::linearizability::is_linearizable;
use honeycomb_testing::{number, seed_or};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use common::{Client, Running, show, start_with};
use keyspace::{CLIENTS, Event, KEYS, Keyspace, Operation};

/// Maximum number of operations in a pipeline.
const PIPELINE_MAX: usize = 6;
/// One of this number of sets repeats its pair so often that it executes in the background.
const LONG_SETS: i64 = 10;
const LONG_SET_PAIRS: usize = 300;
const OPERATIONS_MIN: usize = 100_000;

/// The databases of the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Databases {
    /// One, which is ordered.
    Ordered,
    /// One, which is unordered.
    Unordered,
    /// An ordered one has the first keys, and an unordered one the last key.
    Both,
}

impl Databases {
    /// The numbers of the unordered databases.
    fn unordered(self) -> Vec<usize> {
        match self {
            Self::Ordered => Vec::new(),
            Self::Unordered => vec![0],
            Self::Both => vec![1],
        }
    }

    /// The database of a key, if there are several.
    fn of(self, key: usize) -> Option<usize> {
        (self == Self::Both).then_some(usize::from(key + 1 == KEYS.len()))
    }
}

#[test]
fn answers_are_linearizable() {
    answers_of(Databases::Ordered);
}

#[test]
fn answers_of_an_unordered_database_are_linearizable() {
    answers_of(Databases::Unordered);
}

/// Transactions read and write databases of both kinds at one moment.
#[test]
fn answers_of_databases_of_both_kinds_are_linearizable() {
    answers_of(Databases::Both);
}

fn answers_of(databases: Databases) {
    let first_seed = seed_or(1);
    let until = Instant::now() + Duration::from_secs(number("HONEYCOMB_SOAK_SECONDS", 0));
    let config = Config { cores: 2, databases: 2, unordered: databases.unordered(), ..Config::default() };
    let running = start_with(config);
    let mut clients: [Client; CLIENTS] = std::array::from_fn(|_| Client::connect(&running));
    let (mut checked, mut seed) = (0, first_seed);
    while checked < OPERATIONS_MIN || Instant::now() < until {
        let begin = state(&running, databases);
        let history = round(&mut clients, seed, databases);
        checked += history.iter().map(Vec::len).sum::<usize>();
        assert!(is_linearizable(&history, begin.clone()), "HONEYCOMB_SEED={seed}: {begin:?} {history:#?}");
        seed += 1;
    }
    println!("{checked} operations checked, seeds {first_seed} to {}", seed - 1);
}

/// Reads the pairs while no client writes.
fn state(running: &Running, databases: Databases) -> Keyspace {
    let mut client = Client::connect(running);
    let mut value = |key: usize| {
        let lines = lines(&Operation::Get(key), databases);
        match lines.iter().map(|line| client.reply_to(line)).last() {
            Some(Reply::Bulk(bytes)) => Some(String::from_utf8(bytes).unwrap().parse().unwrap()),
            _ => None,
        }
    };
    Keyspace::of(std::array::from_fn(&mut value))
}

/// Sends two pipelines from each client, concurrently, and returns their history.
fn round(clients: &mut [Client; CLIENTS], seed: u64, databases: Databases) -> [Vec<Event>; CLIENTS] {
    let (clock, barrier) = (&AtomicU64::new(0), &Barrier::new(CLIENTS));
    let mut history = [const { Vec::new() }; CLIENTS];
    thread::scope(|scope| {
        for (at, (client, events)) in clients.iter_mut().zip(&mut history).enumerate() {
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed.wrapping_mul(CLIENTS as u64) + at as u64);
                barrier.wait();
                (0..2).for_each(|_| events.extend(exchange(client, &mut rng, clock, databases)));
            });
        }
    });
    history
}

/// Sends some operations in one pipeline and records them.
fn exchange(client: &mut Client, rng: &mut StdRng, clock: &AtomicU64, databases: Databases) -> Vec<Event> {
    let operations = operations(rng, databases == Databases::Ordered);
    let lines: Vec<Vec<String>> = operations.iter().map(|operation| lines(operation, databases)).collect();
    let mut bytes = Vec::new();
    for line in lines.iter().flatten() {
        encode(&line.split(' ').collect::<Vec<_>>(), &mut bytes);
    }
    let tick = || clock.fetch_add(1, Ordering::SeqCst);
    let began = tick();
    client.send_bytes(&bytes);
    let events = operations.into_iter().zip(lines).map(|(operation, lines)| {
        // The answer to the last line is that of the operation. Earlier lines are only queued.
        let reply = lines.iter().map(|_| client.receive()).last().expect("a line");
        let answer = answer(&operation, reply, databases);
        Event { operation, began, ended: tick(), answer }
    });
    events.collect()
}

/// Returns the answer to an operation: the reply to its last line, without those to selections of databases.
fn answer(operation: &Operation, reply: Reply, databases: Databases) -> String {
    match (operation, reply) {
        (Operation::Execute(_), Reply::Array(replies)) if databases == Databases::Both => {
            show(&Reply::Array(replies.into_iter().skip(1).step_by(2).collect()))
        }
        (_, reply) => show(&reply),
    }
}

/// Returns random operations. Some begin with a watch and end with a transaction.
fn operations(rng: &mut StdRng, ranges: bool) -> Vec<Operation> {
    let mut operations: Vec<_> =
        (0..rng.random_range(1..PIPELINE_MAX)).map(|_| operation(rng, ranges)).collect();
    if rng.random_bool(0.3) {
        operations.insert(0, Operation::Watch(rng.random_range(0..KEYS.len())));
        let queued = (0..rng.random_range(1..4)).map(|_| single_key_operation(rng)).collect();
        operations.push(Operation::Execute(queued));
    }
    operations
}

fn operation(rng: &mut StdRng, ranges: bool) -> Operation {
    match rng.random_range(0..6) {
        0 if ranges => Operation::Range { is_short: rng.random_bool(0.7) },
        1 => Operation::Execute((0..rng.random_range(1..4)).map(|_| single_key_operation(rng)).collect()),
        _ => single_key_operation(rng),
    }
}

fn single_key_operation(rng: &mut StdRng) -> Operation {
    let key = rng.random_range(0..KEYS.len());
    match rng.random_range(0..5) {
        0 => Operation::Get(key),
        1 => Operation::Set(key, rng.random_range(0..1_000)),
        2 => Operation::Delete(key),
        _ => Operation::Increment(key),
    }
}

/// Returns the commands of an operation. The answer to the last one is that of the operation. If there are
/// several databases, one is selected before each command on a key.
fn lines(operation: &Operation, databases: Databases) -> Vec<String> {
    let database = key_of(operation).and_then(|key| databases.of(key));
    let line = match operation {
        Operation::Get(key) => format!("GET {}", KEYS[*key]),
        Operation::Set(key, value) if value % LONG_SETS == 0 => {
            format!("MSET{}", format!(" {} {value}", KEYS[*key]).repeat(LONG_SET_PAIRS))
        }
        Operation::Set(key, value) => format!("SET {} {value}", KEYS[*key]),
        Operation::SetUntil(key, value, deadline) => format!("SET {} {value} PXAT {deadline}", KEYS[*key]),
        Operation::Delete(key) => format!("DEL {}", KEYS[*key]),
        Operation::Increment(key) => format!("INCR {}", KEYS[*key]),
        // A range of many pairs is a request to the accelerator, and so are the other reads of its batch.
        Operation::Range { is_short: true } => format!("RI.RANGE - + COUNT {}", KEYS.len()),
        Operation::Range { is_short: false } => "RI.RANGE - +".to_owned(),
        Operation::Connect | Operation::Time(_) => unreachable!("no command"),
        Operation::Watch(key) => format!("WATCH {}", KEYS[*key]),
        Operation::Execute(queued) => {
            let queued = queued.iter().flat_map(|operation| lines(operation, databases));
            return ["MULTI".to_owned()].into_iter().chain(queued).chain(["EXEC".to_owned()]).collect();
        }
    };
    database.map(|number| format!("SELECT {number}")).into_iter().chain([line]).collect()
}

/// Returns the key of an operation on one key.
fn key_of(operation: &Operation) -> Option<usize> {
    match *operation {
        Operation::Get(key)
        | Operation::Set(key, _)
        | Operation::SetUntil(key, ..)
        | Operation::Delete(key)
        | Operation::Increment(key)
        | Operation::Watch(key) => Some(key),
        _ => None,
    }
}

/// Returns a history of two clients: the second reads after the write of the first has ended.
fn written_then_read(read: &str) -> [Vec<Event>; CLIENTS] {
    let event =
        |operation, began, answer: &str| Event { operation, began, ended: began + 1, answer: answer.into() };
    let write = event(Operation::Set(0, 7), 0, "OK");
    [vec![write], vec![event(Operation::Get(0), 2, read)], Vec::new(), Vec::new()]
}

#[test]
fn the_checker_rejects_histories_that_are_not_linearizable() {
    assert!(is_linearizable(&written_then_read("'7'"), Keyspace::default()));
    assert!(
        !is_linearizable(&written_then_read("nil"), Keyspace::default()),
        "an acknowledged write must be visible"
    );
    let mut concurrent = written_then_read("nil");
    concurrent[1][0].began = 0;
    assert!(is_linearizable(&concurrent, Keyspace::default()), "a pending write may be visible or not");
    // A range must not show half of a transaction.
    let event = |operation, answer: &str| Event { operation, began: 0, ended: 1, answer: answer.into() };
    let both = Operation::Execute(vec![Operation::Increment(0), Operation::Increment(1)]);
    for (range, expected) in [("[]", true), ("['a' '1']", false), ("['a' '1' 'b' '1']", true)] {
        let writer = vec![event(both.clone(), "[1 1]")];
        let history =
            [writer, vec![event(Operation::Range { is_short: true }, range)], Vec::new(), Vec::new()];
        assert_eq!(is_linearizable(&history, Keyspace::default()), expected, "{range}");
    }
}

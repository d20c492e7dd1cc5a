//! Histories that span several power cuts and restarts of a durable server. An operation without an answer
//! may have had its effect or not; all others have had it. Pairs expire at the times of the restarts.

use std::io::{ErrorKind, Read, Write};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use honeycomb_protocol::resp::{encode, parse_reply};
use honeycomb_server::Config;
use honeycomb_store::{DurabilityConfig, Store, SyncPolicy};
use honeycomb_testing::linearizability::is_linearizable;
use honeycomb_testing::{DiskFault, Kept, SimulatedDisk, number, seed_or};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::common::{BEGIN, Client, Running, show, start_with_store};
use crate::keyspace::{CLIENTS, Event, Keyspace, NO_ANSWER, Operation};
use crate::{Databases, KEYS, lines, operations};

/// Restarts of all histories.
const RESTARTS: u64 = 60;
/// Restarts of a history.
const RESTARTS_EACH: RangeInclusive<u64> = 2..=4;
/// Maximum number of calls of the disk before a power cut. A group of the log is one call.
const CALLS_MAX: u64 = 12;
/// Pipelines of each client before a power cut.
const PIPELINES: usize = 8;
/// Milliseconds from one start of the server to the next.
const START_INTERVAL: u64 = 1000;
/// Times after a start at which a pair may expire: before the next start, and before the one after it.
const LIFETIMES: [u64; 2] = [START_INTERVAL / 2, START_INTERVAL * 3 / 2];

/// A history of one seed.
struct Recorded {
    /// The events of each client.
    events: Vec<Vec<Event>>,
    clock: AtomicU64,
    /// The time of the server, which is constant between two starts.
    now: u64,
    restarts: u64,
}

#[test]
fn histories_across_power_cuts_are_linearizable() {
    let (first, minimum) = (seed_or(1), number("HONEYCOMB_SOAK_RESTARTS", RESTARTS));
    let (mut unanswered, mut answered, mut restarts) = (0, 0, 0);
    let mut seed = first;
    while restarts < minimum {
        let history = record(seed);
        let lost = history.events.iter().flatten().filter(|event| event.answer == NO_ANSWER).count();
        unanswered += lost;
        answered += history.events.iter().map(Vec::len).sum::<usize>() - lost;
        restarts += history.restarts;
        let events = &history.events;
        assert!(is_linearizable(events, Keyspace::default()), "HONEYCOMB_SEED={seed}: {events:#?}");
        seed += 1;
    }
    println!("{restarts} restarts, {answered} answers, {unanswered} operations without one");
    assert!(unanswered > 0 && answered > 0);
}

/// Records a history with several power cuts. Pairs expire between them.
fn record(seed: u64) -> Recorded {
    let mut rng = StdRng::seed_from_u64(seed);
    let (events, restarts) = (vec![Vec::new(); CLIENTS], rng.random_range(RESTARTS_EACH));
    let mut history = Recorded { events, clock: AtomicU64::new(0), now: BEGIN, restarts };
    let mut disk = SimulatedDisk::default();
    for _ in 0..restarts {
        let running = serve(&disk, history.now);
        let call = disk.calls() + rng.random_range(0..CALLS_MAX);
        disk.fail(call, DiskFault::PowerCut);
        history.add_phase(&running, rng.random(), &|| disk.calls() > call, PIPELINES);
        drop(running);
        disk = disk.after_power_cut(Kept::Random(rng.random()));
    }
    let running = serve(&disk, history.now);
    history.add_phase(&running, rng.random(), &|| false, 1);
    let reads = (0..KEYS.len()).map(|key| read(&running, key, &history.clock)).collect::<Vec<_>>();
    history.events[0].extend(reads);
    history
}

impl Recorded {
    /// Adds what all clients do between two starts of the server, and the time of the next start.
    fn add_phase(
        &mut self,
        running: &Running,
        seed: u64,
        is_cut: &(impl Fn() -> bool + Sync),
        pipelines: usize,
    ) {
        let phase = concurrently(running, (seed, &self.clock, self.now), is_cut, pipelines);
        self.events.iter_mut().zip(phase).for_each(|(events, phase)| events.extend(phase));
        if pipelines > 1 {
            self.now += START_INTERVAL;
            self.events[0].push(event(Operation::Time(self.now), &self.clock, String::new()));
        }
    }
}

/// Starts a server that replies only what is durable, at a time in milliseconds since 1970.
fn serve(disk: &SimulatedDisk, now: u64) -> Running {
    let durability = DurabilityConfig {
        policy: SyncPolicy::Always,
        writes_wait: false,
        log_file_bytes: 64 << 10,
        ..DurabilityConfig::with_storage(Arc::new(disk.clone()))
    };
    let config = Config { cores: 2, memory_bytes: 64 << 20, ..Config::default() };
    let store = honeycomb_store::Config {
        memory_bytes: config.memory_bytes,
        durability: Some(durability),
        ..honeycomb_store::Config::default()
    };
    let running = start_with_store(config, Store::open(store).unwrap());
    running.time.advance(now - BEGIN);
    running
}

/// Sends pipelines from all clients until `is_cut`. Then no answer counts: the server, which runs on, may
/// have sent it after the power cut.
fn concurrently(
    running: &Running,
    (seed, clock, now): (u64, &AtomicU64, u64),
    is_cut: &(impl Fn() -> bool + Sync),
    pipelines: usize,
) -> Vec<Vec<Event>> {
    thread::scope(|scope| {
        let client = |at: u64| {
            let mut client = Client::connect(running);
            scope.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed.wrapping_mul(CLIENTS as u64) + at);
                let mut events = vec![event(Operation::Connect, clock, String::new())];
                for _ in 0..pipelines {
                    events.extend(exchange(&mut client, &mut rng, (clock, now), is_cut));
                    if is_cut() {
                        break;
                    }
                }
                events
            })
        };
        let clients: Vec<_> = (0..CLIENTS as u64).map(client).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}

/// Sends some operations in one pipeline and records them.
fn exchange(
    client: &mut Client,
    rng: &mut StdRng,
    (clock, now): (&AtomicU64, u64),
    is_cut: &impl Fn() -> bool,
) -> Vec<Event> {
    let operations = operations(rng, true).into_iter().map(|operation| expiring(operation, rng, now));
    let operations: Vec<_> = operations.collect();
    let commands: Vec<Vec<String>> =
        operations.iter().map(|operation| lines(operation, Databases::Ordered)).collect();
    let mut bytes = Vec::new();
    for line in commands.iter().flatten() {
        encode(&line.split(' ').collect::<Vec<_>>(), &mut bytes);
    }
    let began = clock.fetch_add(1, Ordering::SeqCst);
    // A server whose log has failed may have closed the connection.
    let _ = client.socket.write_all(&bytes);
    let mut received = Vec::new();
    let events = operations.into_iter().zip(commands).map(|(operation, lines)| {
        let answers: Option<Vec<_>> = lines.iter().map(|_| receive(client, &mut received)).collect();
        let answer = answers.and_then(|mut answers| answers.pop()).filter(|_| !is_cut());
        let answer = answer.unwrap_or_else(|| NO_ANSWER.to_owned());
        Event { operation, began, ended: clock.fetch_add(1, Ordering::SeqCst), answer }
    });
    events.collect()
}

/// Gives some sets a deadline.
fn expiring(operation: Operation, rng: &mut StdRng, now: u64) -> Operation {
    match operation {
        Operation::Set(key, value) if rng.random_bool(0.5) => {
            Operation::SetUntil(key, value, now + LIFETIMES[rng.random_range(0..LIFETIMES.len())])
        }
        Operation::Execute(queued) => {
            Operation::Execute(queued.into_iter().map(|operation| expiring(operation, rng, now)).collect())
        }
        other => other,
    }
}

/// Receives a reply; `None` if the connection ends before.
fn receive(client: &mut Client, received: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some((reply, length)) = parse_reply(received).unwrap() {
            received.drain(..length);
            return Some(show(&reply));
        }
        let mut buffer = [0; 4096];
        match client.socket.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return None,
            Ok(bytes) => received.extend_from_slice(&buffer[..bytes]),
        }
    }
}

fn read(running: &Running, key: usize, clock: &AtomicU64) -> Event {
    let began = clock.fetch_add(1, Ordering::SeqCst);
    let answer = Client::connect(running).reply_text(&format!("GET {}", KEYS[key]));
    Event { operation: Operation::Get(key), began, ended: clock.fetch_add(1, Ordering::SeqCst), answer }
}

fn event(operation: Operation, clock: &AtomicU64, answer: String) -> Event {
    let began = clock.fetch_add(1, Ordering::SeqCst);
    Event { operation, began, ended: clock.fetch_add(1, Ordering::SeqCst), answer }
}

#[test]
fn the_checker_allows_either_outcome_of_an_operation_without_an_answer() {
    let event =
        |operation, began, answer: &str| Event { operation, began, ended: began + 1, answer: answer.into() };
    let set = |answer| event(Operation::Set(0, 7), 0, answer);
    for (answer, read, expected) in
        [(NO_ANSWER, "nil", true), (NO_ANSWER, "'7'", true), (NO_ANSWER, "'8'", false), ("OK", "nil", false)]
    {
        let history = [vec![set(answer)], vec![event(Operation::Get(0), 2, read)], Vec::new(), Vec::new()];
        assert_eq!(is_linearizable(&history, Keyspace::default()), expected, "{answer} {read}");
    }
}

/// A pair with a deadline is there up to it, also across a power cut.
#[test]
fn the_checker_knows_deadlines() {
    let event =
        |operation, began, answer: &str| Event { operation, began, ended: began + 1, answer: answer.into() };
    for (time, read, expected) in [(9, "'7'", true), (9, "nil", false), (10, "nil", true), (10, "'7'", false)]
    {
        let first = vec![
            event(Operation::SetUntil(0, 6, 10), 0, "OK"),
            event(Operation::Increment(0), 2, "7"),
            event(Operation::Time(time), 4, ""),
            event(Operation::Get(0), 6, read),
        ];
        let history = [first, Vec::new(), Vec::new(), Vec::new()];
        assert_eq!(is_linearizable(&history, Keyspace::default()), expected, "{time} {read}");
    }
}

//! Histories that span a power cut and a restart of a durable server. An operation without an answer may have
//! had its effect or not; all others have had it.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use honeycomb_protocol::resp::{encode, parse_reply};
use honeycomb_server::Config;
use honeycomb_store::{DurabilityConfig, Store, SyncPolicy};
use honeycomb_testing::linearizability::is_linearizable;
use honeycomb_testing::{DiskFault, Kept, SimulatedDisk};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::common::{Client, Running, show, start_with_store};
use crate::keyspace::{CLIENTS, Event, Keyspace, NO_ANSWER, Operation};
use crate::{KEYS, lines, number, operations, state};

const RESTARTS: u64 = 60;
/// Maximum number of calls of the disk before the power cut. A group of the log is one call.
const CALLS_MAX: u64 = 12;
/// Pipelines of each client before the power cut.
const PIPELINES: usize = 8;

#[test]
fn histories_across_power_cuts_are_linearizable() {
    let (first, restarts) = (number("HONEYCOMB_SEED", 1), number("HONEYCOMB_SOAK_RESTARTS", RESTARTS));
    let (mut unanswered, mut answered) = (0, 0);
    for seed in first..first + restarts {
        let disk = SimulatedDisk::default();
        let running = serve(&disk);
        let begin = state(&running);
        let clock = AtomicU64::new(0);
        let call = disk.calls() + StdRng::seed_from_u64(seed).random_range(0..CALLS_MAX);
        disk.fail(call, DiskFault::PowerCut);
        let mut history = concurrently(&running, (seed, &clock), &|| disk.calls() > call, PIPELINES);
        drop(running);
        let running = serve(&disk.after_power_cut(Kept::Random(seed)));
        let after = concurrently(&running, (seed + restarts, &clock), &|| false, 1);
        history.iter_mut().zip(after).for_each(|(events, after)| events.extend(after));
        history[0].extend((0..KEYS.len()).map(|key| read(&running, key, &clock)));
        let lost = history.iter().flatten().filter(|event| event.answer == NO_ANSWER).count();
        unanswered += lost;
        answered += history.iter().map(Vec::len).sum::<usize>() - lost;
        assert!(is_linearizable(&history, begin), "HONEYCOMB_SEED={seed}: {history:#?}");
    }
    println!("{restarts} restarts, {answered} answers, {unanswered} operations without one, seed {first}");
    assert!(unanswered > 0 && answered > 0);
}

/// Starts a server that replies only what is durable.
fn serve(disk: &SimulatedDisk) -> Running {
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
    start_with_store(config, Store::open(store).unwrap())
}

/// Sends pipelines from all clients until `is_cut`. Then no answer counts: the server, which runs on, may
/// have sent it after the power cut.
fn concurrently(
    running: &Running,
    (seed, clock): (u64, &AtomicU64),
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
                    events.extend(exchange(&mut client, &mut rng, clock, is_cut));
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
    clock: &AtomicU64,
    is_cut: &impl Fn() -> bool,
) -> Vec<Event> {
    let operations = operations(rng, true);
    let commands: Vec<Vec<String>> = operations.iter().map(lines).collect();
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

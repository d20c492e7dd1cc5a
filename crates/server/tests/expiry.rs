//! Expiry: the server deletes expired pairs soon, independent of the other contents of the store.
#![allow(missing_docs)]

mod common;

use std::time::{Duration, Instant};

use honeycomb_protocol::resp::{Reply, encode};
use honeycomb_server::{Config, Server, SystemTime};
use honeycomb_testing::number;

use common::{Client, Running, dialogue, start, start_ticking, start_with, start_with_store};

/// Number of commands in a pipeline.
const BATCH: usize = 100;
/// Expiring sets per second, and the time to live of their pairs.
const RATE: usize = 10_000;
const SECONDS: usize = 5;

fn start_with_memory(memory_bytes: usize) -> Running {
    let config = Config { cores: 1, memory_bytes, ..Config::default() };
    let store = config.open_store().unwrap();
    start_with_store(config, store)
}

fn entries(running: &Running) -> u64 {
    running.store.table(".deadlines").unwrap().pair_count()
}

/// Waits until a condition is true. The server's time does not advance meanwhile.
fn until(mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < end, "the condition is still false");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_deletion_of_a_range_counts_no_expired_pairs() {
    let running = start_ticking(Config { cores: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    for _ in 0..50 {
        // The server has rarely deleted the first pair before the last command.
        dialogue(&mut client, &[("PSETEX a 1 v", "OK"), ("SET b v", "OK"), ("RI.DELRANGE - +", "1")]);
    }
}

fn size(client: &mut Client) -> usize {
    client.reply_text("DBSIZE").parse().unwrap()
}

/// Sends a command for each number in one pipeline. Returns how many the server rejected.
fn pipeline(
    client: &mut Client,
    numbers: std::ops::Range<usize>,
    command: impl Fn(usize) -> Vec<Vec<u8>>,
) -> usize {
    let mut bytes = Vec::new();
    for number in numbers.clone() {
        let words = command(number);
        encode(&words.iter().map(|word| &word[..]).collect::<Vec<_>>(), &mut bytes);
    }
    client.send_bytes(&bytes);
    numbers.filter(|_| matches!(client.receive(), Reply::Error(_))).count()
}

fn words(line: &str) -> Vec<Vec<u8>> {
    line.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

fn expiring(number: usize) -> Vec<Vec<u8>> {
    let mut words = words(&format!(
        "SET expiring:{:016x} value EX {SECONDS}",
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    ));
    words[2] = vec![b'v'; 100];
    words
}

fn persistent(number: usize) -> Vec<Vec<u8>> {
    words(&format!("SET persistent:{number:012} {number:016}"))
}

/// Returns the percentage of expiring pairs that are overdue by more than a second. The others are at most
/// `expected`.
fn overdue_percent(client: &mut Client, persistent: usize, expected: usize) -> f64 {
    let all = size(client) - persistent;
    100.0 * all.saturating_sub(expected) as f64 / all.max(1) as f64
}

#[test]
fn expiring_sets_are_not_rejected_when_memory_is_scarce() {
    let running = start_with_memory(24 << 20);
    let mut client = Client::connect(&running);
    for second in 0..30 {
        for batch in 0..RATE / BATCH {
            let first = second * RATE + batch * BATCH;
            assert_eq!(pipeline(&mut client, first..first + BATCH, expiring), 0, "second {second}");
            running.time.advance((1000 * BATCH / RATE) as u64);
        }
        let overdue = overdue_percent(&mut client, 0, RATE * (SECONDS + 1).min(second + 1));
        assert!(overdue <= 2.0, "second {second}: {overdue} % are overdue by more than a second");
    }
    assert!(entries(&running) <= 2 * 61_200, "{} entries", entries(&running));
    running.time.advance(6000);
    until(|| size(&mut client) == 0 && entries(&running) == 0);
}

/// Runs with the system's clock for `HONEYCOMB_SOAK_SECONDS`, next to `HONEYCOMB_PERSISTENT_PAIRS` pairs.
#[test]
fn expiring_sets_next_to_persistent_pairs() {
    let seconds = number("HONEYCOMB_SOAK_SECONDS", 0).min(60);
    let (seconds, persistent_pairs) =
        if seconds == 0 { (8, 50_000) } else { (seconds, number("HONEYCOMB_PERSISTENT_PAIRS", 1_000_000)) };
    let memory_bytes = (24 << 20) + persistent_pairs * 120;
    let config = Config { cores: 1, memory_bytes, address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
    let server = Server::start(config.clone(), config.open_store().unwrap(), Box::new(SystemTime)).unwrap();
    let mut client = Client::connect_to(server.address());
    for first in (0..persistent_pairs).step_by(BATCH) {
        assert_eq!(pipeline(&mut client, first..(first + BATCH).min(persistent_pairs), persistent), 0);
    }
    let began = Instant::now();
    let (mut worst, mut longest, mut ends) = (0.0_f64, Duration::ZERO, Vec::new());
    for batch in 0..seconds * RATE / BATCH {
        let due = Duration::from_millis((batch * 1000 * BATCH / RATE) as u64);
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        let first = batch * BATCH;
        let sent = Instant::now();
        assert_eq!(pipeline(&mut client, first..first + BATCH, expiring), 0);
        longest = longest.max(sent.elapsed());
        ends.push(Instant::now());
        if first.is_multiple_of(RATE) {
            // The machine may stand still for any time, so batches count from their own ends.
            let is_due_later = |end: &&Instant| end.elapsed() <= Duration::from_secs(SECONDS as u64 + 1);
            let expected = BATCH * ends.iter().filter(is_due_later).count();
            worst = worst.max(overdue_percent(&mut client, persistent_pairs, expected));
        }
    }
    let stale = client.reply_text("INFO stats").split("expired_stale_perc:").nth(1).unwrap()[..4].to_owned();
    println!(
        "{persistent_pairs} pairs: {worst:.2} % overdue by a second, {stale} % overdue, {longest:?} per batch"
    );
    assert!(worst <= 2.0, "{worst} % are overdue by more than a second");
}

#[test]
fn a_pair_that_is_written_often_has_few_entries() {
    let running = start_with_memory(16 << 20);
    let mut client = Client::connect(&running);
    let deadline =
        |number: usize| words(&format!("SET k v PXAT {}", common::BEGIN as usize + 100_000_000 + number));
    for first in (0..200_000).step_by(BATCH) {
        assert_eq!(pipeline(&mut client, first..first + BATCH, deadline), 0);
    }
    until(|| entries(&running) <= 1000);
    // A command that reads the pair before it writes removes the old entry.
    let before = entries(&running);
    for seconds in 1000..2000 {
        assert_eq!(client.reply_text(&format!("EXPIRE k {seconds}")), "1");
    }
    assert!(entries(&running) <= before + 1);
    assert_eq!(client.reply_text("PERSIST k"), "1");
    running.time.advance(1_000_000_000);
    until(|| entries(&running) == 0);
    assert_eq!(client.reply_text("GET k"), "'v'");
}

#[test]
fn entries_of_deleted_pairs_are_removed() {
    let running = start_with_memory(64 << 20);
    let mut client = Client::connect(&running);
    let long = |number: usize| words(&format!("SET long:{number:06} v EX 100000"));
    for first in (0..20_000).step_by(BATCH) {
        assert_eq!(pipeline(&mut client, first..first + BATCH, long), 0);
    }
    assert_eq!(entries(&running), 20_000);
    assert_eq!(client.reply_text("FLUSHALL"), "OK");
    until(|| {
        running.time.advance(10);
        entries(&running) == 0
    });
}

#[test]
fn keys_of_all_lengths_expire_in_their_tables() {
    let running = start();
    let mut client = Client::connect(&running);
    for length in [1, 443, 444, 452, 453, 459, 460] {
        let (key, other) = (vec![b'k'; length], [&vec![b'k'; length - 1][..], b"l"].concat());
        for (command, expected) in [
            (&[b"SET", &key[..], b"v", b"EX", b"10"][..], "OK"),
            (&[b"SET", &other, b"v"], "OK"),
            (&[b"EXPIRE", &other, b"10"], "1"),
        ] {
            client.send(command);
            assert_eq!(common::show(&client.receive()), expected);
        }
    }
    dialogue(&mut client, &[("SELECT 15", "OK"), ("SET k v PX 9999", "OK"), ("SET l v", "OK")]);
    running.time.advance(9999);
    until(|| size(&mut client) == 1);
    dialogue(&mut client, &[("SELECT 0", "OK"), ("DBSIZE", "14")]);
    running.time.advance(10);
    until(|| size(&mut client) == 0 && entries(&running) == 0);
    assert!(client.reply_text("INFO stats").contains("expired_keys:15\\r"));
}

#[test]
fn pairs_written_before_the_server_started_expire() {
    let config = Config { cores: 1, memory_bytes: 64 << 20, ..Config::default() };
    let store = config.open_store().unwrap();
    let sealed = |expiry: u64| [&[1][..], &expiry.to_le_bytes(), b"value"].concat();
    for number in 0..3000_u64 {
        let table = store.table(&(number % 3).to_string()).unwrap();
        table.put(&number.to_be_bytes(), &sealed(common::BEGIN + 1000 + number % 2 * 1000)).unwrap();
    }
    let running = start_with_store(config, store);
    let mut client = Client::connect(&running);
    running.time.advance(1000);
    until(|| size(&mut client) == 500);
    running.time.advance(1000);
    until(|| running.store.statistics().pairs == 0);
}

#[test]
fn a_read_of_an_expired_pair_deletes_it() {
    let running = start_with_memory(64 << 20);
    let mut client = Client::connect(&running);
    assert_eq!(client.reply_text("GET a"), "nil");
    // The pair has no entry, so the reaper does not find it.
    let (table, value) =
        (running.store.table("0").unwrap(), [&[1][..], &1_u64.to_le_bytes(), b"value"].concat());
    table.put(b"a", &value).unwrap();
    assert_eq!(client.reply_text("GET a"), "nil");
    until(|| table.pair_count() == 0);
}

#[test]
fn info_reports_expiring_pairs() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[("SET a 1 EX 10", "OK"), ("SET b 1 EX 20", "OK"), ("SET c 1", "OK"), ("SELECT 1", "OK")],
    );
    dialogue(&mut client, &[("SET d 1 EX 10", "OK"), ("SET d 2", "OK")]);
    let info = client.reply_text("INFO keyspace");
    assert!(info.contains("db0:keys=3,expires=2,avg_ttl=15000\\r"), "{info}");
    assert!(info.contains("db1:keys=1,expires=0,avg_ttl=0\\r"), "{info}");
    assert!(client.reply_text("INFO stats").contains("expired_stale_perc:0.00\\r"));
    // For many pairs the numbers are estimates.
    client.reply_to("SELECT 2");
    let many = |number: usize| words(&format!("SET many:{number:06} v PX {}", 10_000 + 2 * number));
    for first in (0..10_000).step_by(BATCH) {
        assert_eq!(pipeline(&mut client, first..first + BATCH, many), 0);
    }
    let info = client.reply_text("INFO keyspace");
    let field = |name: &str| {
        let line = info.split("db2:").nth(1).unwrap();
        let rest = line.split(&format!("{name}=")).nth(1).unwrap();
        rest.split([',', '\\']).next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(field("keys"), 10_000);
    assert!((9000..=10_003).contains(&field("expires")), "{info}");
    assert!((18_000..22_000).contains(&field("avg_ttl")), "{info}");
}

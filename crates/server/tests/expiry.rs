//! Pairs that expire: none is in the way of others for long, whatever else the store holds.
#![allow(missing_docs)]

mod common;

use std::time::{Duration, Instant};

use common::{Client, Running, dialogue, start, start_of, start_with};
use honeycomb_protocol::resp::{Reply, encode};
use honeycomb_server::{Config, Server, SystemTime};

/// Commands that are sent together.
const TOGETHER: usize = 100;
/// Expiring sets a second, and how long their pairs are there.
const RATE: usize = 10_000;
const SECONDS: usize = 5;

fn alone(memory_bytes: usize) -> Running {
    let config = Config { cores: 1, memory_bytes, ..Config::default() };
    let store = config.open_store().unwrap();
    start_of(config, store)
}

fn entries(running: &Running) -> u64 {
    running.store.table(".deadlines").unwrap().pair_count()
}

/// Waits until something is so, while the time of the server stands still.
fn until(mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "it has not come to that");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn size(client: &mut Client) -> usize {
    client.shown("DBSIZE").parse().unwrap()
}

/// Sends commands made from numbers, together, and counts those that were refused.
fn all(
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
    numbers.filter(|_| matches!(client.answer(), Reply::Error(_))).count()
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

/// Pairs that are there beside those that have a right to: past their time by more than a second, in percent.
fn past_percent(client: &mut Client, persistent: usize, second: usize) -> f64 {
    let all = size(client) - persistent;
    let rightly = RATE * (SECONDS + 1).min(second);
    100.0 * all.saturating_sub(rightly) as f64 / all.max(1) as f64
}

#[test]
fn expiring_sets_are_not_refused_in_little_memory() {
    let running = alone(24 << 20);
    let mut client = Client::of(&running);
    for second in 0..30 {
        for batch in 0..RATE / TOGETHER {
            let first = second * RATE + batch * TOGETHER;
            assert_eq!(all(&mut client, first..first + TOGETHER, expiring), 0, "second {second}");
            running.time.advance((1000 * TOGETHER / RATE) as u64);
        }
        let past = past_percent(&mut client, 0, second + 1);
        assert!(past <= 2.0, "second {second}: {past} % are past their time by more than a second");
    }
    assert!(entries(&running) <= 2 * 61_200, "{} entries", entries(&running));
    running.time.advance(6000);
    until(|| size(&mut client) == 0 && entries(&running) == 0);
}

/// In real time: `HONEYCOMB_SOAK_SECONDS`, beside `HONEYCOMB_PERSISTENT_PAIRS`.
#[test]
fn expiring_sets_beside_pairs_that_last() {
    let number =
        |name: &str, default: usize| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (seconds, lasting) =
        (number("HONEYCOMB_SOAK_SECONDS", 0).min(60), number("HONEYCOMB_PERSISTENT_PAIRS", 1_000_000));
    let (seconds, lasting) = if seconds == 0 { (8, 50_000) } else { (seconds, lasting) };
    let memory_bytes = (24 << 20) + lasting * 120;
    let config = Config { cores: 1, memory_bytes, address: ([127, 0, 0, 1], 0).into(), ..Config::default() };
    let server = Server::start(config.clone(), config.open_store().unwrap(), Box::new(SystemTime)).unwrap();
    let mut client = Client::at(server.address());
    for first in (0..lasting).step_by(TOGETHER) {
        assert_eq!(all(&mut client, first..(first + TOGETHER).min(lasting), persistent), 0);
    }
    let began = Instant::now();
    let (mut worst, mut longest) = (0.0_f64, Duration::ZERO);
    for batch in 0..seconds * RATE / TOGETHER {
        let due = Duration::from_millis((batch * 1000 * TOGETHER / RATE) as u64);
        std::thread::sleep(due.saturating_sub(began.elapsed()));
        let first = batch * TOGETHER;
        let sent = Instant::now();
        assert_eq!(all(&mut client, first..first + TOGETHER, expiring), 0);
        longest = longest.max(sent.elapsed());
        if first.is_multiple_of(RATE) {
            worst = worst.max(past_percent(&mut client, lasting, first / RATE + 1));
        }
    }
    let stale = client.shown("INFO stats").split("expired_stale_perc:").nth(1).unwrap()[..4].to_owned();
    println!(
        "{lasting} last: {worst:.2} % past their time by a second, {stale} % past it, {longest:?} for a batch"
    );
    assert!(worst <= 2.0, "{worst} % are past their time by more than a second");
}

#[test]
fn a_pair_that_is_written_often_has_few_entries() {
    let running = alone(16 << 20);
    let mut client = Client::of(&running);
    let deadline =
        |number: usize| words(&format!("SET k v PXAT {}", common::BEGIN as usize + 100_000_000 + number));
    for first in (0..200_000).step_by(TOGETHER) {
        assert_eq!(all(&mut client, first..first + TOGETHER, deadline), 0);
    }
    until(|| entries(&running) <= 1000);
    // One that is read before it is written takes its entry with it.
    let before = entries(&running);
    for seconds in 1000..2000 {
        assert_eq!(client.shown(&format!("EXPIRE k {seconds}")), "1");
    }
    assert!(entries(&running) <= before + 1);
    assert_eq!(client.shown("PERSIST k"), "1");
    running.time.advance(1_000_000_000);
    until(|| entries(&running) == 0);
    assert_eq!(client.shown("GET k"), "'v'");
}

#[test]
fn entries_of_pairs_that_were_deleted_go() {
    let running = alone(64 << 20);
    let mut client = Client::of(&running);
    let long = |number: usize| words(&format!("SET long:{number:06} v EX 100000"));
    for first in (0..20_000).step_by(TOGETHER) {
        assert_eq!(all(&mut client, first..first + TOGETHER, long), 0);
    }
    assert_eq!(entries(&running), 20_000);
    assert_eq!(client.shown("FLUSHALL"), "OK");
    until(|| {
        running.time.advance(10);
        entries(&running) == 0
    });
}

#[test]
fn keys_of_all_lengths_expire_in_their_tables() {
    let running = start();
    let mut client = Client::of(&running);
    for length in [1, 443, 444, 452, 453, 459, 460] {
        let (key, other) = (vec![b'k'; length], [&vec![b'k'; length - 1][..], b"l"].concat());
        for (command, shown) in [
            (&[b"SET", &key[..], b"v", b"EX", b"10"][..], "OK"),
            (&[b"SET", &other, b"v"], "OK"),
            (&[b"EXPIRE", &other, b"10"], "1"),
        ] {
            client.send(command);
            assert_eq!(common::show(&client.answer()), shown);
        }
    }
    dialogue(&mut client, &[("SELECT 15", "OK"), ("SET k v PX 9999", "OK"), ("SET l v", "OK")]);
    running.time.advance(9999);
    until(|| size(&mut client) == 1);
    dialogue(&mut client, &[("SELECT 0", "OK"), ("DBSIZE", "14")]);
    running.time.advance(10);
    until(|| size(&mut client) == 0 && entries(&running) == 0);
    assert!(client.shown("INFO stats").contains("expired_keys:15\\r"));
}

#[test]
fn pairs_that_were_there_before_the_server_expire() {
    let config = Config { cores: 1, memory_bytes: 64 << 20, ..Config::default() };
    let store = config.open_store().unwrap();
    let sealed = |expiry: u64| [&[1][..], &expiry.to_le_bytes(), b"value"].concat();
    for number in 0..3000_u64 {
        let table = store.table(&(number % 3).to_string()).unwrap();
        table.put(&number.to_be_bytes(), &sealed(common::BEGIN + 1000 + number % 2 * 1000)).unwrap();
    }
    let running = start_of(config, store);
    let mut client = Client::of(&running);
    running.time.advance(1000);
    until(|| size(&mut client) == 500);
    running.time.advance(1000);
    until(|| running.store.statistics().pairs == 0);
}

#[test]
fn a_pair_that_is_found_expired_is_deleted() {
    let running = alone(64 << 20);
    let mut client = Client::of(&running);
    assert_eq!(client.shown("GET a"), "nil");
    // Without an entry: the reaper does not find it.
    let (table, value) =
        (running.store.table("0").unwrap(), [&[1][..], &1_u64.to_le_bytes(), b"value"].concat());
    table.put(b"a", &value).unwrap();
    assert_eq!(client.shown("GET a"), "nil");
    until(|| table.pair_count() == 0);
}

#[test]
fn info_says_what_expires() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::of(&running);
    dialogue(
        &mut client,
        &[("SET a 1 EX 10", "OK"), ("SET b 1 EX 20", "OK"), ("SET c 1", "OK"), ("SELECT 1", "OK")],
    );
    dialogue(&mut client, &[("SET d 1 EX 10", "OK"), ("SET d 2", "OK")]);
    let shown = client.shown("INFO keyspace");
    assert!(shown.contains("db0:keys=3,expires=2,avg_ttl=15000\\r"), "{shown}");
    assert!(shown.contains("db1:keys=1,expires=0,avg_ttl=0\\r"), "{shown}");
    assert!(client.shown("INFO stats").contains("expired_stale_perc:0.00\\r"));
    // Of many pairs it says so about.
    client.ask("SELECT 2");
    let many = |number: usize| words(&format!("SET many:{number:06} v PX {}", 10_000 + 2 * number));
    for first in (0..10_000).step_by(TOGETHER) {
        assert_eq!(all(&mut client, first..first + TOGETHER, many), 0);
    }
    let shown = client.shown("INFO keyspace");
    let field = |name: &str| {
        let line = shown.split("db2:").nth(1).unwrap();
        let rest = line.split(&format!("{name}=")).nth(1).unwrap();
        rest.split([',', '\\']).next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(field("keys"), 10_000);
    assert!((9000..=10_003).contains(&field("expires")), "{shown}");
    assert!((18_000..22_000).contains(&field("avg_ttl")), "{shown}");
}

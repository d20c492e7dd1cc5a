//! Pipelined writes of pairs that expire.
#![allow(missing_docs)]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_protocol::resp::{Reply, encode};
use honeycomb_server::Config;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use common::{Client, Running, run_concurrently, start_with, start_with_system_time};

/// Sends lines in one pipeline and returns the replies.
fn pipeline(client: &mut Client, lines: &[&str]) -> Vec<String> {
    let mut bytes = Vec::new();
    for line in lines {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        encode(&words, &mut bytes);
    }
    client.send_bytes(&bytes);
    lines.iter().map(|_| common::show(&client.receive())).collect()
}

/// Returns the number of batched writes and the number of batches.
fn batches(running: &Running) -> (u64, u64) {
    let mut socket = TcpStream::connect(running.server.metrics().unwrap()).unwrap();
    socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse::<f64>().unwrap() as u64
    };
    (number("honeycomb_batch_writes_sum "), number("honeycomb_batch_writes_count "))
}

#[test]
fn writes_that_expire_are_batched() {
    let metrics = Some(([127, 0, 0, 1], 0).into());
    let running = start_with(Config { cores: 1, metrics, ..Config::default() });
    let mut client = Client::connect(&running);
    let forms =
        ["SET k v EX 10", "SETEX k 10 v", "PSETEX k 10 v", "SET k v PX 10", "SET k v EXAT 2000000000"];
    for line in forms {
        let before = batches(&running);
        assert_eq!(pipeline(&mut client, &[line; 100]), ["OK"; 100]);
        let after = batches(&running);
        assert_eq!(after.0 - before.0, 100, "{line}");
        assert!(after.1 - before.1 < 10, "{line} took {} batches", after.1 - before.1);
    }
}

#[test]
fn batched_writes_have_the_order_and_errors_of_single_commands() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    let (expiry, not_integer) =
        ("!ERR invalid expire time in 'set' command", "!ERR value is not an integer or out of range");
    let setex = "!ERR invalid expire time in 'setex' command";
    let long = format!("SET {} 1 EX 5", "k".repeat(461));
    for (lines, expected) in [
        (&["SET k 1 EX 10", "SET k 2", "TTL k", "GET k"][..], &["OK", "OK", "-1", "'2'"][..]),
        (&["SET k 1", "SET k 2 EX 10", "SETEX k 7 3", "TTL k", "GET k"], &["OK", "OK", "OK", "7", "'3'"]),
        (&["SETEX k 7 3", "SET k 4 KEEPTTL", "TTL k"], &["OK", "OK", "7"]),
        (&["SET k 1 EX 0", "SET k 2 EX x", "SETEX k 0 1", "GET k"], &[expiry, not_integer, setex, "'4'"]),
        (&["SET k 5 EXAT 1", "GET k", "SET k 6 PXAT 1700000000001"], &["OK", "nil", "OK"]),
        (
            &["SET k 7 EX 5 NX", "SET k 7 EX 5 GET", "SETEX k 5"],
            &["nil", "'6'", "!ERR wrong number of arguments for 'setex' command"],
        ),
        (
            &["SET a 1 EX 5", &long, "SET b 1"],
            &["OK", "!ERR key of 461 bytes: a key has 1 to 460 bytes", "OK"],
        ),
        (&["MULTI", "SET k 8 EX 9", "EXEC", "TTL k"], &["OK", "QUEUED", "['OK']", "9"]),
    ] {
        let expected: Vec<_> = expected.iter().map(|reply| reply.replace("['OK']", "[OK]")).collect();
        assert_eq!(pipeline(&mut client, lines), expected, "{lines:?}");
    }
}

#[test]
fn expired_pairs_are_deleted_without_being_read() {
    let running = start_with(Config { cores: 1, ..Config::default() });
    let mut client = Client::connect(&running);
    for round in 0..20 {
        let lines: Vec<_> =
            (0..500).map(|key| format!("SET key:{key} {round} PX {}", 1 + key % 97)).collect();
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        assert_eq!(pipeline(&mut client, &lines), ["OK"; 500]);
        running.time.advance(1 + round % 30);
    }
    running.time.advance(100);
    until_empty(&mut client);
}

/// Several clients write the same keys while the reaper examines their entries. It must not consider an entry
/// stale while its pair is about to be put.
#[test]
fn the_reaper_removes_no_entry_of_a_pair_being_written() {
    let running = start_with_system_time(Config { cores: 2, ..Config::default() });
    run_concurrently(&running, 4, |seed, client| {
        let mut random = SmallRng::seed_from_u64(seed as u64);
        let end = Instant::now() + Duration::from_secs(2);
        while Instant::now() < end {
            let line =
                |_| format!("SET k{} v PX {}", random.random_range(0..300), random.random_range(1..40));
            let lines: Vec<_> = (0..200).map(line).collect();
            let lines: Vec<_> = lines.iter().map(String::as_str).collect();
            assert_eq!(pipeline(client, &lines), ["OK"; 200]);
        }
    });
    thread::sleep(Duration::from_millis(50));
    until_empty(&mut Client::connect(&running));
}

/// Waits until the table is empty. No client reads the pairs, so the server finds them only in the index of
/// deadlines.
fn until_empty(client: &mut Client) {
    let began = Instant::now();
    while client.reply_to("DBSIZE") != Reply::Integer(0) {
        assert!(began.elapsed() < Duration::from_secs(10), "{} pairs remain", client.reply_text("DBSIZE"));
        thread::sleep(Duration::from_millis(5));
    }
}

//! Numbers that are swapped, and pairs that expire: a deadline follows its table.
#![allow(missing_docs)]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Client, Running, dialogue, start_with};
use honeycomb_server::Config;

fn start() -> Running {
    let metrics = Some(([127, 0, 0, 1], 0).into());
    start_with(Config { cores: 2, databases: 4, metrics, ..Config::default() })
}

/// Waits until the tables of the first numbers have so many pairs, without reading any.
fn until_sizes(client: &mut Client, expected: [&str; 3]) {
    let began = Instant::now();
    loop {
        let sizes = ["0", "1", "2"].map(|number| {
            client.ask(&format!("SELECT {number}"));
            client.shown("DBSIZE")
        });
        if sizes == expected {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{sizes:?}, not {expected:?}");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn deadlines_follow_their_tables() {
    let running = start();
    let mut client = Client::of(&running);
    dialogue(
        &mut client,
        &[
            ("SET a 1 PX 1000", "OK"),
            ("SET lasting 1", "OK"),
            ("SELECT 1", "OK"),
            ("SET b 1 PX 2000", "OK"),
            ("SWAPDB 0 1", "OK"),
            // In the table of the other number now, as pairs and entries written from here on are.
            ("PTTL a", "1000"),
            ("SET c 1 PX 3000", "OK"),
            ("SELECT 0", "OK"),
            ("PTTL b", "2000"),
            ("SETEX d 3 1", "OK"),
        ],
    );
    let keyspace = client.shown("INFO keyspace");
    assert!(
        keyspace.contains("db0:keys=2,expires=2,") && keyspace.contains("db1:keys=3,expires=2,"),
        "{keyspace}"
    );
    running.time.advance(1000);
    until_sizes(&mut client, ["2", "2", "0"]);
    dialogue(&mut client, &[("SWAPDB 1 2", "OK"), ("SWAPDB 0 1", "OK")]);
    running.time.advance(1000);
    until_sizes(&mut client, ["0", "1", "2"]);
    dialogue(&mut client, &[("MULTI", "OK"), ("SWAPDB 0 2", "QUEUED"), ("EXEC", "[OK]")]);
    running.time.advance(1000);
    until_sizes(&mut client, ["1", "0", "0"]);
    dialogue(&mut client, &[("SELECT 0", "OK"), ("KEYS *", "['lasting']")]);
}

#[test]
fn flushing_a_number_empties_the_table_that_it_has() {
    let running = start();
    let mut client = Client::of(&running);
    dialogue(
        &mut client,
        &[
            ("SET a 1 PX 1000", "OK"),
            ("SELECT 1", "OK"),
            ("SET b 1 PX 1000", "OK"),
            ("SWAPDB 0 1", "OK"),
            ("FLUSHDB", "OK"),
            ("GET a", "nil"),
            ("SET a 2 PX 5000", "OK"),
            ("SELECT 0", "OK"),
            ("GET b", "'1'"),
        ],
    );
    running.time.advance(1000);
    // The entry of the flushed pair is stale, and does not take the new one with it.
    until_sizes(&mut client, ["0", "1", "0"]);
    dialogue(&mut client, &[("SELECT 1", "OK"), ("PTTL a", "4000"), ("FLUSHALL", "OK")]);
    let entries = running.store.table(".deadlines").unwrap();
    let began = Instant::now();
    while entries.pair_count() > 0 {
        running.time.advance(100);
        assert!(began.elapsed() < Duration::from_secs(10), "{} stale entries", entries.pair_count());
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn metrics_name_tables_by_the_numbers_they_have_now() {
    let running = start();
    let mut client = Client::of(&running);
    dialogue(
        &mut client,
        &[("MSET a 1 b 1", "OK"), ("SELECT 1", "OK"), ("SET a 1", "OK"), ("SWAPDB 0 3", "OK")],
    );
    running.store.table("of others").unwrap().put(b"key", b"value").unwrap();
    let mut socket = TcpStream::connect(running.server.metrics().unwrap()).unwrap();
    socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    let pairs: Vec<_> = text.lines().filter(|line| line.starts_with("honeycomb_pairs{")).collect();
    let expected = ["table=\"1\"} 1", "table=\"3\"} 2", "table=\"of others\"} 1"];
    assert_eq!(pairs, expected.map(|line| format!("honeycomb_pairs{{{line}")));
}

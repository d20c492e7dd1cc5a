//! Swapped tables with pairs that expire: a deadline follows its table.
#![allow(missing_docs)]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::sleep;
use std::time::{Duration, Instant};

use honeycomb_server::Config;

use common::{Client, Running, dialogue, start_with};

fn start() -> Running {
    let metrics = Some(([127, 0, 0, 1], 0).into());
    start_with(Config { cores: 2, databases: 4, metrics, ..Config::default() })
}

/// Waits until tables 0 to 2 have these numbers of pairs, without reading a pair.
fn wait_for_sizes(client: &mut Client, expected: [&str; 3]) {
    let began = Instant::now();
    loop {
        let sizes = ["0", "1", "2"].map(|number| {
            client.reply_to(&format!("SELECT {number}"));
            client.reply_text("DBSIZE")
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
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[
            ("SET a 1 PX 1000", "OK"),
            ("SET lasting 1", "OK"),
            ("SELECT 1", "OK"),
            ("SET b 1 PX 2000", "OK"),
            ("SWAPDB 0 1", "OK"),
            // The pair is now in the other table, and so are the pairs and entries written from here on.
            ("PTTL a", "1000"),
            ("SET c 1 PX 3000", "OK"),
            ("SELECT 0", "OK"),
            ("PTTL b", "2000"),
            ("SETEX d 3 1", "OK"),
        ],
    );
    let keyspace = client.reply_text("INFO keyspace");
    assert!(
        keyspace.contains("db0:keys=2,expires=2,") && keyspace.contains("db1:keys=3,expires=2,"),
        "{keyspace}"
    );
    running.time.advance(1000);
    wait_for_sizes(&mut client, ["2", "2", "0"]);
    dialogue(&mut client, &[("SWAPDB 1 2", "OK"), ("SWAPDB 0 1", "OK")]);
    running.time.advance(1000);
    wait_for_sizes(&mut client, ["0", "1", "2"]);
    dialogue(&mut client, &[("MULTI", "OK"), ("SWAPDB 0 2", "QUEUED"), ("EXEC", "[OK]")]);
    running.time.advance(1000);
    wait_for_sizes(&mut client, ["1", "0", "0"]);
    dialogue(&mut client, &[("SELECT 0", "OK"), ("KEYS *", "['lasting']")]);
}

#[test]
fn flushdb_empties_the_table_that_has_the_number_now() {
    let running = start();
    let mut client = Client::connect(&running);
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
    // The entry of the flushed pair is stale and must not delete the new pair.
    wait_for_sizes(&mut client, ["0", "1", "0"]);
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
fn metrics_label_tables_with_their_present_numbers() {
    let running = start();
    let mut client = Client::connect(&running);
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

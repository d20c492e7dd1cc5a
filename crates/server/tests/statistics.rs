//! Statistics of lookups and errors.
#![allow(missing_docs)]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;

use honeycomb_server::Config;

use common::{Client, Running, dialogue, start_with};

fn start() -> Running {
    start_with(Config { cores: 1, metrics: Some(([127, 0, 0, 1], 0).into()), ..Config::default() })
}

/// Returns the hits and misses of lookups.
fn lookups(client: &mut Client) -> (u64, u64) {
    let info = client.reply_text("INFO stats");
    let field = |name: &str| {
        let rest = info.split(&format!("{name}:")).nth(1).unwrap_or_else(|| panic!("no {name} in {info}"));
        rest.split("\\r").next().unwrap().parse().unwrap()
    };
    (field("keyspace_hits"), field("keyspace_misses"))
}

#[test]
fn lookups_of_reading_commands_are_counted() {
    let running = start();
    let mut client = Client::connect(&running);
    dialogue(&mut client, &[("SET a 1", "OK"), ("SET long 1", "OK"), ("SET gone 1 PX 5", "OK")]);
    running.time.advance(5);
    // Command, hits, misses.
    for (command, hits, misses) in [
        ("GET a", 1, 0),
        ("GET b", 0, 1),
        ("GET gone", 0, 1),
        ("MGET a b a", 2, 1),
        ("EXISTS a a b", 2, 1),
        ("STRLEN a", 1, 0),
        ("TTL b", 0, 1),
        ("TYPE a", 1, 0),
        ("TOUCH a b", 1, 1),
        ("OBJECT ENCODING a", 1, 0),
        ("DUMP a", 1, 0),
        ("GETEX a EX 100", 1, 0),
        ("GETSET a 2", 1, 0),
        ("SET a 3 GET", 1, 0),
        ("COPY a copied", 1, 0),
        ("GETDEL copied", 1, 0),
        ("GETDEL copied", 0, 1),
        ("BITOP NOT other a", 1, 0),
        ("BITFIELD a GET u8 0", 1, 0),
        ("BITFIELD a SET u8 0 49", 0, 0),
        ("SET a 1 XX", 0, 0),
        ("SETNX a 1", 0, 0),
        ("MSETNX c 1 a 1", 0, 0),
        ("INCR a", 0, 0),
        ("APPEND a 1", 0, 0),
        ("EXPIRE a 100", 0, 0),
        ("RENAME a b", 0, 0),
        ("RENAME b a", 0, 0),
        ("MOVE a 1", 0, 0),
        ("DEL a c", 0, 0),
    ] {
        let before = lookups(&mut client);
        client.reply_to(command);
        let after = lookups(&mut client);
        assert_eq!((after.0 - before.0, after.1 - before.1), (hits, misses), "{command}");
    }
}

#[test]
fn lookups_in_all_contexts_are_counted_once() {
    let running = start();
    let mut client = Client::connect(&running);
    client.send(&[b"SET", b"long", &vec![b'v'; 300_000]]);
    client.receive();
    client.reply_to("SET a 1");
    let before = lookups(&mut client);
    client.reply_to("MGET a long b a");
    client.reply_to("GET long");
    assert_eq!(lookups(&mut client), (before.0 + 4, before.1 + 1));
    dialogue(&mut client, &[("MULTI", "OK"), ("GET a", "QUEUED"), ("INCR a", "QUEUED"), ("GET b", "QUEUED")]);
    client.reply_to("EXEC");
    assert_eq!(lookups(&mut client), (before.0 + 5, before.1 + 2));
    // INFO includes the lookups of earlier commands in the same pipeline.
    client.send_bytes(b"GET a\r\nGET b\r\nINFO stats\r\n");
    (0..2).for_each(|_| drop(client.receive()));
    let info = common::show(&client.receive());
    assert!(info.contains(&format!("keyspace_hits:{}\\r", before.0 + 6)), "{info}");
    assert!(info.contains(&format!("keyspace_misses:{}\\r", before.1 + 3)), "{info}");
}

#[test]
fn errors_are_counted_by_their_first_word() {
    let running = start();
    let mut client = Client::connect(&running);
    let error_stats = |client: &mut Client| {
        let info = client.reply_text("INFO errorstats");
        info.trim_matches('\'').replace("\\r\\n", " ").trim_start_matches("# Errorstats").trim().to_owned()
    };
    assert_eq!(error_stats(&mut client), "");
    client.send_bytes(b"GET\r\nNOTHING\r\nSET a x\r\nINCR a\r\nHELLO 9\r\nAUTH other x\r\n");
    (0..6).for_each(|_| drop(client.receive()));
    for line in ["MULTI", "GET", "EXEC", "MULTI", "INCR a", "EXEC"] {
        client.reply_to(line);
    }
    let expected = "errorstat_ERR:count=5 errorstat_EXECABORT:count=1 errorstat_NOPROTO:count=1 \
                    errorstat_WRONGPASS:count=1";
    assert_eq!(error_stats(&mut client), expected);
    assert!(client.reply_text("INFO").contains("# Errorstats\\r\\nerrorstat_ERR:count=5\\r"));
    assert!(client.reply_text("INFO stats").contains("total_error_replies:8\\r"));
    assert_eq!(client.reply_text("CONFIG RESETSTAT"), "OK");
    assert_eq!(error_stats(&mut client), "");
    let info = client.reply_text("INFO stats");
    for field in ["total_error_replies", "keyspace_hits", "keyspace_misses"] {
        assert!(info.contains(&format!("{field}:0\\r")), "{info}");
    }
}

#[test]
fn metrics_show_lookups_and_errors() {
    let running = start();
    let mut client = Client::connect(&running);
    for line in ["SET a 1", "GET a", "GET a", "GET b", "GET", "CONFIG RESETSTAT", "PING"] {
        client.reply_to(line);
    }
    let mut socket = TcpStream::connect(running.server.metrics().unwrap()).unwrap();
    socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    socket.read_to_string(&mut text).unwrap();
    for line in [
        "honeycomb_keyspace_hits_total 2\n",
        "honeycomb_keyspace_misses_total 1\n",
        "honeycomb_error_replies_total{prefix=\"ERR\"} 1\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

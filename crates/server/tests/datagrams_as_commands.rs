//! Datagrams follow the rules of commands: maxmemory applies to them, and they update access statistics.
#![allow(missing_docs)]

mod common;

use std::net::SocketAddr;

use honeycomb_client::{Client, Config as ClientConfig, Operation, Outcome};
use honeycomb_server::{Config, Datagrams};

use common::{Client as RedisClient, Running, dialogue, start_with};

fn start() -> (Running, Client) {
    let batch = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let datagrams = Datagrams { batch, ..Datagrams::default() };
    let running = start_with(Config { cores: 1, datagrams, ..Config::default() });
    let client = Client::connect(running.server.batch_address().unwrap(), ClientConfig::default()).unwrap();
    (running, client)
}

#[test]
fn writes_above_maxmemory_are_rejected() {
    let (running, mut client) = start();
    let mut redis = RedisClient::connect(&running);
    client.put(b"apple", b"red").unwrap();
    assert_eq!(redis.reply_text("CONFIG SET maxmemory 1"), "OK");
    let operations = [
        Operation::Put { key: b"pear", value: b"green" },
        Operation::Insert { key: b"pear", value: b"green" },
        Operation::Update { key: b"apple", value: b"green" },
        Operation::Get(b"apple"),
        Operation::Delete(b"apple"),
    ];
    let mut outcomes = vec![String::new(); operations.len()];
    client.call(&operations, |index, outcome| outcomes[index] = format_outcome(&outcome)).unwrap();
    assert_eq!(outcomes, ["OutOfMemory", "OutOfMemory", "OutOfMemory", "red", "Done"]);
    dialogue(&mut redis, &[("EXISTS apple pear", "0"), ("CONFIG SET maxmemory 0", "OK")]);
    client.put(b"apple", b"red").unwrap();
}

#[test]
fn operations_update_access_statistics() {
    let (running, mut client) = start();
    let mut redis = RedisClient::connect(&running);
    dialogue(&mut redis, &[("MSET a 1 b 1 c 1", "OK"), ("OBJECT IDLETIME a", "0")]);
    running.time.advance(9000);
    // An access is recorded with the time of the previous event-loop iteration.
    redis.reply_to("PING");
    client.get(b"a").unwrap();
    client.put(b"b", b"2").unwrap();
    dialogue(
        &mut redis,
        &[("OBJECT IDLETIME a", "0"), ("OBJECT IDLETIME b", "0"), ("OBJECT IDLETIME c", "9")],
    );
    redis.reply_to("CONFIG SET maxmemory-policy allkeys-lfu");
    (0..200).for_each(|_| drop(client.get(b"a").unwrap()));
    assert!(common::number(&redis.reply_to("OBJECT FREQ a")) > 6);
}

fn format_outcome(outcome: &Outcome<'_>) -> String {
    match outcome {
        Outcome::Value(value) => value.escape_ascii().to_string(),
        other => format!("{other:?}"),
    }
}

#[test]
fn writes_have_keyspace_notifications() {
    let (running, mut client) = start();
    let (mut redis, mut watcher) = (RedisClient::connect(&running), RedisClient::connect(&running));
    redis.reply_to("CONFIG SET notify-keyspace-events EA");
    watcher.reply_to("PSUBSCRIBE *");
    let operations = [
        Operation::Put { key: b"a", value: b"1" },
        Operation::Insert { key: b"a", value: b"2" },
        Operation::Insert { key: b"b", value: b"2" },
        Operation::Update { key: b"b", value: b"3" },
        Operation::Delete(b"a"),
        Operation::Delete(b"absent"),
        Operation::Get(b"b"),
    ];
    client.call(&operations, |_, _| {}).unwrap();
    client.put(b"last", b"").unwrap();
    let events: Vec<_> = (0..5).map(|_| common::show(&watcher.receive())).collect();
    let event = |name, key| format!("['pmessage' '*' '__keyevent@0__:{name}' '{key}']");
    let expected = [("set", "a"), ("set", "b"), ("set", "b"), ("del", "a"), ("set", "last")];
    let (mut found, mut expected) = (events, expected.map(|(name, key)| event(name, key)).to_vec());
    // Independent operations of a packet have no order.
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

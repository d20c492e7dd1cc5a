//! A server whose log has failed: no reply depends on a write that the next start may not have.

use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;

use honeycomb_client::{Client as BatchClient, Config as ClientConfig};
use honeycomb_server::{Config, Datagrams};
use honeycomb_store::SyncPolicy;
use honeycomb_testing::{DiskFault, Kept, SimulatedDisk};

use crate::common::{self, Client, Running, dialogue, open_durable, start_durable, start_with_store};

/// Starts a server with two pairs, and makes the log fail during an update of one of them. The client of the
/// update gets no reply, because nobody knows its outcome.
fn start_failed(disk: &SimulatedDisk) -> Running {
    let here = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let datagrams = Datagrams { batch: here, ..Datagrams::default() };
    let config = Config { cores: 2, durability: SyncPolicy::Always, datagrams, ..Config::default() };
    let running = start_with_store(config, open_durable(Arc::new(disk.clone()), SyncPolicy::Always));
    let mut client = Client::connect(&running);
    dialogue(&mut client, &[("SET lost before", "OK"), ("SET durable 1", "OK")]);
    client.send(&[b"SET", b"long", &[b'x'; 200_000]]);
    assert_eq!(common::show(&client.receive()), "OK");
    disk.fail_write(".log", DiskFault::Error);
    client.send(&[b"SET", b"lost", b"after"]);
    assert_eq!(client.socket.read(&mut [0; 16]).unwrap_or(0), 0);
    running
}

#[test]
fn a_failed_log_makes_the_server_read_only() {
    let disk = SimulatedDisk::default();
    let running = start_failed(&disk);
    let mut client = Client::connect(&running);
    for line in ["SET b 1", "SETNX durable 2", "DEL absent", "FLUSHALL"] {
        let reply = client.reply_text(line);
        assert!(reply.starts_with("!MISCONF ") && reply.contains("read-only until"), "{line}: {reply}");
    }
    assert!(client.reply_text("INFO persistence").contains("read_only_reason:cannot write"));
    running.server.stop().unwrap();
    drop((client, running.store));
    let running = start_durable(Arc::new(disk.after_power_cut(Kept::Nothing)), SyncPolicy::Always);
    dialogue(&mut Client::connect(&running), &[("GET lost", "'before'"), ("SET lost 3", "OK")]);
    running.server.stop().unwrap();
}

#[test]
fn replies_that_depend_on_lost_writes_are_errors() {
    let disk = SimulatedDisk::default();
    let running = start_failed(&disk);
    let mut client = Client::connect(&running);
    dialogue(
        &mut client,
        &[("GET durable", "'1'"), ("EXISTS durable absent", "1"), ("STRLEN long", "200000")],
    );
    assert_eq!(client.reply_text("GET long").len(), 200_002);
    let refused = ["GET lost", "MGET durable lost", "STRLEN lost", "DBSIZE", "SCAN 0", "KEYS *", "RANDOMKEY"];
    let refused = refused.into_iter().chain(["RI.SCAN - +", "RI.COUNT - +", "RI.CHANGES - + 0"]);
    for line in refused.chain(["SLOWLOG GET", "INFO", "INFO keyspace", "INFO everything", "MEMORY STATS"]) {
        let reply = client.reply_text(line);
        assert!(reply.starts_with("!MISCONF ") && reply.contains("appendfsync no"), "{line}: {reply}");
    }
    dialogue(&mut client, &[("MULTI", "OK"), ("GET durable", "QUEUED")]);
    assert!(client.reply_text("EXEC").starts_with("!EXECABORT "));
    assert!(
        client.reply_text("GET").contains("wrong number") && client.reply_text("NONE").contains("unknown")
    );
    let state = client.reply_text("INFO server memory persistence stats");
    assert!(state.contains("aof_last_write_status:err") && state.contains("used_memory:"), "{state}");
    dialogue(&mut client, &[("PING", "PONG"), ("CONFIG GET appendfsync", "['appendfsync' 'always']")]);
    dialogue(&mut client, &[("CONFIG SET timeout 0", "OK"), ("PUBLISH channel text", "0")]);
    // The administrator accepts what a restart takes back.
    dialogue(&mut client, &[("CONFIG SET appendfsync no", "OK"), ("GET lost", "'after'"), ("DBSIZE", "3")]);
    running.server.stop().unwrap();
}

#[test]
fn datagrams_that_depend_on_lost_writes_fail() {
    let disk = SimulatedDisk::default();
    let running = start_failed(&disk);
    let address = running.server.batch_address().unwrap();
    let mut client = BatchClient::connect(address, ClientConfig::default()).unwrap();
    assert_eq!(client.get(b"durable").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(client.get(b"absent").unwrap(), None);
    let outcomes =
        [client.get(b"lost").map(drop), client.put(b"durable", b"2"), client.delete(b"x").map(drop)];
    for outcome in outcomes {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("fail"), "{error}");
    }
    running.server.stop().unwrap();
}

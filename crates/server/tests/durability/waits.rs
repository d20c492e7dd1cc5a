//! Replies wait for the disk if they depend on a write that is not durable.

use std::io::Read;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_store::SyncPolicy;
use honeycomb_testing::SimulatedDisk;

use crate::common::{self, Client, dialogue, start_durable as start};
use crate::gate::start_gated;
use crate::{is_silent, wait_for};

#[test]
fn no_reply_leaves_before_it_is_durable() {
    let (running, gate) = start_gated(SyncPolicy::Always);
    let (mut writer, mut reader) = (Client::connect(&running), Client::connect(&running));
    assert_eq!(writer.reply_text("SET a 1"), "OK");
    assert_eq!(reader.reply_text("GET a"), "'1'");
    gate.close();
    writer.send(&[b"SET", b"a", b"2"]);
    assert!(is_silent(&mut writer));
    // The pair is visible, but a power cut may take it back.
    reader.send(&[b"GET", b"a"]);
    // Replies stay in order.
    reader.send(&[b"MULTI"]);
    assert!(is_silent(&mut reader));
    gate.open();
    assert_eq!(common::show(&writer.receive()), "OK");
    assert_eq!([common::show(&reader.receive()), common::show(&reader.receive())], ["'2'", "OK"]);
    running.server.stop().unwrap();
}

/// Messages tell other clients about a write, so they wait for the disk as its reply does.
#[test]
fn messages_about_a_write_wait_until_it_is_durable() {
    let (running, gate) = start_gated(SyncPolicy::Always);
    let [mut writer, mut subscriber, mut monitor] = [(); 3].map(|()| Client::connect(&running));
    dialogue(&mut writer, &[("CONFIG SET notify-keyspace-events KA", "OK")]);
    subscriber.reply_text("PSUBSCRIBE *");
    dialogue(&mut monitor, &[("MONITOR", "OK")]);
    gate.close();
    writer.send(&[b"SET", b"a", b"1"]);
    assert!([&mut writer, &mut subscriber, &mut monitor].into_iter().all(is_silent));
    gate.open();
    assert_eq!(common::show(&writer.receive()), "OK");
    let message = common::show(&subscriber.receive());
    assert!(message.contains("__keyspace@0__:a"), "{message}");
    let line = common::show(&monitor.receive());
    assert!(line.contains("SET"), "{line}");
    running.server.stop().unwrap();
}

#[test]
fn a_get_waits_only_for_writes_to_its_keys() {
    let (running, gate) = start_gated(SyncPolicy::Always);
    let mut writer = Client::connect(&running);
    let writes: [&[u8]; 3] = [b"SET a 2", b"SWAPDB 0 1", b"RI.DELRANGE - +"];
    for write in writes {
        dialogue(&mut writer, &[("SET a 1", "OK"), ("SET b 1", "OK")]);
        gate.close();
        writer.send(&write.split(|byte| *byte == b' ').collect::<Vec<_>>());
        assert!(is_silent(&mut writer));
        let mut reader = Client::connect(&running);
        // Replies that depend on no pairs wait for nothing.
        assert_eq!(reader.reply_text("PING"), "PONG");
        assert!(reader.reply_text("INFO persistence").contains("aof_last_write_status:ok"));
        reader.send(&[b"GET", b"b"]);
        if write == writes[0] {
            reader.socket.peek(&mut [0]).expect("a reply, although another key is written");
        } else {
            let write = String::from_utf8_lossy(write);
            assert!(is_silent(&mut reader), "{write}: a swap and a range deletion concern all keys");
        }
        reader.send(&[b"MGET", b"b", b"a"]);
        let mut late = Client::connect(&running);
        late.send(&[b"RI.SCAN", b"-", b"+", b"LIMIT", b"1"]);
        assert!(is_silent(&mut late), "a scan waits for all writes");
        gate.open();
        (0..2).for_each(|_| drop(reader.receive()));
        drop((late.receive(), writer.receive()));
    }
    running.server.stop().unwrap();
}

/// A count tells of a write as a get of its key does. Operators need the other sections of `INFO` while the
/// disk hangs.
#[test]
fn replies_with_counts_of_pairs_wait_for_all_writes() {
    let (running, gate) = start_gated(SyncPolicy::Always);
    let mut writer = Client::connect(&running);
    dialogue(&mut writer, &[("SET a 1", "OK")]);
    gate.close();
    writer.send(&[b"SET", b"b", b"1"]);
    assert!(is_silent(&mut writer));
    let mut others = Client::connect(&running);
    for sections in ["persistence", "server clients memory stats replication errorstats", "CPU none"] {
        let reply = others.reply_text(&format!("INFO {sections}"));
        assert!(reply.contains("# ") && !reply.contains("db0:"), "{sections}: {reply}");
    }
    let counts = ["INFO", "INFO Keyspace", "INFO cpu unordered", "INFO default", "INFO all"];
    let counts = counts.into_iter().chain([
        "INFO everything",
        "DBSIZE",
        "MEMORY STATS",
        "RI.COUNT - +",
        "KEYS *",
        "RANDOMKEY",
    ]);
    let mut waiting: Vec<_> = counts.map(|line| (line, Client::connect(&running))).collect();
    for (line, client) in &mut waiting {
        client.send(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>());
    }
    for (line, client) in &mut waiting {
        assert!(is_silent(client), "{line}");
    }
    gate.open();
    let replies: Vec<_> = waiting.iter_mut().map(|(_, client)| common::show(&client.receive())).collect();
    assert!(replies[0].contains("db0:keys=2,"), "{}", replies[0]);
    assert_eq!((replies[6].as_str(), replies[8].as_str()), ("2", "2"));
    running.server.stop().unwrap();
}

/// The log of slow commands shows writes with their values. Its length does not.
#[test]
fn slow_commands_are_shown_when_they_are_durable() {
    let (running, gate) = start_gated(SyncPolicy::Always);
    let [mut writer, mut get, mut explain] = [(); 3].map(|()| Client::connect(&running));
    dialogue(&mut writer, &[("CONFIG SET slowlog-log-slower-than 0", "OK")]);
    gate.close();
    writer.send(&[b"SET", b"a", b"new value"]);
    assert!(is_silent(&mut writer));
    assert!(get.reply_text("SLOWLOG LEN").parse::<u64>().unwrap() > 0);
    get.send(&[b"SLOWLOG", b"GET"]);
    explain.send(&[b"slowlog", b"Explain", b"-1"]);
    assert!(is_silent(&mut get) && is_silent(&mut explain));
    gate.open();
    for client in [&mut get, &mut explain] {
        let reply = common::show(&client.receive());
        assert!(reply.contains("'new value'"), "{reply}");
    }
    running.server.stop().unwrap();
}

/// Writes note their keys only under `always`, so a get after a change to it waits for all writes before.
#[test]
fn a_get_waits_for_writes_before_a_change_of_the_policy() {
    let (running, gate) = start_gated(SyncPolicy::Never);
    let mut client = Client::connect(&running);
    gate.close();
    dialogue(&mut client, &[("SET a 1", "OK"), ("GET a", "'1'")]);
    client.send(&[b"CONFIG", b"SET", b"appendfsync", b"always"]);
    assert!(is_silent(&mut client), "the reply waits as well");
    let mut reader = Client::connect(&running);
    reader.send(&[b"GET", b"a"]);
    assert!(is_silent(&mut reader));
    gate.open();
    assert_eq!(common::show(&reader.receive()), "'1'");
    assert_eq!(common::show(&client.receive()), "OK");
    running.server.stop().unwrap();
}

#[test]
fn replies_leave_in_order_while_others_write() {
    let running = start(Arc::new(SimulatedDisk::default()), SyncPolicy::Always);
    thread::scope(|scope| {
        for number in 0..6 {
            let running = &running;
            scope.spawn(move || {
                let mut client = Client::connect(running);
                for round in 0..60 {
                    (0..number + 1).for_each(|at| {
                        client.send(&[
                            b"SET",
                            format!("{number} {at}").as_bytes(),
                            format!("{round}").as_bytes(),
                        ]);
                        client.send(&[b"GET", format!("{number} {at}").as_bytes()]);
                    });
                    (0..number + 1).for_each(|_| {
                        assert_eq!(common::show(&client.receive()), "OK");
                        assert_eq!(common::show(&client.receive()), format!("'{round}'"));
                    });
                }
            });
        }
    });
    running.server.stop().unwrap();
}

#[test]
fn only_waitaof_waits_under_everysec() {
    let (running, gate) = start_gated(SyncPolicy::EverySecond);
    let mut client = Client::connect(&running);
    gate.close();
    assert_eq!(client.reply_text("SET a 1"), "OK");
    client.send(&[b"WAITAOF", b"1", b"0", b"50"]);
    assert!(is_silent(&mut client));
    running.time.advance(50);
    assert_eq!(common::show(&client.receive()), "[0 0]", "after the timeout");
    client.send(&[b"WAITAOF", b"1", b"0", b"0"]);
    assert!(is_silent(&mut client));
    running.time.advance(1_000_000);
    assert!(is_silent(&mut client));
    gate.open();
    assert_eq!(common::show(&client.receive()), "[1 0]");
    // There are no replicas, so the client waits for its timeout, as with Redis.
    client.send(&[b"WAITAOF", b"1", b"1", b"50"]);
    assert!(is_silent(&mut client));
    running.time.advance(50);
    assert_eq!(common::show(&client.receive()), "[1 0]");
    assert_eq!(client.reply_text("WAITAOF 1 -1 50"), "!ERR value is out of range, must be positive");
    running.server.stop().unwrap();
}

/// `timeout` concerns no client that waits for a command or for a reply that is not durable yet.
#[test]
fn a_client_that_waits_for_the_disk_is_not_idle() {
    for (policy, line, reply) in
        [(SyncPolicy::EverySecond, "WAITAOF 1 0 0", "[1 0]"), (SyncPolicy::Always, "SET a 2", "OK")]
    {
        let (running, gate) = start_gated(policy);
        let [mut client, mut idle, mut other] = [(); 3].map(|()| Client::connect(&running));
        dialogue(&mut idle, &[("SET a 1", "OK"), ("CONFIG SET timeout 10", "OK")]);
        gate.close();
        other.send(&[b"SET", b"b", b"1"]);
        while running.store.table("0").unwrap().pair_count() < 2 {
            thread::sleep(Duration::from_millis(1));
        }
        client.send(&line.split(' ').map(str::as_bytes).collect::<Vec<_>>());
        assert!(is_silent(&mut client), "{line}");
        running.time.advance(11_000);
        assert!(idle.is_closed());
        assert!(is_silent(&mut client), "{line}");
        gate.open();
        assert_eq!(common::show(&client.receive()), reply);
        running.server.stop().unwrap();
    }
}

/// The server stops although a client waits for a disk that hangs.
#[test]
fn a_command_that_waits_for_the_disk_does_not_delay_a_stop() {
    let (running, gate) = start_gated(SyncPolicy::EverySecond);
    let mut client = Client::connect(&running);
    gate.close();
    assert_eq!(client.reply_text("SET a 1"), "OK");
    client.send(&[b"WAITAOF", b"1", b"0", b"0"]);
    assert!(is_silent(&mut client));
    let stopping = thread::spawn(|| running.server.stop().unwrap());
    // Ten times the timeout of a stop.
    (0..200).filter(|_| !stopping.is_finished()).for_each(|_| thread::sleep(Duration::from_millis(100)));
    assert!(stopping.is_finished(), "the server still waits for the disk");
    drop(gate);
    stopping.join().unwrap();
}

/// Commands that wait take turns with the others, but their pauses pass at the same time.
#[test]
fn commands_that_wait_do_not_delay_long_ones() {
    const WAITING: usize = 500;
    const LONG: u32 = 20;
    let (running, gate) = start_gated(SyncPolicy::EverySecond);
    let mut client = Client::connect(&running);
    gate.close();
    assert_eq!(client.reply_text("SET a 1"), "OK");
    let mut waiting: Vec<_> = (0..WAITING).map(|_| Client::connect(&running)).collect();
    waiting.iter_mut().for_each(|client| client.send_bytes(b"WAITAOF 1 0 0\r\n"));
    assert!(waiting.iter_mut().take(1).all(is_silent));
    let words: Vec<_> = (0..300).map(|number| format!("key{number} v")).collect();
    let began = Instant::now();
    (0..LONG).for_each(|_| assert_eq!(client.reply_text(&format!("MSET {}", words.join(" "))), "OK"));
    // If each pause delayed the others by a millisecond, each of the long commands would take `WAITING` of
    // them.
    let (took, limit) = (began.elapsed(), LONG * Duration::from_millis(WAITING as u64) / 2);
    assert!(took < limit, "{took:?}");
    gate.open();
    waiting.iter_mut().for_each(|client| assert_eq!(common::show(&client.receive()), "[1 0]"));
    running.server.stop().unwrap();
}

/// Each core has some of the clients.
#[test]
fn other_clients_are_served_while_a_shutdown_waits_for_a_checkpoint() {
    let (running, gate) = start_gated(SyncPolicy::EverySecond);
    let (send, receive) = mpsc::channel();
    running.server.on_shutdown(move || send.send(()).unwrap());
    let mut others: Vec<_> = (0..16).map(|_| Client::connect(&running)).collect();
    assert_eq!(others[0].reply_text("SET a 1"), "OK");
    assert_eq!(others[0].reply_text("SHUTDOWN ABORT"), "!ERR No shutdown in progress.");
    gate.close();
    let mut stopping = Client::connect(&running);
    stopping.send(&[b"SHUTDOWN", b"SAVE"]);
    assert!(is_silent(&mut stopping));
    others.iter_mut().for_each(|client| assert_eq!(client.reply_text("GET a"), "'1'"));
    assert_eq!(others[1].reply_text("SHUTDOWN ABORT"), "OK");
    assert_eq!(common::show(&stopping.receive()), "!ERR SHUTDOWN ABORT has cancelled the shutdown");
    assert_eq!(others[1].reply_text("SHUTDOWN ABORT"), "!ERR No shutdown in progress.");
    // The server also stops if the client has disconnected meanwhile. It resets the connection, because it
    // has not read a reply.
    stopping.send_bytes(b"PING\r\nSHUTDOWN SAVE\r\n");
    stopping.socket.peek(&mut [0]).unwrap();
    thread::sleep(Duration::from_millis(100));
    drop(stopping);
    wait_for(&mut others[0], "clients", "connected_clients:16\\r\\n");
    assert!(receive.try_recv().is_err(), "the checkpoint is not complete");
    gate.open();
    receive.recv_timeout(Duration::from_secs(60)).unwrap();
    running.server.stop().unwrap();
}

/// A client that waits for the shutdown gets no reply.
#[test]
fn a_shutdown_after_a_checkpoint_closes_the_connection() {
    let (running, gate) = start_gated(SyncPolicy::EverySecond);
    let (send, receive) = mpsc::channel();
    running.server.on_shutdown(move || send.send(()).unwrap());
    let mut client = Client::connect(&running);
    client.send_bytes(b"SHUTDOWN SAVE\r\nPING\r\n");
    receive.recv_timeout(Duration::from_secs(60)).unwrap();
    assert!(matches!(client.socket.read(&mut [0; 16]), Ok(0)));
    drop(gate);
    running.server.stop().unwrap();
}

/// A stop waits for the disk, up to its timeout, if a client waits for a reply that is not durable yet.
#[test]
fn a_reply_that_waits_for_the_disk_leaves_before_the_server_stops() {
    let (running, gate) = start_gated(SyncPolicy::Always);
    let mut client = Client::connect(&running);
    gate.close();
    client.send(&[b"SET", b"a", b"1"]);
    assert!(is_silent(&mut client));
    assert_eq!(running.store.table("0").unwrap().pair_count(), 1);
    let stopping = thread::spawn(|| running.server.stop().unwrap());
    thread::sleep(Duration::from_millis(600));
    gate.open();
    assert_eq!(common::show(&client.receive()), "OK");
    stopping.join().unwrap();
}

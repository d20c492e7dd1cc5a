//! The server's memory is bounded for all behaviour of clients. The measurement is one test, because tests
//! of one process share its memory.
#![allow(missing_docs)]

mod common;

use std::io::Read;
use std::thread::sleep;
use std::time::{Duration, Instant};

use honeycomb_protocol::resp::{Reply, encode};
use honeycomb_server::Config;
use honeycomb_testing::number;

use common::{
    Client, Running, peak_of, resident, send_without_reading, show, start_with, start_with_system_time,
};

const MIB: usize = 1 << 20;
/// `maxmemory-clients` in this test.
const CLIENTS: usize = 96 * MIB;
/// The bound that docs/guide/operations.md states: the memory of the store, twice that of clients (a buffer
/// exists twice while it grows), and 32 MiB for the work in progress of each core.
const BOUND: usize = 64 * MIB + 2 * CLIENTS + 2 * 32 * MIB;

/// The memory that stays resident without clients: touched pages of the arena, of which the long value is a
/// part before, 16 MiB that each core has freed but not returned to the system, and the chunks of replies.
const KEPT: usize = 64 * MIB - 16 * MIB + 2 * 16 * MIB + 16 * MIB + 4 * MIB;

/// Reads and discards a number of replies of `bytes` bytes each.
fn read_all(client: &mut Client, replies: usize, bytes: usize) {
    let header = format!("${bytes}\r\n");
    let (mut remaining, mut buffer) = (replies * (header.len() + bytes + 2), vec![0; 1 << 16]);
    while remaining > 0 {
        let length = remaining.min(buffer.len());
        let bytes = client.socket.read(&mut buffer[..length]).unwrap();
        assert!(bytes > 0, "the server closed the connection {remaining} bytes before the end");
        remaining -= bytes;
    }
}

/// Runs hostile clients of one kind against a server.
type Hostile = fn(&Running) -> Vec<Client>;

/// The kinds of hostile clients.
const HOSTILE: [(&str, Hostile); 8] = [
    ("one value, hundreds of times", |running| {
        vec![send_without_reading(running, &b"GET long\r\n".repeat(300))]
    }),
    ("many clients that do not read", |running| {
        let gets = b"GET short\r\n".repeat(1000);
        (0..50).map(|_| send_without_reading(running, &gets)).collect()
    }),
    ("transactions of long values", |running| {
        let exec = [&b"MULTI\r\n"[..], &b"GET short\r\n".repeat(1000), b"EXEC\r\n"].concat();
        (0..4).map(|_| send_without_reading(running, &exec)).collect()
    }),
    ("one command of many long values", |running| {
        let mut mget = Vec::new();
        let words: Vec<_> = std::iter::once("MGET").chain(std::iter::repeat_n("long", 1000)).collect();
        encode(&words, &mut mget);
        (0..8).map(|_| send_without_reading(running, &mget)).collect()
    }),
    ("a transaction that writes long values", |running| {
        let write = |number| format!("SETRANGE a{number} 16000000 x\r\n");
        let writes = (0..200).map(write).collect::<String>();
        vec![send_without_reading(running, ["MULTI\r\n", &writes, "EXEC\r\n"].concat().as_bytes())]
    }),
    ("requests that never end", |running| {
        let incomplete = endless(b"");
        (0..40).map(|_| send_without_reading(running, &incomplete)).collect()
    }),
    ("requests that never end, of clients with no-evict", |running| {
        let incomplete = endless(b"CLIENT NO-EVICT ON\r\n");
        (0..40).map(|_| send_without_reading(running, &incomplete)).collect()
    }),
    ("monitors that do not read", |running| {
        let monitors: Vec<_> = (0..30).map(|_| send_without_reading(running, b"MONITOR\r\n")).collect();
        let mut writes = Vec::new();
        encode(&[&b"SET"[..], b"shown", &vec![b'm'; MIB]], &mut writes);
        drop(send_without_reading(running, &writes.repeat(20)));
        monitors
    }),
];

/// Returns a complete request, followed by a long one that stays incomplete.
fn endless(first: &[u8]) -> Vec<u8> {
    let mut incomplete = [first, b"*2\r\n$3\r\nGET\r\n$500000000\r\n"].concat();
    incomplete.resize(4 * MIB, b'k');
    incomplete
}

/// Runs each kind once, or repeats all for `HONEYCOMB_SOAK_SECONDS` in `make soak`.
#[test]
fn memory_is_bounded_for_all_behaviour_of_clients() {
    let seconds = number("HONEYCOMB_SOAK_SECONDS", 0);
    let config = Config { cores: 2, clients_bytes_max: CLIENTS, ..Config::default() };
    let running = start_with_system_time(config);
    let mut client = Client::connect(&running);
    for (key, bytes) in [("long", 16_777_207), ("short", MIB)] {
        client.send(&[b"SET", key.as_bytes(), &vec![b'v'; bytes]]);
        assert_eq!(show(&client.receive()), "OK");
    }
    let (before, began) = (resident()[0], Instant::now());
    loop {
        for (name, hostile) in HOSTILE {
            println!("{name}");
            let grown = peak_of(|| drop(hostile(&running))).saturating_sub(before);
            assert!(grown <= BOUND, "{name}: {} MiB", grown / MIB);
            assert_eq!(Client::connect(&running).reply_text("STRLEN short"), MIB.to_string(), "{name}");
        }
        wait_for_release(before);
        // All kinds run concurrently; each repeats while the server still executes its previous commands.
        let all_at_once = || {
            std::thread::scope(|scope| {
                for (_, hostile) in HOSTILE {
                    let running = &running;
                    scope.spawn(move || (0..3).for_each(|_| drop(hostile(running))));
                }
            });
        };
        let grown = peak_of(all_at_once).saturating_sub(before);
        assert!(grown <= BOUND, "all at once: {} MiB", grown / MIB);
        wait_for_release(before);
        // A client that reads receives all of its replies next to clients that do not read.
        let hostile = HOSTILE[1].1(&running);
        let mut well_behaved = Client::connect(&running);
        for (key, replies, bytes) in [("short", 300, MIB), ("long", 20, 16_777_207)] {
            well_behaved.send_bytes(format!("GET {key}\r\n").repeat(replies).as_bytes());
            read_all(&mut well_behaved, replies, bytes);
        }
        drop((hostile, well_behaved));
        wait_for_release(before);
        if began.elapsed().as_secs() >= seconds {
            return;
        }
    }
}

/// Waits until the server has released the memory of closed connections.
fn wait_for_release(before: usize) {
    let until = Instant::now() + Duration::from_secs(20);
    while resident()[0] > before + KEPT {
        assert!(Instant::now() < until, "{} MiB remain", (resident()[0] - before) / MIB);
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_unauthenticated_client_can_send_only_short_requests() {
    let config = Config { cores: 1, password: Some("secret".to_owned()), ..Config::default() };
    let running = start_with(config);
    for (request, error) in [
        (&b"*11\r\n"[..], "!ERR Protocol error: unauthenticated multibulk length"),
        (b"*1\r\n$16385\r\n", "!ERR Protocol error: unauthenticated bulk length"),
    ] {
        let mut client = Client::connect(&running);
        client.send_bytes(request);
        assert_eq!(show(&client.receive()), error);
        assert!(client.is_closed());
    }
    let mut client = Client::connect(&running);
    assert_eq!(client.reply_text("AUTH secret"), "OK");
    client.send(&[b"SET", b"a", &[b'v'; 100_000]]);
    assert!(matches!(client.receive(), Reply::Simple(_)));
}

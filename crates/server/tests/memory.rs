//! Whatever clients do, the memory of the server is bounded. One test, since all tests of a process share its
//! memory.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Client, Running, show, start_in_real_time, start_with};
use honeycomb_protocol::resp::{Reply, encode};
use honeycomb_server::Config;

const MIB: usize = 1 << 20;
/// The limit of all clients together in this test.
const CLIENTS: usize = 96 * MIB;
/// The bound that docs/guide/operations.md states: the memory of the store, twice that of clients (a buffer
/// exists twice while it grows), and 32 MiB for the work in progress of each core.
const BOUND: usize = 64 * MIB + 2 * CLIENTS + 2 * 32 * MIB;

/// Bytes of memory of this process: what is resident, and the most that was since the last reset.
fn resident() -> [usize; 2] {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
    })
}

/// Runs what hostile clients do, and returns the most memory that was resident.
fn peak_of(hostile: impl FnOnce()) -> usize {
    fs::write("/proc/self/clear_refs", "5").unwrap();
    hostile();
    resident()[1]
}

/// A client that asks for much and reads nothing; it ends what it does if the server ends the connection.
fn ask_without_reading(running: &Running, request: &[u8]) -> Client {
    let mut client = Client::of(running);
    client.socket.set_nonblocking(true).unwrap();
    let (mut sent, until) = (0, Instant::now() + Duration::from_millis(300));
    while sent < request.len() && Instant::now() < until {
        match client.socket.write(&request[sent..]) {
            Ok(bytes) => sent += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => sleep(Duration::from_millis(1)),
            Err(_) => break,
        }
    }
    client
}

/// Reads so many replies of a length and keeps none.
fn read_all(client: &mut Client, replies: usize, bytes: usize) {
    let header = format!("${bytes}\r\n");
    let (mut left, mut buffer) = (replies * (header.len() + bytes + 2), vec![0; 1 << 16]);
    while left > 0 {
        let most = left.min(buffer.len());
        let bytes = client.socket.read(&mut buffer[..most]).unwrap();
        assert!(bytes > 0, "the server ended the connection, {left} bytes before the end");
        left -= bytes;
    }
}

/// Lets hostile clients at a server.
type Hostile = fn(&Running) -> Vec<Client>;

/// What they do.
const HOSTILE: [(&str, Hostile); 8] = [
    ("one value, hundreds of times", |running| {
        vec![ask_without_reading(running, &b"GET long\r\n".repeat(300))]
    }),
    ("many clients that do not read", |running| {
        let gets = b"GET short\r\n".repeat(1000);
        (0..50).map(|_| ask_without_reading(running, &gets)).collect()
    }),
    ("transactions of long values", |running| {
        let exec = [&b"MULTI\r\n"[..], &b"GET short\r\n".repeat(1000), b"EXEC\r\n"].concat();
        (0..4).map(|_| ask_without_reading(running, &exec)).collect()
    }),
    ("one command of many long values", |running| {
        let mut mget = Vec::new();
        let words: Vec<_> = std::iter::once("MGET").chain(std::iter::repeat_n("long", 1000)).collect();
        encode(&words, &mut mget);
        (0..8).map(|_| ask_without_reading(running, &mget)).collect()
    }),
    ("a transaction that writes long values", |running| {
        let write = |number| format!("SETRANGE a{number} 16000000 x\r\n");
        let writes = (0..200).map(write).collect::<String>();
        vec![ask_without_reading(running, ["MULTI\r\n", &writes, "EXEC\r\n"].concat().as_bytes())]
    }),
    ("requests that never end", |running| {
        let begun = endless(b"");
        (0..40).map(|_| ask_without_reading(running, &begun)).collect()
    }),
    ("requests that never end, of clients not to be evicted", |running| {
        let begun = endless(b"CLIENT NO-EVICT ON\r\n");
        (0..40).map(|_| ask_without_reading(running, &begun)).collect()
    }),
    ("monitors that do not read", |running| {
        let monitors: Vec<_> = (0..30).map(|_| ask_without_reading(running, b"MONITOR\r\n")).collect();
        let mut writes = Vec::new();
        encode(&[&b"SET"[..], b"shown", &vec![b'm'; MIB]], &mut writes);
        drop(ask_without_reading(running, &writes.repeat(20)));
        monitors
    }),
];

/// A request of which most never comes, behind another one.
fn endless(first: &[u8]) -> Vec<u8> {
    let mut begun = [first, b"*2\r\n$3\r\nGET\r\n$500000000\r\n"].concat();
    begun.resize(4 * MIB, b'k');
    begun
}

/// Once each in the tests, and as long as `HONEYCOMB_SOAK_SECONDS` says in `make soak`.
#[test]
fn memory_is_bounded_whatever_clients_do() {
    let seconds = std::env::var("HONEYCOMB_SOAK_SECONDS").map_or(0, |seconds| seconds.parse().unwrap());
    let config = Config { cores: 2, clients_bytes_max: CLIENTS, ..Config::default() };
    let running = start_in_real_time(config);
    let mut client = Client::of(&running);
    for (key, bytes) in [("long", 16_777_207), ("short", MIB)] {
        client.send(&[b"SET", key.as_bytes(), &vec![b'v'; bytes]]);
        assert_eq!(show(&client.answer()), "OK");
    }
    let (before, began) = (resident()[0], Instant::now());
    loop {
        for (name, hostile) in HOSTILE {
            let grown = peak_of(|| drop(hostile(&running))).saturating_sub(before);
            assert!(grown <= BOUND, "{name}: {} MiB", grown / MIB);
            assert_eq!(Client::of(&running).shown("STRLEN short"), MIB.to_string(), "{name}");
        }
        memory_comes_back(before);
        // All of them at once, each of them again while the server still works for the one before.
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
        memory_comes_back(before);
        // A client that reads gets all of its replies, beside others that do not.
        let hostile = HOSTILE[1].1(&running);
        let mut well_behaved = Client::of(&running);
        for (key, replies, bytes) in [("short", 300, MIB), ("long", 20, 16_777_207)] {
            well_behaved.send_bytes(format!("GET {key}\r\n").repeat(replies).as_bytes());
            read_all(&mut well_behaved, replies, bytes);
        }
        drop((hostile, well_behaved));
        memory_comes_back(before);
        if began.elapsed().as_secs() >= seconds {
            return;
        }
    }
}

/// Waits until the memory of closed connections is back, but for pages of the arena that have been used.
fn memory_comes_back(before: usize) {
    let until = Instant::now() + Duration::from_secs(20);
    while resident()[0] > before + 64 * MIB + 16 * MIB {
        assert!(Instant::now() < until, "{} MiB stay", (resident()[0] - before) / MIB);
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_client_that_has_not_said_the_password_may_send_little() {
    let config = Config { cores: 1, password: Some("secret".to_owned()), ..Config::default() };
    let running = start_with(config);
    for (request, error) in [
        (&b"*11\r\n"[..], "!ERR Protocol error: unauthenticated multibulk length"),
        (b"*1\r\n$16385\r\n", "!ERR Protocol error: unauthenticated bulk length"),
    ] {
        let mut client = Client::of(&running);
        client.send_bytes(request);
        assert_eq!(show(&client.answer()), error);
        assert!(client.is_ended());
    }
    let mut client = Client::of(&running);
    assert_eq!(client.shown("AUTH secret"), "OK");
    client.send(&[b"SET", b"a", &[b'v'; 100_000]]);
    assert!(matches!(client.answer(), Reply::Simple(_)));
}

//! Clients whose memory would exceed a small `maxmemory-clients` many times if the server did not count it.
//! The measurements are one test, because tests of one process share its memory.
#![allow(missing_docs)]

mod common;

use std::io::Write;
use std::thread;

use honeycomb_server::Config;

use common::{Client, Running, peak_of, resident, show, start_with, start_with_system_time};

const MIB: usize = 1 << 20;
/// `maxmemory-clients` in this test.
const CLIENTS: usize = 16 * MIB;
/// The bound that docs/guide/operations.md states, without the memory of the store, which is filled before.
const BOUND: usize = 2 * CLIENTS + 2 * 32 * MIB;

/// Runs hostile clients of one kind against a server.
type Hostile = fn(&Running) -> Vec<Client>;

const HOSTILE: [(&str, Hostile); 3] = [
    ("watched values", |running| send_at_once(running, b"WATCH watched\r\n")),
    ("many requests that never end", |running| {
        let mut request = b"*2\r\n$3\r\nGET\r\n$500000000\r\n".to_vec();
        request.resize(64 << 10, b'k');
        send_at_once(running, &request)
    }),
    ("many replies that nobody reads", |running| send_at_once(running, b"COMMAND DOCS\r\n")),
];

/// Connects many clients, and then sends a request of each.
fn send_at_once(running: &Running, request: &[u8]) -> Vec<Client> {
    let clients: Vec<_> = (0..3000).map(|_| Client::connect(running)).collect();
    thread::scope(|scope| {
        for part in clients.chunks(750) {
            scope.spawn(move || {
                for client in part {
                    client.socket.set_nonblocking(true).unwrap();
                    // The server may have closed the connection.
                    let _ = (&client.socket).write(request);
                }
            });
        }
    });
    clients
}

#[test]
fn memory_of_clients_is_counted() {
    let config = Config { cores: 2, clients_bytes_max: CLIENTS, ..Config::default() };
    let running = start_with_system_time(config);
    let mut client = Client::connect(&running);
    for part in 0..7 {
        let (offset, bytes) = ((part * MIB / 2).to_string(), vec![b'v'; MIB / 2]);
        client.send(&[b"SETRANGE", b"watched", offset.as_bytes(), &bytes]);
        client.receive();
    }
    for (name, hostile) in HOSTILE {
        let before = resident()[0];
        let grown = peak_of(|| drop(hostile(&running))).saturating_sub(before);
        println!("{name}: {} MiB", grown / MIB);
        assert!(grown <= BOUND, "{name}: {} MiB", grown / MIB);
        let mut other = Client::connect(&running);
        assert_eq!(other.reply_text("STRLEN watched"), (7 * MIB / 2).to_string(), "{name}");
    }
}

/// Watched pairs of one client may take a fourth of the limit.
#[test]
fn a_client_watches_few_long_values() {
    let running = start_with(Config { cores: 1, clients_bytes_max: MIB, ..Config::default() });
    let mut client = Client::connect(&running);
    for key in ["a", "b", "c"] {
        client.send(&[b"SET", key.as_bytes(), &vec![b'v'; 100_000]]);
        assert_eq!(show(&client.receive()), "OK");
    }
    assert_eq!(client.reply_text("WATCH a b"), "OK");
    let error = client.reply_text("WATCH c");
    assert!(
        error.starts_with("!ERR the watched pairs take more than a fourth of maxmemory-clients"),
        "{error}"
    );
    let list = client.reply_text("CLIENT LIST");
    assert!(list.contains(" watch=2 "), "{list}");
    assert_eq!(client.reply_text("UNWATCH"), "OK");
    assert_eq!(client.reply_text("WATCH c"), "OK");
}

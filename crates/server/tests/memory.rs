//! Whatever clients do, the memory of the server is bounded. One test, since all tests of a process share its
//! memory.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Client, Running, show, start_in_real_time, start_with};
use honeycomb_protocol::resp::{Answer, encode};
use honeycomb_server::Config;

const MIB: usize = 1 << 20;
/// The limit of all clients together in this test.
const CLIENTS: usize = 96 * MIB;
/// The bound that docs/server.md states: the memory of the store, twice that of clients (a buffer that grows
/// is there twice for a moment), and 32 MiB for what each core has under way.
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

fn client_sends(client: &mut Client, value: &[u8]) {
    client.send(&[b"SET", b"shown", value]);
    assert_eq!(show(&client.answer()), "OK");
}

#[test]
fn memory_is_bounded_whatever_clients_do() {
    let running = start_in_real_time(Config { cores: 2, clients_bytes_max: CLIENTS, ..Config::default() });
    let mut client = Client::of(&running);
    let (long, short) = (vec![b'v'; 16_777_207], vec![b'v'; MIB]);
    client.send(&[b"SET", b"long", &long]);
    assert_eq!(show(&client.answer()), "OK");
    client.send(&[b"SET", b"short", &short]);
    assert_eq!(show(&client.answer()), "OK");
    drop((long, short));
    let before = resident()[0];
    let check = |name: &str, peak: usize| {
        let grown = peak.saturating_sub(before);
        assert!(grown <= BOUND, "{name}: {} MiB", grown / MIB);
        assert_eq!(Client::of(&running).shown("STRLEN short"), MIB.to_string(), "{name}");
    };

    let gets = b"GET long\r\n".repeat(300);
    check("one value, hundreds of times", peak_of(|| drop(ask_without_reading(&running, &gets))));

    let gets = b"GET short\r\n".repeat(1000);
    let many = || (0..50).map(|_| ask_without_reading(&running, &gets)).collect::<Vec<_>>();
    check("many clients that do not read", peak_of(|| drop(many())));

    let exec = [&b"MULTI\r\n"[..], &gets, b"EXEC\r\n"].concat();
    let transactions = || (0..4).map(|_| ask_without_reading(&running, &exec)).collect::<Vec<_>>();
    check("transactions of long values", peak_of(|| drop(transactions())));

    let mut mget = Vec::new();
    encode(&std::iter::once("MGET").chain(std::iter::repeat_n("long", 1000)).collect::<Vec<_>>(), &mut mget);
    let mgets = || (0..8).map(|_| ask_without_reading(&running, &mget)).collect::<Vec<_>>();
    check("one command of many long values", peak_of(|| drop(mgets())));

    let writes = (0..200).map(|number| format!("SETRANGE a{number} 16000000 x\r\n")).collect::<String>();
    let grow = ["MULTI\r\n", &writes, "EXEC\r\n"].concat().into_bytes();
    check("a transaction that writes long values", peak_of(|| drop(ask_without_reading(&running, &grow))));

    // Requests that never end: the clients that hold the most go.
    let mut begun = b"*2\r\n$3\r\nGET\r\n$500000000\r\n".to_vec();
    begun.resize(4 * MIB, b'k');
    let requests = || (0..40).map(|_| ask_without_reading(&running, &begun)).collect::<Vec<_>>();
    check("requests that never end", peak_of(|| drop(requests())));
    assert_ne!(Client::of(&running).shown("INFO clients"), "");

    // Clients that are not to be evicted do not take the place of all others.
    let spared = [&b"CLIENT NO-EVICT ON\r\n"[..], &begun].concat();
    let requests = || (0..40).map(|_| ask_without_reading(&running, &spared)).collect::<Vec<_>>();
    let mut others = Vec::new();
    check("requests that never end, of clients not to be evicted", peak_of(|| others = requests()));
    drop(others);

    // What waits for monitors counts as well.
    let monitors: Vec<_> = (0..30).map(|_| ask_without_reading(&running, b"MONITOR\r\n")).collect();
    let value = vec![b'm'; MIB];
    let mut writer = Client::of(&running);
    let show_all = || (0..20).for_each(|_| client_sends(&mut writer, &value));
    check("monitors that do not read", peak_of(show_all));
    drop(monitors);

    // A client that reads gets all of its replies, beside others that do not.
    let hostile = many();
    let mut well_behaved = Client::of(&running);
    well_behaved.send_bytes(&b"GET short\r\n".repeat(300));
    read_all(&mut well_behaved, 300, MIB);
    well_behaved.send_bytes(&b"GET long\r\n".repeat(20));
    read_all(&mut well_behaved, 20, 16_777_207);
    drop(hostile);

    // Memory comes back once the connections are closed, but for the pages of the arena that have been used.
    let (until, arena) = (Instant::now() + Duration::from_secs(20), 64 * MIB);
    while resident()[0] > before + arena + 16 * MIB {
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
    assert!(matches!(client.answer(), Answer::Simple(_)));
}

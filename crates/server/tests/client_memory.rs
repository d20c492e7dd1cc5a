//! Clients whose memory would exceed a small `maxmemory-clients` many times if the server did not count it.
//! The measurements are one test, because tests of one process share its memory.
#![allow(missing_docs)]

mod common;

use std::io::{Read, Write};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_protocol::resp::encode;
use honeycomb_server::{Config, Server, SystemTime, Time};

use common::{Client, Running, number, peak_of, resident, show, start_with};

const MIB: usize = 1 << 20;
/// `maxmemory-clients` in this test.
const CLIENTS: usize = 16 * MIB;
/// The bound that docs/guide/operations.md states, without the memory of the store, which is filled before.
const BOUND: usize = 2 * CLIENTS + 2 * 32 * MIB;

/// A clock that stops the threads with a name, as if they were slow, while their gate is closed, and that can
/// stand still, as if the threads were fast.
#[derive(Debug, Clone, Default)]
struct GatedTime(Arc<(Mutex<Stopping>, Condvar)>);

/// The name of the threads to stop, and the number of those that have stopped.
#[derive(Debug, Default)]
struct Stopping {
    name: &'static str,
    stopped: usize,
    /// The time of a clock that stands still.
    still: Option<Instant>,
}

impl GatedTime {
    fn close(&self, name: &'static str) {
        *self.0.0.lock().unwrap() = Stopping { name, ..Stopping::default() };
    }

    fn open(&self) {
        self.close("");
        self.0.1.notify_all();
    }

    /// Opens the gate, and lets no time pass.
    fn open_and_stand_still(&self) {
        *self.0.0.lock().unwrap() = Stopping { still: Some(Instant::now()), ..Stopping::default() };
        self.0.1.notify_all();
    }

    fn wait_until_stopped(&self) {
        while self.0.0.lock().unwrap().stopped == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Time for GatedTime {
    fn milliseconds(&self) -> u64 {
        SystemTime.milliseconds()
    }

    fn instant(&self) -> Instant {
        let own = thread::current().name().unwrap_or_default().to_owned();
        let must_stop = |state: &Stopping| !state.name.is_empty() && own.starts_with(state.name);
        let mut state = self.0.0.lock().unwrap();
        state.stopped += usize::from(must_stop(&state));
        let state = self.0.1.wait_while(state, |state| must_stop(state)).unwrap();
        state.still.unwrap_or_else(Instant::now)
    }
}

/// Starts a server with a clock that can stop it.
fn start_gated() -> (Running, GatedTime) {
    let (gate, config) =
        (GatedTime::default(), Config { cores: 2, clients_bytes_max: CLIENTS, ..Config::default() });
    let config = Config { address: ([127, 0, 0, 1], 0).into(), memory_bytes: 64 << 20, ..config };
    let store = config.open_store().unwrap();
    let server = Server::start(config, store.clone(), Box::new(gate.clone())).unwrap();
    let time = common::start_with(Config { cores: 1, ..Config::default() }).time;
    (Running { server, store, time }, gate)
}

/// Runs hostile clients of one kind against a server.
type Hostile = fn(&Running, &GatedTime) -> Vec<Client>;

const HOSTILE: [(&str, Hostile); 6] = [
    ("watched values", |running, gate| send_at_once((running, gate), b"WATCH watched\r\n")),
    ("many requests that never end", |running, gate| {
        let mut request = b"*2\r\n$3\r\nGET\r\n$500000000\r\n".to_vec();
        request.resize(64 << 10, b'k');
        send_at_once((running, gate), &request)
    }),
    ("many replies that nobody reads", |running, gate| {
        // The time that an iteration takes does not end it, only what it has replied.
        send_before((running, gate), GatedTime::open_and_stand_still, &b"COMMAND DOCS\r\n".repeat(64))
    }),
    ("keys that walks have found", |running, gate| send_at_once((running, gate), b"SCAN 0 COUNT 65536\r\n")),
    ("messages to many subscribers", |running, _| {
        let subscribers = receivers(running, "SUBSCRIBE news");
        send(running, &[b"PUBLISH", b"news", &vec![b'm'; MIB / 2]], 4);
        subscribers
    }),
    ("lines for many monitors", |running, _| {
        let monitors = receivers(running, "MONITOR");
        let mut words = vec![&b"DEL"[..]];
        words.resize(1024, &[b'a'; 1024]);
        send(running, &words, 4);
        monitors
    }),
];

/// Connects many clients, which all send a request before the server executes any.
fn send_at_once(server: (&Running, &GatedTime), request: &[u8]) -> Vec<Client> {
    send_before(server, GatedTime::open, request)
}

/// Connects many clients, which all send a request before the clock lets the server execute any.
fn send_before((running, gate): (&Running, &GatedTime), open: fn(&GatedTime), request: &[u8]) -> Vec<Client> {
    let clients: Vec<_> = (0..2000).map(|_| Client::connect(running)).collect();
    gate.close("core");
    for client in &clients {
        client.socket.set_nonblocking(true).unwrap();
        let _ = (&client.socket).write(request);
    }
    open(gate);
    // The server executes what has arrived before it accepts another client and executes its command.
    Client::connect(running).reply_text("PING");
    gate.open();
    clients
}

/// Connects clients that receive messages after a command, and do not read them.
fn receivers(running: &Running, line: &str) -> Vec<Client> {
    let mut clients: Vec<_> = (0..400).map(|_| Client::connect(running)).collect();
    clients.iter_mut().for_each(|client| drop(client.reply_to(line)));
    clients
}

/// Sends a command some times, and reads its replies.
fn send(running: &Running, words: &[&[u8]], times: usize) {
    let (mut client, mut request) = (Client::connect(running), Vec::new());
    encode(words, &mut request);
    for _ in 0..times {
        // The server may have closed the connection.
        let _ = client.socket.write_all(&request).and_then(|()| client.socket.read(&mut [0; 64]));
    }
}

/// Fills the store with a long value and many long keys.
fn fill(running: &Running) {
    let mut client = Client::connect(running);
    for part in 0..7 {
        let (offset, bytes) = ((part * MIB / 2).to_string(), vec![b'v'; MIB / 2]);
        client.send(&[b"SETRANGE", b"watched", offset.as_bytes(), &bytes]);
        client.receive();
    }
    for batch in 0..64 {
        let keys: Vec<_> = (0..500).map(|at| format!("{:0>440}", batch * 500 + at)).collect();
        let words: Vec<_> = keys.iter().flat_map(|key| [key.as_bytes(), b"v"]).collect();
        client.send(&[&[&b"MSET"[..]], &words[..]].concat());
        assert_eq!(show(&client.receive()), "OK");
    }
}

#[test]
fn memory_of_clients_is_counted() {
    let (running, gate) = start_gated();
    fill(&running);
    for (name, hostile) in HOSTILE {
        let before = resident()[0];
        let grown = peak_of(|| drop(hostile(&running, &gate))).saturating_sub(before);
        println!("{name}: {} MiB", grown / MIB);
        assert!(grown <= BOUND, "{name}: {} MiB", grown / MIB);
        let mut other = Client::connect(&running);
        assert_eq!(other.reply_text("STRLEN watched"), (7 * MIB / 2).to_string(), "{name}");
        wait_for(&mut other, |bytes| bytes < MIB);
    }
    departed_tasks_count(&running, &gate);
}

/// A command executes on although its client has disconnected.
fn departed_tasks_count(running: &Running, gate: &GatedTime) {
    let mut other = Client::connect(running);
    gate.close("background");
    let mut client = Client::connect(running);
    client.send_bytes(b"PING\r\n");
    client.send(&[b"SET", b"key", &vec![b'v'; 4 * MIB]]);
    gate.wait_until_stopped();
    // The connection is reset, because the reply to PING was not read.
    client.socket.peek(&mut [0]).unwrap();
    drop(client);
    let lists_one = |other: &mut Client| other.reply_text("INFO clients").contains("connected_clients:1\\r");
    let began = Instant::now();
    while !lists_one(&mut other) {
        assert!(began.elapsed().as_secs() < 60);
        thread::sleep(Duration::from_millis(1));
    }
    // Nothing else can happen: the buffers of the connection are free, and the task waits.
    thread::sleep(Duration::from_millis(50));
    assert!(memory_of_clients(&mut other) > 4 * MIB, "the task of the disconnected client counts");
    gate.open();
    wait_for(&mut other, |bytes| bytes < MIB);
}

/// Returns the bytes of memory of all clients.
fn memory_of_clients(client: &mut Client) -> usize {
    let stats = client.reply_to("MEMORY STATS");
    let honeycomb_protocol::resp::Reply::Array(fields) = stats else { panic!("{stats:?}") };
    let at = fields.iter().position(|field| show(field) == "'clients.normal'").unwrap();
    number(&fields[at + 1]) as usize
}

/// Waits until the memory of all clients satisfies a condition.
fn wait_for(client: &mut Client, is_so: impl Fn(usize) -> bool) {
    let began = Instant::now();
    while !is_so(memory_of_clients(client)) {
        assert!(began.elapsed().as_secs() < 60, "{} bytes", memory_of_clients(client));
        thread::sleep(Duration::from_millis(5));
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

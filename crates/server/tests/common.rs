//! Servers and clients for the integration tests.
#![allow(dead_code, missing_docs, unreachable_pub)]

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_protocol::resp::{Reply, encode, parse_reply};
use honeycomb_server::{Config, Server, Time};
use honeycomb_store::{DurabilityConfig, Storage, Store, SyncPolicy};

/// A manual clock. The time of day changes only by `advance`. The monotonic clock advances by one millisecond
/// at each call of `instant`.
#[derive(Debug, Clone)]
pub struct ManualTime {
    now: Arc<AtomicU64>,
    instant_calls: Arc<AtomicU64>,
    origin: Instant,
}

impl ManualTime {
    pub fn advance(&self, milliseconds: u64) {
        self.now.fetch_add(milliseconds, Ordering::SeqCst);
    }
}

impl Time for ManualTime {
    fn milliseconds(&self) -> u64 {
        self.now.load(Ordering::SeqCst)
    }

    fn instant(&self) -> Instant {
        self.origin + Duration::from_millis(self.instant_calls.fetch_add(1, Ordering::SeqCst))
    }
}

/// A clock whose time of day advances by one millisecond at each call.
#[derive(Debug)]
struct Ticking(AtomicU64);

impl Time for Ticking {
    fn milliseconds(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }
}

pub struct Running {
    pub server: Server,
    pub store: Store,
    pub time: ManualTime,
}

/// The initial time of `ManualTime`, in milliseconds since 1970.
pub const BEGIN: u64 = 1_700_000_000_000;

pub fn start() -> Running {
    start_with(Config { cores: 2, ..Config::default() })
}

pub fn start_with(config: Config) -> Running {
    let config = Config { memory_bytes: 64 << 20, ..config };
    let store = config.open_store().unwrap();
    start_with_store(config, store)
}

/// Starts a server on an existing store.
pub fn start_with_store(config: Config, store: Store) -> Running {
    let config = Config { address: ([127, 0, 0, 1], 0).into(), ..config };
    let (now, instant_calls) = (Arc::new(AtomicU64::new(BEGIN)), Arc::default());
    let time = ManualTime { now, instant_calls, origin: Instant::now() };
    let server = Server::start(config, store.clone(), Box::new(time.clone())).unwrap();
    Running { server, store, time }
}

/// Opens a store with a log in a storage.
pub fn open_durable(storage: Arc<dyn Storage>, policy: SyncPolicy) -> Store {
    let durability = DurabilityConfig {
        policy,
        writes_wait: false,
        log_file_bytes: 64 << 10,
        ..DurabilityConfig::with_storage(storage)
    };
    let config = honeycomb_store::Config {
        memory_bytes: 32 << 20,
        durability: Some(durability),
        ..honeycomb_store::Config::default()
    };
    Store::open(config).unwrap()
}

/// Starts a server of two cores with a log in a storage.
pub fn start_durable(storage: Arc<dyn Storage>, policy: SyncPolicy) -> Running {
    let config = Config { cores: 2, databases: 3, durability: policy, ..Config::default() };
    start_with_store(config, open_durable(storage, policy))
}

/// Starts a server that uses the system's clock. `Running::time` has no effect.
pub fn start_with_system_time(config: Config) -> Running {
    start_with_time(config, Box::new(honeycomb_server::SystemTime))
}

/// Starts a server whose time advances whenever it reads the clock. `Running::time` has no effect.
pub fn start_ticking(config: Config) -> Running {
    start_with_time(config, Box::new(Ticking(AtomicU64::new(BEGIN))))
}

fn start_with_time(config: Config, time: Box<dyn Time>) -> Running {
    let config = Config { address: ([127, 0, 0, 1], 0).into(), memory_bytes: 64 << 20, ..config };
    let store = config.open_store().unwrap();
    let server = Server::start(config, store.clone(), time).unwrap();
    let time = ManualTime { now: Arc::default(), instant_calls: Arc::default(), origin: Instant::now() };
    Running { server, store, time }
}

pub struct Client {
    pub socket: TcpStream,
    received: Vec<u8>,
}

impl Client {
    pub fn connect(running: &Running) -> Self {
        Self::connect_to(running.server.address())
    }

    pub fn connect_to(address: SocketAddr) -> Self {
        Self::of(TcpStream::connect(address).unwrap())
    }

    pub fn of(socket: TcpStream) -> Self {
        socket.set_read_timeout(Some(std::time::Duration::from_secs(20))).unwrap();
        Self { socket, received: Vec::new() }
    }

    pub fn send(&mut self, arguments: &[&[u8]]) {
        let mut bytes = Vec::new();
        encode(arguments, &mut bytes);
        self.send_bytes(&bytes);
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    pub fn receive(&mut self) -> Reply {
        loop {
            if let Some((reply, length)) = parse_reply(&self.received).unwrap() {
                self.received.drain(..length);
                return reply;
            }
            let mut buffer = [0; 4096];
            let bytes = match self.socket.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                bytes => bytes.unwrap(),
            };
            assert!(bytes > 0, "the server closed the connection");
            self.received.extend_from_slice(&buffer[..bytes]);
        }
    }

    /// Sends the words of a line as a command and returns the reply.
    pub fn reply_to(&mut self, line: &str) -> Reply {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        self.send(&words);
        self.receive()
    }

    /// Sends the words of a line as a command and returns the reply as text, as `show` formats it.
    pub fn reply_text(&mut self, line: &str) -> String {
        show(&self.reply_to(line))
    }

    /// Returns whether the server has closed the connection.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.socket.read(&mut [0; 1]), Ok(0) | Err(_))
    }
}

/// Runs a function concurrently for several clients, each on a thread of its own, with its index.
pub fn run_concurrently(running: &Running, clients: usize, run: impl Fn(usize, &mut Client) + Sync) {
    thread::scope(|scope| {
        for number in 0..clients {
            let run = &run;
            scope.spawn(move || run(number, &mut Client::connect(running)));
        }
    });
}

/// Formats a reply: errors begin with `!`, bulk strings are in quotes, and null is `nil`.
pub fn show(reply: &Reply) -> String {
    let all = |replies: &[Reply]| replies.iter().map(show).collect::<Vec<_>>().join(" ");
    match reply {
        Reply::Simple(text) => text.clone(),
        Reply::Error(text) => format!("!{text}"),
        Reply::Integer(number) => number.to_string(),
        Reply::Bulk(bytes) => format!("'{}'", bytes.escape_ascii()),
        Reply::Null => "nil".to_owned(),
        Reply::Array(replies) => format!("[{}]", all(replies)),
        Reply::Map(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| format!("{}: {}", show(key), show(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Parses the number in a reply, which is an integer or a bulk string.
pub fn number(reply: &Reply) -> i64 {
    show(reply).trim_matches('\'').parse().unwrap()
}

/// Sends line after line and compares each reply with the expected one.
pub fn dialogue(client: &mut Client, lines: &[(&str, &str)]) {
    for (number, (line, expected)) in lines.iter().enumerate() {
        assert_eq!(client.reply_text(line), *expected, "line {number}: {line}");
    }
}

/// Returns the resident memory of this process in bytes, and its maximum since the last reset.
pub fn resident() -> [usize; 2] {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    ["VmRSS:", "VmHWM:"].map(|name| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
    })
}

/// Runs hostile clients and returns the maximum resident memory in bytes.
pub fn peak_of(hostile: impl FnOnce()) -> usize {
    fs::write("/proc/self/clear_refs", "5").unwrap();
    hostile();
    resident()[1]
}

/// Sends a request without reading replies, until all is sent, the time is over, or the server closes the
/// connection.
pub fn send_without_reading(running: &Running, request: &[u8]) -> Client {
    let mut client = Client::connect(running);
    client.socket.set_nonblocking(true).unwrap();
    let (mut sent, until) = (0, Instant::now() + Duration::from_millis(300));
    while sent < request.len() && Instant::now() < until {
        match client.socket.write(&request[sent..]) {
            Ok(bytes) => sent += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(1)),
            Err(_) => break,
        }
    }
    client
}

//! A server for tests, and clients for it.
#![allow(dead_code, missing_docs, unreachable_pub)]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_protocol::resp::{Reply, encode, parse_reply};
use honeycomb_server::{Config, Server, Time};
use honeycomb_store::Store;

/// A time that stands still until it is set. From one look at its stopwatch to the next pass a thousand
/// microseconds.
#[derive(Debug, Clone)]
pub struct ManualTime {
    now: Arc<AtomicU64>,
    looks: Arc<AtomicU64>,
    began: Instant,
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
        self.began + Duration::from_millis(self.looks.fetch_add(1, Ordering::SeqCst))
    }
}

pub struct Running {
    pub server: Server,
    pub store: Store,
    pub time: ManualTime,
}

/// When the time of tests begins, in milliseconds since 1970.
pub const BEGIN: u64 = 1_700_000_000_000;

pub fn start() -> Running {
    start_with(Config { cores: 2, ..Config::default() })
}

pub fn start_with(config: Config) -> Running {
    let config = Config { memory_bytes: 64 << 20, ..config };
    let store = config.open_store().unwrap();
    start_of(config, store)
}

/// A server of a store that is there already.
pub fn start_of(config: Config, store: Store) -> Running {
    let config = Config { address: ([127, 0, 0, 1], 0).into(), ..config };
    let (now, looks) = (Arc::new(AtomicU64::new(BEGIN)), Arc::default());
    let time = ManualTime { now, looks, began: Instant::now() };
    let server = Server::start(config, store.clone(), Box::new(time.clone())).unwrap();
    Running { server, store, time }
}

/// The same, in the time of the system.
pub fn start_in_real_time(config: Config) -> Running {
    let config = Config { address: ([127, 0, 0, 1], 0).into(), memory_bytes: 64 << 20, ..config };
    let store = config.open_store().unwrap();
    let time = ManualTime { now: Arc::default(), looks: Arc::default(), began: Instant::now() };
    let server = Server::start(config, store.clone(), Box::new(honeycomb_server::SystemTime)).unwrap();
    Running { server, store, time }
}

pub struct Client {
    pub socket: TcpStream,
    received: Vec<u8>,
}

impl Client {
    pub fn of(running: &Running) -> Self {
        Self::at(running.server.address())
    }

    pub fn at(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
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

    pub fn answer(&mut self) -> Reply {
        loop {
            if let Some((answer, length)) = parse_reply(&self.received).unwrap() {
                self.received.drain(..length);
                return answer;
            }
            let mut buffer = [0; 4096];
            let bytes = match self.socket.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                bytes => bytes.unwrap(),
            };
            assert!(bytes > 0, "the server has ended the connection");
            self.received.extend_from_slice(&buffer[..bytes]);
        }
    }

    /// Sends the words of a line as a command: what was answered.
    pub fn ask(&mut self, line: &str) -> Reply {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        self.send(&words);
        self.answer()
    }

    /// The same, as a text that is easy to compare.
    pub fn shown(&mut self, line: &str) -> String {
        show(&self.ask(line))
    }

    /// Whether the server ends the connection.
    pub fn is_ended(&mut self) -> bool {
        matches!(self.socket.read(&mut [0; 1]), Ok(0) | Err(_))
    }
}

/// Has some clients do something at the same time, each on a thread, with its number.
pub fn at_once(running: &Running, clients: usize, run: impl Fn(usize, &mut Client) + Sync) {
    thread::scope(|scope| {
        for number in 0..clients {
            let run = &run;
            scope.spawn(move || run(number, &mut Client::of(running)));
        }
    });
}

pub fn show(answer: &Reply) -> String {
    let all = |answers: &[Reply]| answers.iter().map(show).collect::<Vec<_>>().join(" ");
    match answer {
        Reply::Simple(text) => text.clone(),
        Reply::Error(text) => format!("!{text}"),
        Reply::Integer(number) => number.to_string(),
        Reply::Bulk(bytes) => format!("'{}'", bytes.escape_ascii()),
        Reply::Null => "nil".to_owned(),
        Reply::Array(answers) => format!("[{}]", all(answers)),
        Reply::Map(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| format!("{}: {}", show(key), show(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// The number that a reply holds, as an integer or as text.
pub fn number(answer: &Reply) -> i64 {
    show(answer).trim_matches('\'').parse().unwrap()
}

/// Asks line after line and compares what is answered.
pub fn dialogue(client: &mut Client, lines: &[(&str, &str)]) {
    for (number, (line, expected)) in lines.iter().enumerate() {
        assert_eq!(client.shown(line), *expected, "line {number}: {line}");
    }
}

//! Sums over a range of an ordered database over the wire: `RI.REDUCE`, beside pages of pairs with a loop in
//! the client.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use honeycomb_protocol::resp::{Reply, encode, parse_reply};
use honeycomb_server::{Config, Server, SystemTime};

use super::median;
use crate::map::Failure;

/// Pairs of the database, with values of eight bytes.
const PAIRS: u64 = 1_000_000;
/// Pairs of a page.
const PAGE: &str = "1000";
const MEMORY_BYTES: usize = 512 << 20;

/// Measures both. Returns a table.
pub(super) fn measure(rounds: usize, time: Duration) -> Result<String, Failure> {
    let address = ([127, 0, 0, 1], 0).into();
    let config = Config { address, cores: 1, memory_bytes: MEMORY_BYTES, ..Config::default() };
    let store = config.open_store()?;
    let server = Server::start(config, store, Box::new(SystemTime))?;
    let mut client = Client { socket: TcpStream::connect(server.address())?, received: Vec::new() };
    client.socket.set_nodelay(true)?;
    client.load()?;
    let expected = (0..PAIRS).sum::<u64>();
    let (mut pages, mut pushed) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        pages.push(rate(time, || client.sum_of_pages(), expected)?);
        pushed.push(rate(time, || client.reduce(), expected)?);
    }
    server.stop()?;
    let (pages, pushed) = (median(&mut pages), median(&mut pushed));
    let mut text = String::from("sums over the wire, million pairs a second, medians:\n");
    text += "| | rate | ratio to the first |\n|---|---|---|\n";
    text += &format!("| pages of {PAGE} pairs and a loop in the client | {pages:.2} | 1.00 |\n");
    text += &format!("| RI.REDUCE | {pushed:.2} | {:.2} |\n", pushed / pages);
    Ok(text)
}

/// Million pairs a second.
fn rate(
    time: Duration,
    mut sum: impl FnMut() -> Result<u64, Failure>,
    expected: u64,
) -> Result<f64, Failure> {
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < time {
        if sum()? != expected {
            return Err("a sum over the wire is wrong".into());
        }
        count += PAIRS;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64() / 1e6)
}

/// A connection that waits for each reply.
struct Client {
    socket: TcpStream,
    received: Vec<u8>,
}

impl Client {
    fn load(&mut self) -> Result<(), Failure> {
        let numbers: Vec<_> = (0..PAIRS).collect();
        for numbers in numbers.chunks(1000) {
            let mut request = Vec::new();
            for number in numbers {
                encode(&[b"SET", &key(*number)[..], &number.to_le_bytes()], &mut request);
            }
            self.socket.write_all(&request)?;
            for _ in numbers {
                self.receive()?;
            }
        }
        Ok(())
    }

    /// Sums the values of all pairs in the client.
    fn sum_of_pages(&mut self) -> Result<u64, Failure> {
        let (mut sum, mut lower) = (0_u64, b"-".to_vec());
        loop {
            let request = [b"RI.RANGE", &lower[..], b"+", b"COUNT", PAGE.as_bytes()];
            let Reply::Array(items) = self.call(&request)? else { return Err("no pairs".into()) };
            let mut pairs = items.chunks_exact(2);
            for pair in &mut pairs {
                let [Reply::Bulk(key), Reply::Bulk(value)] = pair else { return Err("no pair".into()) };
                sum = sum.wrapping_add(value.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)));
                lower.clear();
                lower.push(b'(');
                lower.extend_from_slice(key);
            }
            if items.is_empty() {
                return Ok(sum);
            }
        }
    }

    /// Sums them in the server.
    fn reduce(&mut self) -> Result<u64, Failure> {
        match self.call(&[b"RI.REDUCE", b"-", b"+", b"u64", b"add", b"0"])? {
            Reply::Bulk(sum) => Ok(str::from_utf8(&sum)?.parse()?),
            other => Err(format!("{other:?}").into()),
        }
    }

    fn call(&mut self, arguments: &[&[u8]]) -> Result<Reply, Failure> {
        let mut request = Vec::new();
        encode(arguments, &mut request);
        self.socket.write_all(&request)?;
        self.receive()
    }

    fn receive(&mut self) -> Result<Reply, Failure> {
        let mut buffer = [0; 1 << 16];
        loop {
            if let Some((reply, length)) = parse_reply(&self.received)? {
                self.received.drain(..length);
                return Ok(reply);
            }
            let bytes = self.socket.read(&mut buffer)?;
            if bytes == 0 {
                return Err("the server closed the connection".into());
            }
            self.received.extend_from_slice(&buffer[..bytes]);
        }
    }
}

fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key:000000000000";
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

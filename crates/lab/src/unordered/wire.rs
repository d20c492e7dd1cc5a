//! Sums over a range of an ordered database over the wire: `RI.REDUCE`, beside pages of pairs with a loop in
//! the client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use honeycomb_protocol::resp::encode;
use honeycomb_server::{Config, Server, SystemTime};

use crate::map::Failure;
use crate::summary::median;

/// Pairs of the database, with values of eight bytes.
const PAIRS: u64 = 1_000_000;
/// Pairs of a write before the client waits for its replies.
const LOADED: usize = 1000;
const MEMORY_BYTES: usize = 512 << 20;
const RECEIVED_BYTES: usize = 256 << 10;

/// Ways to sum the values of all pairs: the name, and the pages of the client. `None`: `RI.REDUCE`.
const WAYS: [(&str, Option<Pages>); 5] = [
    ("pages of 1,000 pairs, each after the previous one", Some(Pages { pairs: 1000, in_flight: 1 })),
    ("pages of 100,000 pairs, each after the previous one", Some(Pages { pairs: 100_000, in_flight: 1 })),
    ("pages of 1,000 pairs, 16 in flight", Some(Pages { pairs: 1000, in_flight: 16 })),
    ("pages of 10,000 pairs, 4 in flight", Some(Pages { pairs: 10_000, in_flight: 4 })),
    ("`RI.REDUCE`", None),
];

/// The pages that a client requests. If several are in flight, the client knows where each begins.
#[derive(Debug, Clone, Copy)]
struct Pages {
    pairs: u64,
    in_flight: u64,
}

/// Measures all ways. Returns a table.
pub(super) fn measure(rounds: usize, time: Duration) -> Result<String, Failure> {
    let address = ([127, 0, 0, 1], 0).into();
    let config = Config { address, cores: 1, memory_bytes: MEMORY_BYTES, ..Config::default() };
    let store = config.open_store()?;
    let server = Server::start(config, store, Box::new(SystemTime))?;
    let socket = TcpStream::connect(server.address())?;
    socket.set_nodelay(true)?;
    let mut client = Client { replies: BufReader::with_capacity(RECEIVED_BYTES, socket), item: Vec::new() };
    client.load()?;
    let mut rates = WAYS.map(|_| Vec::new());
    for _ in 0..rounds {
        for ((_, pages), rates) in WAYS.iter().zip(&mut rates) {
            rates.push(rate(time, || client.sum(*pages))?);
        }
    }
    server.stop()?;
    let rates = rates.map(|rates| median(&rates));
    let best_pages = rates[..WAYS.len() - 1].iter().copied().fold(0.0, f64::max);
    let mut text = String::from("sums over the wire, million pairs a second, medians:\n");
    text += "| | rate | ratio to the first | ratio to the best pages |\n|---|---|---|---|\n";
    for ((name, _), rate) in WAYS.iter().zip(rates) {
        text += &format!("| {name} | {rate:.2} | {:.2} | {:.2} |\n", rate / rates[0], rate / best_pages);
    }
    Ok(text)
}

/// Million pairs a second.
fn rate(time: Duration, mut sum: impl FnMut() -> Result<u64, Failure>) -> Result<f64, Failure> {
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < time {
        if sum()? != (0..PAIRS).sum::<u64>() {
            return Err("a sum over the wire is wrong".into());
        }
        count += PAIRS;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64() / 1e6)
}

/// A connection.
struct Client {
    replies: BufReader<TcpStream>,
    /// The last item of a reply.
    item: Vec<u8>,
}

impl Client {
    fn load(&mut self) -> Result<(), Failure> {
        let numbers: Vec<_> = (0..PAIRS).collect();
        for numbers in numbers.chunks(LOADED) {
            let mut request = Vec::new();
            for number in numbers {
                encode(&[b"SET", &key(*number)[..], &number.to_le_bytes()], &mut request);
            }
            self.replies.get_mut().write_all(&request)?;
            for _ in numbers {
                self.line()?;
            }
        }
        Ok(())
    }

    fn sum(&mut self, pages: Option<Pages>) -> Result<u64, Failure> {
        match pages {
            None => self.reduce(),
            Some(Pages { pairs, in_flight: 1 }) => self.sum_in_turn(pairs),
            Some(pages) => self.sum_in_flight(pages),
        }
    }

    /// Sums the values in the server.
    fn reduce(&mut self) -> Result<u64, Failure> {
        let request: [&[u8]; 6] = [b"RI.REDUCE", b"-", b"+", b"u64", b"add", b"0"];
        self.send(&[&request])?;
        self.bulk()?;
        Ok(str::from_utf8(&self.item)?.parse()?)
    }

    /// Sums the values of pages, each after the last key of the previous one.
    fn sum_in_turn(&mut self, pairs: u64) -> Result<u64, Failure> {
        let (mut sum, mut lower, count) = (0_u64, b"-".to_vec(), pairs.to_string());
        loop {
            self.send(&[&[b"RI.RANGE", &lower, b"+", b"COUNT", count.as_bytes()]])?;
            let last = &mut lower;
            let (part, found) = self.sum_of_page(|key| {
                last.clear();
                last.push(b'(');
                last.extend_from_slice(key);
            })?;
            sum = sum.wrapping_add(part);
            if found < pairs {
                return Ok(sum);
            }
        }
    }

    /// Sums the values of pages whose bounds the client knows.
    fn sum_in_flight(&mut self, Pages { pairs, in_flight }: Pages) -> Result<u64, Failure> {
        let (mut sum, count) = (0_u64, pairs.to_string());
        let starts: Vec<u64> = (0..PAIRS).step_by(pairs as usize).collect();
        for starts in starts.chunks(in_flight as usize) {
            let bounds = starts.iter().map(|start| {
                let (from, to) = (key(*start), key(start + pairs));
                ([&b"["[..], &from].concat(), [&b"("[..], &to].concat())
            });
            let bounds: Vec<_> = bounds.collect();
            let request = |(from, to)| -> [&[u8]; 5] { [b"RI.RANGE", from, to, b"COUNT", count.as_bytes()] };
            let requests: Vec<_> = bounds.iter().map(|(from, to)| request((from, to))).collect();
            let requests: Vec<_> = requests.iter().map(|request| &request[..]).collect();
            self.send(&requests)?;
            for _ in starts {
                sum = sum.wrapping_add(self.sum_of_page(|_| {})?.0);
            }
        }
        Ok(sum)
    }

    /// Sums the values of a reply, and counts its pairs. `visit` receives the last key.
    fn sum_of_page(&mut self, visit: impl FnOnce(&[u8])) -> Result<(u64, u64), Failure> {
        let pairs = self.length(b'*')? / 2;
        let (mut sum, mut visit) = (0_u64, Some(visit));
        for index in 0..pairs {
            self.bulk()?;
            if index + 1 == pairs {
                visit.take().into_iter().for_each(|visit| visit(&self.item));
            }
            self.bulk()?;
            sum = sum.wrapping_add(u64::from_le_bytes(*self.item.first_chunk().ok_or("a short value")?));
        }
        Ok((sum, pairs))
    }

    fn send(&mut self, requests: &[&[&[u8]]]) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        requests.iter().for_each(|request| encode(request, &mut bytes));
        Ok(self.replies.get_mut().write_all(&bytes)?)
    }

    /// Receives a bulk string.
    fn bulk(&mut self) -> Result<(), Failure> {
        let bytes = self.length(b'$')? as usize;
        self.item.resize(bytes + 2, 0);
        self.replies.read_exact(&mut self.item)?;
        self.item.truncate(bytes);
        Ok(())
    }

    /// Receives the length of an item of a type.
    fn length(&mut self, of_type: u8) -> Result<u64, Failure> {
        self.line()?;
        match self.item.split_first() {
            Some((first, length)) if *first == of_type => Ok(str::from_utf8(length)?.trim_end().parse()?),
            _ => Err(String::from_utf8_lossy(&self.item).into()),
        }
    }

    fn line(&mut self) -> Result<(), Failure> {
        self.item.clear();
        self.replies.read_until(b'\n', &mut self.item)?;
        Ok(())
    }
}

fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key:000000000000";
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

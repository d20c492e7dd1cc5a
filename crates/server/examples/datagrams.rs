//! Measures the gets per second that one server core answers over the loopback device, and their CPU time.
//!
//! ```text
//! cargo run --release -p honeycomb-server --example datagrams -- \
//!     [PAIRS] [SECONDS] [CLIENTS] [PAYLOAD_BYTES] [OCSM_DATABASE]
//! ```
//!
//! Keys and values have 12 bytes each, which both protocols can carry. Keys are chosen uniformly. Batches
//! read database 0, and messages the last one, which is unordered, unless an argument states another. The
//! kernel accounts the CPU time of the server's thread.

use std::error::Error;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use honeycomb_client::{Client, Config as ClientConfig, Operation, Outcome};
use honeycomb_protocol::ocsm;
use honeycomb_server::{Config, Datagrams, Server, SystemTime};
use honeycomb_store::Store;
use quinn_udp::{Transmit, UdpSockRef, UdpSocketState};

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Clone, Copy)]
struct Load {
    pairs: u64,
    seconds: f64,
    clients: u64,
    payload_bytes: usize,
}

fn main() -> Result<(), Failure> {
    let numbers: Vec<u64> = env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let number = |index: usize, default| numbers.get(index).copied().unwrap_or(default);
    let load = Load {
        pairs: number(0, 1_000_000),
        seconds: number(1, 5) as f64,
        clients: number(2, 1),
        payload_bytes: number(3, 1472) as usize,
    };
    let here = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let datagrams =
        Datagrams { ocsm: here, batch: here, payload_bytes: load.payload_bytes, ..Datagrams::default() };
    let ocsm_database = numbers.get(4).map(|number| *number as usize);
    let datagrams = Datagrams { ocsm_database, ..datagrams };
    let address = ([127, 0, 0, 1], 0).into();
    let memory_bytes = (256 << 20) + 512 * load.pairs as usize;
    let store = Store::open(honeycomb_store::Config { memory_bytes, ..Default::default() })?;
    let config = Config { address, cores: 1, datagrams, ..Config::default() };
    let of_messages = ocsm_database.unwrap_or(config.databases - 1) as u16;
    let server = Server::start(config, store, Box::new(SystemTime))?;
    let (batch, ocsm) = (
        server.batch_address().ok_or("no port for batches")?,
        server.ocsm_address().ok_or("no port for messages")?,
    );
    fill(batch, 0, load)?;
    fill(batch, of_messages, load)?;
    println!("{} pairs, {} clients, payloads of {} bytes", load.pairs, load.clients, load.payload_bytes);
    measure("batches of gets", load, move |seed| gets(batch, load, seed))?;
    measure("search messages", load, move |seed| searches(ocsm, load, seed))?;
    measure("single gets", load, move |seed| single_gets(batch, load, seed))?;
    server.stop()?;
    Ok(())
}

/// Runs the clients and prints the answers per second and the server's CPU time per answer.
fn measure(
    name: &str,
    load: Load,
    client: impl Fn(u64) -> Result<u64, Failure> + Send + Copy + 'static,
) -> Result<(), Failure> {
    let (sender, answers) = mpsc::channel();
    let (begin, before) = (Instant::now(), server_nanoseconds()?);
    for seed in 1..=load.clients {
        let sender = sender.clone();
        thread::spawn(move || sender.send(client(seed)));
    }
    drop(sender);
    let answers: u64 = answers.iter().sum::<Result<u64, Failure>>()?;
    let (wall, server) = (begin.elapsed().as_secs_f64(), server_nanoseconds()? - before);
    let cost = server as f64 / answers as f64;
    let busy = server as f64 / wall / 1e7;
    let (rate, core_rate) = (answers as f64 / wall / 1e6, 1e3 / cost);
    println!(
        "{name:22} {rate:8.3} million/s, {cost:7.0} ns of CPU time each ({busy:3.0} % busy): \
         {core_rate:.2} million/s per core"
    );
    Ok(())
}

/// Returns the CPU time of the server's thread in nanoseconds.
fn server_nanoseconds() -> Result<u64, Failure> {
    for task in fs::read_dir("/proc/self/task")? {
        let path = task?.path();
        if fs::read_to_string(path.join("comm"))?.trim() == "core 0" {
            let times = fs::read_to_string(path.join("schedstat"))?;
            return Ok(times.split(' ').next().unwrap_or_default().parse()?);
        }
    }
    Err("no thread of the server".into())
}

fn key(number: u64) -> [u8; 12] {
    let mut key = [b'k'; 12];
    key[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key
}

/// Returns a generator of random indices of pairs.
fn numbers(load: Load, seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % load.pairs
    }
}

fn connect(server: SocketAddr, table: u16, load: Load) -> Result<Client, honeycomb_client::Error> {
    let (payload_bytes, timeout) = (load.payload_bytes, Duration::from_millis(200));
    Client::connect(server, ClientConfig { table, payload_bytes, timeout, ..ClientConfig::default() })
}

fn fill(server: SocketAddr, table: u16, load: Load) -> Result<(), Failure> {
    let mut client = connect(server, table, load)?;
    let keys: Vec<[u8; 12]> = (0..load.pairs).map(key).collect();
    let puts: Vec<Operation<'_>> = keys.iter().map(|key| Operation::Put { key, value: key }).collect();
    let mut failed = 0_u64;
    client.call(&puts, |_, outcome| failed += u64::from(outcome != Outcome::Done))?;
    if failed > 0 { Err(format!("{failed} pairs were not written").into()) } else { Ok(()) }
}

/// Keeps the maximum number of gets in flight. Returns the number of answers.
fn gets(server: SocketAddr, load: Load, seed: u64) -> Result<u64, Failure> {
    let (mut client, mut next) = (connect(server, 0, load)?, numbers(load, seed));
    let until = Instant::now() + Duration::from_secs_f64(load.seconds);
    let (mut answers, mut lost) = (0_u64, 0_u64);
    let mut key_of_next = key(next());
    while Instant::now() < until {
        while client.submit(&Operation::Get(&key_of_next))?.is_some() {
            key_of_next = key(next());
        }
        client.poll(Duration::from_secs(1), |_, outcome| match outcome {
            Outcome::Value(_) => answers += 1,
            _ => lost += 1,
        })?;
    }
    if lost > 0 { Err(format!("{lost} gets returned no value").into()) } else { Ok(answers) }
}

fn single_gets(server: SocketAddr, load: Load, seed: u64) -> Result<u64, Failure> {
    let (mut client, mut next) = (connect(server, 0, load)?, numbers(load, seed));
    let until = Instant::now() + Duration::from_secs_f64(load.seconds);
    let mut answers = 0;
    while Instant::now() < until {
        answers += u64::from(client.get(&key(next()))?.is_some());
    }
    Ok(answers)
}

/// Packets per system call, and the number of such groups in flight.
const GROUP_PACKETS: usize = 32;
const GROUPS_IN_FLIGHT: usize = 2;

/// Keeps packets of searches in flight. Considers them lost when no reply arrives before the timeout.
fn searches(server: SocketAddr, load: Load, seed: u64) -> Result<u64, Failure> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut next = numbers(load, seed);
    let until = Instant::now() + Duration::from_secs_f64(load.seconds);
    let (mut answers, mut in_flight, mut buffer) = (0, 0, vec![0; 1 << 16]);
    let mut metas = [quinn_udp::RecvMeta::default()];
    while Instant::now() < until {
        while in_flight <= GROUP_PACKETS * (GROUPS_IN_FLIGHT - 1) {
            let (contents, size) = packets(&mut next, load.payload_bytes)?;
            let (destination, segment_size) = (server, Some(size));
            let transmit =
                Transmit { destination, ecn: None, contents: &contents, segment_size, src_ip: None };
            state.try_send(UdpSockRef::from(&socket), &transmit)?;
            in_flight += contents.len() / size;
        }
        let mut buffers = [std::io::IoSliceMut::new(&mut buffer)];
        match state.recv(UdpSockRef::from(&socket), &mut buffers, &mut metas) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => in_flight = 0,
            received => drop(received?),
        }
        for datagram in buffer[..metas[0].len].chunks(metas[0].stride.max(1)) {
            let replies = ocsm::Packet::parse(datagram)?;
            let is_found = |reply: &ocsm::Message<'_>| reply.status() == Some(ocsm::Status::Done);
            answers += replies.messages().filter(is_found).count() as u64;
            in_flight = in_flight.saturating_sub(1);
        }
        metas[0].len = 0;
    }
    Ok(answers)
}

/// Returns full packets of searches, and the size of each packet.
fn packets(next: &mut impl FnMut() -> u64, payload_bytes: usize) -> Result<(Vec<u8>, usize), Failure> {
    let (form, message_type) = (ocsm::Form::Short, ocsm::MessageType::Search);
    let mut requests = ocsm::RequestPacket::new(message_type, form, 0, payload_bytes);
    let mut contents = Vec::new();
    let packets = (honeycomb_protocol::PAYLOAD_BYTES_MAX / payload_bytes).clamp(1, GROUP_PACKETS);
    for _ in 0..packets {
        requests.clear();
        for sequence_number in 0..form.messages_max(payload_bytes) as u16 {
            let (operation, key) = (ocsm::Operation::Search, key(next()));
            let request = ocsm::RequestMessage {
                sequence_number,
                source: 0,
                destination: 0,
                operation,
                key,
                value: b"",
            };
            requests.push(&request)?;
        }
        contents.extend_from_slice(requests.bytes());
    }
    Ok((contents, requests.bytes().len()))
}

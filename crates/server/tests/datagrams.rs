//! Datagrams over real sockets: both protocols next to Redis clients, loss, duplicates and attacks.
#![allow(missing_docs)]

mod common;

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use honeycomb_client::{Client, Config as ClientConfig, Exchange, Operation, Outcome, Ticket};
use honeycomb_protocol::batch::{Header, Item, Items, Kind, Rejection, RequestDatagram};
use honeycomb_protocol::{PAYLOAD_BYTES, ocsm};
use honeycomb_server::{Config, Datagrams};
use honeycomb_store::TableKind;

use common::{Client as RedisClient, Running, dialogue, start_with, start_with_store};

fn running() -> Running {
    start_with(config(None))
}

fn config(ocsm_database: Option<usize>) -> Config {
    let here = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let datagrams = Datagrams { ocsm: here, ocsm_database, batch: here, ..Datagrams::default() };
    Config { cores: 2, datagrams: Datagrams { reply_datagrams_max: 4, ..datagrams }, ..Config::default() }
}

/// A socket and the server's address.
struct Peer {
    socket: UdpSocket,
    server: SocketAddr,
}

impl Peer {
    fn new(server: Option<SocketAddr>) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { socket, server: server.unwrap() }
    }

    fn send(&self, datagram: &[u8]) {
        self.socket.send_to(datagram, self.server).unwrap();
    }

    fn receive(&self) -> Vec<u8> {
        let mut buffer = vec![0; 1 << 16];
        let (bytes, from) = self.socket.recv_from(&mut buffer).unwrap();
        assert_eq!(from, self.server);
        buffer.truncate(bytes);
        buffer
    }

    fn reply_to(&self, datagram: &[u8]) -> Vec<u8> {
        self.send(datagram);
        self.receive()
    }

    fn reply_header(&self, header: Header) -> Header {
        let answer = self.reply_to(&header.bytes());
        let (header, rest) = Header::parse(&answer).unwrap();
        assert!(rest.is_empty());
        header
    }

    /// Opens a session and returns its ID.
    fn open_session(&self) -> u64 {
        let token = self.reply_header(Header::of(Kind::Hello));
        assert_eq!(token.kind, Kind::Token);
        let session = self.reply_header(Header { identifier: token.identifier, ..Header::of(Kind::Hello) });
        assert_eq!(session.kind, Kind::Session);
        session.session
    }
}

fn message(operation: ocsm::Operation, key: &[u8; 12], value: &[u8], form: ocsm::Form) -> Vec<u8> {
    message_for(0, operation, key, value, form)
}

fn message_for(
    table: u16,
    operation: ocsm::Operation,
    key: &[u8; 12],
    value: &[u8],
    form: ocsm::Form,
) -> Vec<u8> {
    let mut requests = ocsm::RequestPacket::new(operation.message_type(), form, table, PAYLOAD_BYTES);
    let (source, destination, key) = (1, 2, *key);
    let request = ocsm::RequestMessage { sequence_number: 3, source, destination, operation, key, value };
    requests.push(&request).unwrap();
    requests.bytes().to_vec()
}

fn status_and_value(reply: &[u8]) -> (ocsm::Status, Vec<u8>) {
    let packet = ocsm::Packet::parse(reply).unwrap();
    assert!(packet.header().is_reply);
    let message = packet.messages().next().unwrap();
    assert_eq!((message.sequence_number(), message.source(), message.destination()), (3, 2, 1));
    (message.status().unwrap(), message.value().unwrap().to_vec())
}

#[test]
fn storage_messages_and_redis_clients_see_the_same_pairs() {
    use ocsm::Form::{Long, Short};
    use ocsm::Operation::{Delete, Insert, Modify, Search};
    use ocsm::Status::{Absent, Done, Exists, TooLong};

    let running = running();
    let (peer, mut redis) = (Peer::new(running.server.ocsm_address()), RedisClient::connect(&running));
    assert_eq!(redis.reply_text("SELECT 15"), "OK");
    let execute = |operation, value: &[u8], form| {
        let request = message(operation, b"twelve-bytes", value, form);
        let reply = peer.reply_to(&request);
        assert_eq!(reply.len(), request.len());
        status_and_value(&reply)
    };
    assert_eq!(execute(Search, b"", Short).0, Absent);
    assert_eq!(execute(Modify, b"red", Short).0, Absent);
    assert_eq!(execute(Insert, b"red", Short).0, Done);
    assert_eq!(execute(Insert, b"green", Short).0, Exists);
    assert_eq!(redis.reply_text("GET twelve-bytes"), "'red'");
    assert_eq!(execute(Modify, b"orange", Short).0, Done);
    assert_eq!(execute(Search, b"", Short), (Done, b"orange".to_vec()));
    assert_eq!(redis.reply_text("SET twelve-bytes this-is-longer-than-twelve"), "OK");
    assert_eq!(execute(Search, b"", Short).0, TooLong);
    assert_eq!(execute(Search, b"", Long), (Done, b"this-is-longer-than-twelve".to_vec()));
    assert_eq!(execute(Delete, b"", Long).0, Done);
    assert_eq!(execute(Delete, b"", Long).0, Absent);
    assert_eq!(redis.reply_text("GET twelve-bytes"), "nil");
    assert_eq!(redis.reply_text("SET twelve-bytes gone PX 10"), "OK");
    running.time.advance(11);
    assert_eq!(execute(Search, b"", Short).0, Absent);
    assert_eq!(execute(Insert, b"new", Short).0, Done);
    assert_eq!(redis.reply_text("GET twelve-bytes"), "'new'");
}

/// Inserts a pair, and returns the status.
fn insert(peer: &Peer, table: u16, key: &[u8; 12]) -> ocsm::Status {
    let insert = message_for(table, ocsm::Operation::Insert, key, b"red", ocsm::Form::Short);
    status_and_value(&peer.reply_to(&insert)).0
}

#[test]
fn messages_have_the_last_database_as_an_unordered_table() {
    let running = running();
    let (peer, mut redis) = (Peer::new(running.server.ocsm_address()), RedisClient::connect(&running));
    assert_eq!(insert(&peer, 0, b"twelve-bytes"), ocsm::Status::Done);
    assert_eq!(insert(&peer, 1, b"twelve-bytes"), ocsm::Status::Failed, "there is no later database");
    assert_eq!(insert(&peer, u16::MAX, b"twelve-bytes"), ocsm::Status::Failed);
    let count = |redis: &mut RedisClient| redis.reply_text("RI.COUNT - +");
    assert_eq!(count(&mut redis), "0");
    assert_eq!(redis.reply_text("SELECT 15"), "OK");
    assert!(count(&mut redis).starts_with("!ERR database 15 is unordered"));
    assert_eq!(redis.reply_text("GET twelve-bytes"), "'red'");
}

#[test]
fn tables_of_messages_may_be_ordered_databases() {
    let running = start_with(config(Some(3)));
    let (peer, mut redis) = (Peer::new(running.server.ocsm_address()), RedisClient::connect(&running));
    assert_eq!(insert(&peer, 0, b"twelve-bytes"), ocsm::Status::Done);
    assert_eq!(insert(&peer, 12, b"twelve-bytes"), ocsm::Status::Done);
    assert_eq!(insert(&peer, 13, b"twelve-bytes"), ocsm::Status::Failed);
    for number in [3, 15] {
        assert_eq!(redis.reply_text(&format!("SELECT {number}")), "OK");
        assert_eq!(redis.reply_text("RI.COUNT - +"), "1");
    }
}

#[test]
fn an_ordered_database_with_pairs_stays_ordered_for_messages() {
    for kept in [true, false] {
        let config = Config { memory_bytes: 64 << 20, ..config(None) };
        let store = config.open_store().unwrap();
        let table = store.table("15").unwrap();
        table.put(b"kept", b"\0red").unwrap();
        if !kept {
            table.delete(b"kept").unwrap();
        }
        drop(table);
        let running = start_with_store(config, store);
        assert_eq!(insert(&Peer::new(running.server.ocsm_address()), 0, b"twelve-bytes"), ocsm::Status::Done);
        let kind = if kept { TableKind::Ordered } else { TableKind::Unordered };
        assert_eq!(running.store.table_kind("15"), Some(kind));
    }
}

#[test]
fn a_full_packet_of_messages_is_answered_in_order() {
    let running = start_with(config(Some(0)));
    let peer = Peer::new(running.server.ocsm_address());
    let packet = |operation: ocsm::Operation| {
        let mut requests =
            ocsm::RequestPacket::new(operation.message_type(), ocsm::Form::Short, 3, PAYLOAD_BYTES);
        for number in 0..45_u16 {
            let mut key = [b'k'; 12];
            key[0] = number as u8;
            let value = &key[..usize::from(number % 13)];
            let request = ocsm::RequestMessage {
                sequence_number: number,
                source: 0,
                destination: 0,
                operation,
                key,
                value,
            };
            requests.push(&request).unwrap();
        }
        requests.bytes().to_vec()
    };
    peer.reply_to(&packet(ocsm::Operation::Insert));
    let replies = peer.reply_to(&packet(ocsm::Operation::Search));
    let replies = ocsm::Packet::parse(&replies).unwrap();
    for (number, reply) in replies.messages().enumerate() {
        assert_eq!(usize::from(reply.sequence_number()), number);
        assert_eq!(
            (reply.status(), reply.value()),
            (Some(ocsm::Status::Done), Some(&reply.key()[..number % 13]))
        );
    }
    assert_eq!(running.store.table("3").unwrap().pair_count(), 45);
}

#[test]
fn malformed_messages_are_rejected_or_ignored() {
    let running = running();
    let peer = Peer::new(running.server.ocsm_address());
    let search = message(ocsm::Operation::Search, b"twelve-bytes", b"", ocsm::Form::Short);
    let with = |at: usize, byte: u8| {
        let mut bytes = search.clone();
        bytes[at] = byte;
        bytes
    };
    // An unknown opcode, an opcode of the other message type, a nonexistent table.
    for (at, byte, status) in [(13, 9, ocsm::Status::NotAllowed), (4, 2, ocsm::Status::NotAllowed)] {
        assert_eq!(status_and_value(&peer.reply_to(&with(at, byte))).0, status);
    }
    assert_eq!(status_and_value(&peer.reply_to(&with(2, 200))).0, ocsm::Status::Failed);
    let mut insert = message(ocsm::Operation::Insert, b"twelve-bytes", b"", ocsm::Form::Short);
    insert[12] = 13;
    peer.send(&insert);
    let packet = peer.receive();
    let reply = ocsm::Packet::parse(&packet).unwrap().messages().next().unwrap().status();
    assert_eq!(reply, Some(ocsm::Status::NotAllowed));
    // Truncated, oversized and untyped packets and replies get no answer. The next answer is for a valid one.
    let long = [&search[..], &[0; 2000]].concat();
    for invalid in [&[][..], &search[..5], &search[..37], &long, &with(4, 7), &with(5, 2), &with(5, 0x80)] {
        peer.send(invalid);
    }
    let answer = peer.reply_to(&with(6, 99));
    let valid = ocsm::Packet::parse(&answer).unwrap().messages().next().unwrap();
    assert_eq!((valid.sequence_number(), valid.status()), (99, Some(ocsm::Status::Absent)));
}

#[test]
fn batches_and_redis_clients_see_the_same_pairs() {
    let running = running();
    let mut redis = RedisClient::connect(&running);
    let mut client =
        Client::connect(running.server.batch_address().unwrap(), ClientConfig::default()).unwrap();
    client.put(b"apple", b"red").unwrap();
    dialogue(&mut redis, &[("GET apple", "'red'"), ("SET pear green PX 10", "OK"), ("INCR count", "1")]);
    assert_eq!(client.get(b"pear").unwrap().as_deref(), Some(&b"green"[..]));
    assert_eq!(client.get(b"count").unwrap().as_deref(), Some(&b"1"[..]));
    assert!(!client.insert(b"pear", b"no").unwrap() && !client.update(b"plum", b"no").unwrap());
    assert!(!client.compare_and_swap(b"pear", b"blue", b"no").unwrap());
    assert!(!client.compare_and_swap(b"plum", b"", b"no").unwrap());
    assert!(client.compare_and_swap(b"apple", b"red", b"brown").unwrap());
    running.time.advance(11);
    assert_eq!(client.get(b"pear").unwrap(), None);
    assert!(!client.delete(b"pear").unwrap() && !client.update(b"pear", b"no").unwrap());
    assert!(client.insert(b"pear", b"yellow").unwrap());
    dialogue(&mut redis, &[("GET pear", "'yellow'"), ("GET apple", "'brown'"), ("TTL pear", "-1")]);
    assert!(client.delete(b"apple").unwrap() && !client.delete(b"apple").unwrap());
    assert_eq!(redis.reply_text("EXISTS apple"), "0");
    assert!(client.get(&[b'k'; 461]).is_err() && client.put(b"", b"").is_err());
}

/// Executes operations and returns their outcomes as text.
fn outcomes(client: &mut Client, operations: &[Operation<'_>]) -> Vec<String> {
    let mut outcomes = vec![String::new(); operations.len()];
    let show = |outcome: Outcome<'_>| match outcome {
        Outcome::Value(value) => value.escape_ascii().to_string(),
        Outcome::Pairs { pairs, more } => {
            let pairs = pairs.iter().map(|(key, value)| format!("{}={}", key.escape_ascii(), value.len()));
            format!("{}{}", pairs.collect::<Vec<_>>().join(","), if more { "+" } else { "" })
        }
        other => format!("{other:?}"),
    };
    client.call(operations, |index, outcome| outcomes[index] = show(outcome)).unwrap();
    outcomes
}

#[test]
fn ranges_omit_expired_pairs() {
    let running = running();
    let mut redis = RedisClient::connect(&running);
    for line in ["MSET b 22 d 4444 e 55555", "SET a 1 PX 10", "SET c 333 PX 10"] {
        assert_eq!(redis.reply_text(line), "OK");
    }
    running.time.advance(11);
    let mut client =
        Client::connect(running.server.batch_address().unwrap(), ClientConfig::default()).unwrap();
    let range =
        |from, pairs_max, floor_start, backward| Operation::Range { from, pairs_max, floor_start, backward };
    let operations = [
        range(b"", 2, false, false),
        range(b"c", 1, true, false),
        range(b"cc", 9, false, false),
        range(b"", 1, false, true),
        range(b"c", 9, false, true),
        range(b"x", 9, false, false),
        Operation::Get(b"d"),
    ];
    assert_eq!(
        outcomes(&mut client, &operations),
        ["b=2,d=4+", "b=2+", "d=4,e=5", "e=5+", "b=2", "", "4444"]
    );
}

#[test]
fn writes_of_one_key_are_executed_in_order() {
    let running = running();
    let mut client =
        Client::connect(running.server.batch_address().unwrap(), ClientConfig::default()).unwrap();
    let key = b"key";
    let operations = [
        Operation::Update { key, value: b"no" },
        Operation::Put { key, value: b"1" },
        Operation::CompareAndSwap { key, expected: b"1", value: b"2" },
        Operation::Insert { key, value: b"no" },
        Operation::Put { key: b"other", value: b"x" },
        Operation::Delete(key),
        Operation::Delete(key),
        Operation::Insert { key, value: b"3" },
        Operation::CompareAndSwap { key, expected: b"1", value: b"no" },
        Operation::Get(key),
    ];
    let expected =
        ["Absent", "Done", "Done", "Exists", "Done", "Done", "Absent", "Done", "Differs", "Absent"];
    assert_eq!(outcomes(&mut client, &operations), expected);
    assert_eq!(client.get(key).unwrap().as_deref(), Some(&b"3"[..]));
}

/// The server retries a put that found no room in its batch, after it has freed memory.
#[test]
fn puts_that_find_no_room_evict_pairs_or_are_rejected() {
    let config = Config { cores: 1, memory_bytes: 4 << 20, ..config(None) };
    let store = config.open_store().unwrap();
    let running = start_with_store(config, store);
    let (mut redis, batch) = (RedisClient::connect(&running), running.server.batch_address().unwrap());
    let mut client = Client::connect(batch, ClientConfig::default()).unwrap();
    let mut put = |first: u32| {
        let keys: Vec<[u8; 4]> = (first..first + 500).map(u32::to_be_bytes).collect();
        let puts: Vec<_> = keys.iter().map(|key| Operation::Put { key, value: &[7; 1000] }).collect();
        outcomes(&mut client, &puts)
    };
    let full = (0..20).flat_map(|part| put(500 * part)).find(|outcome| outcome != "Done");
    assert_eq!(full.as_deref(), Some("OutOfMemory"));
    assert_eq!(redis.reply_text("CONFIG SET maxmemory-policy allkeys-random"), "OK");
    for part in 20..30 {
        assert_eq!(put(500 * part), vec!["Done"; 500]);
    }
}

#[test]
fn values_that_do_not_fit_are_reported() {
    let running = running();
    let mut redis = RedisClient::connect(&running);
    let set = |redis: &mut RedisClient, key: &str, bytes: usize| {
        assert_eq!(redis.reply_text(&format!("SET {key} {}", "v".repeat(bytes))), "OK");
    };
    (0..6).for_each(|number| set(&mut redis, &format!("k{number}"), 1000));
    set(&mut redis, "large", 2000);
    let mut client =
        Client::connect(running.server.batch_address().unwrap(), ClientConfig::default()).unwrap();
    // The values are distinct, so that the test can tell the replies apart.
    for number in 0..6_u8 {
        client.put(format!("k{number}").as_bytes(), &[b'a' + number; 1000]).unwrap();
    }
    let gets = [&b"k0"[..], b"large", b"k1", b"k2", b"k3", b"k4", b"nothing"].map(Operation::Get);
    let values =
        |number: u8| (b'a' + number..=b'a' + number).map(|byte| (byte as char).to_string().repeat(1000));
    let mut expected: Vec<String> = (0..4).flat_map(values).collect();
    expected.insert(1, "TooLarge".to_owned());
    expected.extend(["NoRoom".to_owned(), "Absent".to_owned()]);
    assert_eq!(outcomes(&mut client, &gets), expected);
    let range = Operation::Range { from: b"k", pairs_max: 100, floor_start: false, backward: false };
    assert_eq!(outcomes(&mut client, &[range]), ["k0=1000,k1=1000,k2=1000,k3=1000+"]);
    let large = Operation::Range { from: b"l", pairs_max: 1, floor_start: false, backward: false };
    assert_eq!(outcomes(&mut client, &[large]), ["TooLarge"]);
    let long = client.put(b"k", &[0; 1472]).unwrap_err().to_string();
    assert_eq!(long, "the operation does not fit into a datagram of 1472 bytes");
}

#[test]
fn ranges_of_large_values_are_cut_at_the_length_of_a_reply() {
    let running = running();
    let mut redis = RedisClient::connect(&running);
    for number in 10..40 {
        assert_eq!(redis.reply_text(&format!("SET k{number} {number}{}", "v".repeat(998))), "OK");
    }
    let mut client =
        Client::connect(running.server.batch_address().unwrap(), ClientConfig::default()).unwrap();
    let (mut from, mut seen) = (b"k".to_vec(), Vec::new());
    loop {
        let range =
            Operation::Range { from: &from, pairs_max: u16::MAX, floor_start: false, backward: false };
        let (mut has_more, mut last) = (false, Vec::new());
        let collect = |_, outcome: Outcome<'_>| {
            let Outcome::Pairs { pairs, more } = outcome else { panic!("{outcome:?}") };
            seen.extend(pairs.iter().map(|(key, value)| (key.to_vec(), value.len())));
            (has_more, last) = (more, pairs.last().map_or(Vec::new(), |(key, _)| key.to_vec()));
        };
        client.call(&[range], collect).unwrap();
        if !has_more {
            break;
        }
        last.push(0);
        from = last;
    }
    let expected = (10..40).map(|number| (format!("k{number}").into_bytes(), 1000));
    assert_eq!(seen, expected.collect::<Vec<_>>());
}

#[test]
fn long_datagrams_carry_long_values() {
    let here = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let datagrams = Datagrams { batch: here, payload_bytes: 60_000, ..Datagrams::default() };
    let running = start_with(Config { cores: 1, datagrams, ..Config::default() });
    let config = ClientConfig { payload_bytes: 60_000, ..ClientConfig::default() };
    let mut client = Client::connect(running.server.batch_address().unwrap(), config).unwrap();
    for number in 0..9_u8 {
        client.put(&[number], &vec![number; 50_000]).unwrap();
    }
    let gets: Vec<[u8; 1]> = (0..9).map(|number| [number]).collect();
    let gets: Vec<Operation<'_>> = gets.iter().map(|key| Operation::Get(key)).collect();
    let mut lengths = [0; 9];
    let length = |outcome: Outcome<'_>| if let Outcome::Value(value) = outcome { value.len() } else { 0 };
    client.call(&gets, |index, outcome| lengths[index] = length(outcome)).unwrap();
    assert_eq!((&lengths[..8], lengths[8]), (&[50_000; 8][..], 0));
}

#[test]
fn many_operations_are_in_flight_together() {
    let running = running();
    let mut client =
        Client::connect(running.server.batch_address().unwrap(), ClientConfig::default()).unwrap();
    let keys: Vec<[u8; 4]> = (0..20_000_u32).map(u32::to_be_bytes).collect();
    let puts: Vec<Operation<'_>> = keys.iter().map(|key| Operation::Put { key, value: key }).collect();
    let mut done = 0;
    client.call(&puts, |_, outcome| done += usize::from(outcome == Outcome::Done)).unwrap();
    let gets: Vec<Operation<'_>> = keys.iter().map(|key| Operation::Get(key)).collect();
    let mut correct = 0;
    let is_correct = |index: usize, outcome: Outcome<'_>| outcome == Outcome::Value(&keys[index]);
    client.call(&gets, |index, outcome| correct += usize::from(is_correct(index, outcome))).unwrap();
    assert_eq!((done, correct), (keys.len(), keys.len()));
}

/// A pseudorandom number generator (xorshift) of low quality.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Transfers the datagrams of an exchange, and drops or duplicates some of them.
struct Lossy {
    peer: Peer,
    exchange: Exchange,
    numbers: Numbers,
    outcomes: BTreeMap<Ticket, String>,
}

impl Lossy {
    fn step(&mut self) {
        let Self { peer, exchange, numbers, outcomes } = self;
        let now = Instant::now();
        let mut record = |ticket, outcome: Outcome<'_>| {
            assert_eq!(
                outcomes.insert(ticket, format!("{outcome:?}")),
                None,
                "an operation has two outcomes"
            );
        };
        exchange.flush(now);
        let send = |datagram: &[u8]| (0..numbers.next() % 3).for_each(|_| peer.send(datagram));
        exchange.transmit(now, send, &mut record);
        let mut buffer = [0; 2048];
        while let Ok(bytes) = peer.socket.recv(&mut buffer) {
            for _ in 0..numbers.next() % 3 {
                exchange.receive(&buffer[..bytes], now, &mut record);
            }
        }
    }
}

#[test]
fn lost_requests_are_retransmitted_and_executed_once() {
    let running = running();
    let peer = Peer::new(running.server.batch_address());
    peer.socket.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
    let timeout = Duration::from_millis(4);
    let config = ClientConfig { timeout, requests_max: 16, payload_bytes: 128, ..ClientConfig::default() };
    let exchange = Exchange::new(ClientConfig { reply_deadline: Duration::from_secs(60), ..config });
    let mut lossy = Lossy { peer, exchange, numbers: Numbers(0x9e37_79b9), outcomes: BTreeMap::new() };
    let mut tickets = Vec::new();
    // If an insert were executed twice, the second execution would report that the key exists.
    for number in 0..400_u32 {
        let key = number.to_be_bytes();
        let insert = Operation::Insert { key: &key, value: b"value" };
        let ticket = loop {
            match lossy.exchange.submit(&insert, Instant::now()) {
                Some(ticket) => break ticket,
                None => lossy.step(),
            }
        };
        tickets.push(ticket);
    }
    while lossy.exchange.outstanding() > 0 {
        lossy.step();
    }
    assert!(tickets.iter().all(|ticket| lossy.outcomes[ticket] == "Done"), "{:?}", lossy.outcomes);
    assert_eq!(running.store.table("0").unwrap().pair_count(), 400);
}

/// Parses an answer into header and items.
fn items(answer: &[u8]) -> (Header, Vec<Item<'_>>) {
    let (header, rest) = Header::parse(answer).unwrap();
    (header, Items::new(header.count, rest).collect::<Result<_, _>>().unwrap())
}

#[test]
fn a_repeated_request_is_answered_but_not_executed_again() {
    let running = running();
    let peer = Peer::new(running.server.batch_address());
    let session = peer.open_session();
    let request = |identifier, attempt| {
        let mut requests = RequestDatagram::new(PAYLOAD_BYTES);
        assert!(requests.push(&Operation::Insert { key: b"key", value: b"value" }));
        assert!(requests.push(&Operation::Get(b"key")));
        let header = Header { session, identifier, attempt, ..Header::of(Kind::Request) };
        requests.datagram(header).to_vec()
    };
    // A request executes its reads before its writes.
    let cases = [
        (5, 1, [Item::Done { more: false }, Item::Absent]),
        (5, 2, [Item::Done { more: false }, Item::Found(b"value")]),
        (70, 1, [Item::Exists, Item::Found(b"value")]),
    ];
    for (identifier, attempt, expected) in cases {
        let answer = peer.reply_to(&request(identifier, attempt));
        let (header, items) = items(&answer);
        assert_eq!((header.identifier, header.attempt, header.kind), (identifier, attempt, Kind::ReplyEnd));
        assert_eq!(items, expected);
    }
    for too_old in [5, 6, 0] {
        assert_eq!(items(&peer.reply_to(&request(too_old, 1))).0.kind, Kind::Rejected(Rejection::Identifier));
    }
    assert_eq!(items(&peer.reply_to(&request(7, 1))).1, [Item::Exists, Item::Found(b"value")]);
}

#[test]
fn sessions_are_bound_to_their_client_and_limited_in_number() {
    let here = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let datagrams = Datagrams { batch: here, sessions_max: 2, ..Datagrams::default() };
    let running = start_with(Config { cores: 1, datagrams, ..Config::default() });
    let (peer, other) =
        (Peer::new(running.server.batch_address()), Peer::new(running.server.batch_address()));
    let (session, empty) = (peer.open_session(), Header::of(Kind::Request));
    assert_eq!(peer.reply_header(Header { session, ..empty }).kind, Kind::ReplyEnd);
    assert_eq!(other.reply_header(Header { session, ..empty }).kind, Kind::Rejected(Rejection::Session));
    // A token of another address is answered with a new token.
    let token = peer.reply_header(Header::of(Kind::Hello)).identifier;
    let answer = other.reply_header(Header { identifier: token, ..Header::of(Kind::Hello) });
    assert_eq!(answer.kind, Kind::Token);
    let (second, third) = (peer.open_session(), peer.open_session());
    for (session, kind) in
        [(session, Kind::Rejected(Rejection::Session)), (second, Kind::ReplyEnd), (third, Kind::ReplyEnd)]
    {
        assert_eq!(peer.reply_header(Header { session, ..empty }).kind, kind);
    }
    let rejected = peer.reply_header(Header { session: third, table: 16, ..empty });
    assert_eq!(rejected.kind, Kind::Rejected(Rejection::Table));
    let malformed = peer.reply_header(Header { session: third, count: 1, ..empty });
    assert_eq!(malformed.kind, Kind::Rejected(Rejection::Malformed));
}

#[test]
fn unknown_senders_receive_no_more_bytes_than_they_sent() {
    let running = running();
    RedisClient::connect(&running).reply_to(&format!("SET key {}", "v".repeat(1400)));
    let peer = Peer::new(running.server.batch_address());
    peer.socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let mut requests = RequestDatagram::new(PAYLOAD_BYTES);
    (0..50).for_each(|_| assert!(requests.push(&Operation::Get(b"key"))));
    let get = requests.datagram(Header { session: 12345, ..Header::of(Kind::Request) }).to_vec();
    let (mut numbers, mut answers, mut sent) = (Numbers(7), 0, 0);
    for round in 0..500 {
        let mut datagram = get[..numbers.next() as usize % get.len()].to_vec();
        for _ in 0..round % 5 {
            let at = numbers.next() as usize % datagram.len().max(1);
            datagram.get_mut(at).into_iter().for_each(|byte| *byte = numbers.next() as u8);
        }
        peer.send(&datagram);
        sent += datagram.len();
        let mut buffer = [0; 4096];
        if datagram.len() >= Header::SIZE
            && let Ok(bytes) = peer.socket.recv(&mut buffer)
        {
            assert!(bytes <= datagram.len(), "{bytes} for {}", datagram.len());
            answers += bytes;
        }
    }
    assert!(answers > 0 && answers < sent / 4, "{answers} for {sent}");
}

#[test]
fn floods_of_datagrams_do_not_delay_other_clients() {
    let running = running();
    let (ocsm, batch) = (Peer::new(running.server.ocsm_address()), Peer::new(running.server.batch_address()));
    let search = message(ocsm::Operation::Search, b"twelve-bytes", b"", ocsm::Form::Short);
    let (hello, mut redis) = (Header::of(Kind::Hello).bytes(), RedisClient::connect(&running));
    for _ in 0..20 {
        for _ in 0..500 {
            ocsm.send(&search);
            batch.send(&hello);
            [&ocsm, &batch].iter().for_each(|peer| peer.send(&[0xa5; PAYLOAD_BYTES]));
        }
        assert_eq!(redis.reply_text("PING"), "PONG");
    }
    // The server may drop datagrams during a flood, so clients repeat their requests.
    let answers = |peer: &Peer, request: &[u8]| {
        peer.socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        (0..100).any(|_| {
            peer.send(request);
            peer.socket.recv_from(&mut [0; PAYLOAD_BYTES]).is_ok()
        })
    };
    assert!(answers(&Peer::new(running.server.ocsm_address()), &search));
    assert!(answers(&Peer::new(running.server.batch_address()), &hello));
}

#[test]
fn a_server_with_a_password_rejects_datagrams() {
    let datagrams = Datagrams { ocsm: Some(([127, 0, 0, 1], 0).into()), ..Datagrams::default() };
    let password = Some("secret".to_owned());
    let config = Config { address: ([127, 0, 0, 1], 0).into(), datagrams, password, ..Config::default() };
    let store = honeycomb_store::Store::open(honeycomb_store::Config {
        memory_bytes: 16 << 20,
        ..honeycomb_store::Config::default()
    });
    let outcome =
        honeycomb_server::Server::start(config, store.unwrap(), Box::new(honeycomb_server::SystemTime));
    let expected =
        "requirepass and datagrams: only one of them is allowed, because datagrams carry no password";
    assert_eq!(outcome.unwrap_err().to_string(), expected);
    let running = running();
    let expected = format!("!ERR {expected}");
    let mut redis = RedisClient::connect(&running);
    dialogue(&mut redis, &[("CONFIG SET requirepass secret", &expected), ("PING", "PONG")]);
}

#[test]
fn datagrams_are_answered_beside_long_replies_to_connections() {
    const BURSTS: u32 = 30;
    const PACKETS: u32 = 16;
    let running = start_with(Config { cores: 1, ..config(None) });
    let mut redis = RedisClient::connect(&running);
    redis.send(&[b"SET", b"long", &[b'v'; 30 << 10]]);
    assert_eq!(common::show(&redis.receive()), "OK");
    let peer = Peer::new(running.server.batch_address());
    let session = peer.open_session();
    let mut identifier = 0;
    // The operations of a burst need several rounds, but an iteration ends after the first one, because of
    // the replies to the connection.
    for _ in 0..BURSTS {
        let mut requests = RequestDatagram::new(PAYLOAD_BYTES);
        (0..300).for_each(|_| assert!(requests.push(&Operation::Get(b"k"))));
        redis.send_bytes(&b"GET long\r\n".repeat(20));
        for _ in 0..PACKETS {
            identifier += 1;
            peer.send(requests.datagram(Header {
                session,
                identifier,
                attempt: 1,
                ..Header::of(Kind::Request)
            }));
        }
        let answered: std::collections::BTreeSet<_> =
            (0..PACKETS).map(|_| items(&peer.receive()).0.identifier).collect();
        assert_eq!(answered.len(), PACKETS as usize);
        (0..20).for_each(|_| drop(redis.receive()));
    }
}

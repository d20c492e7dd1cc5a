//! Datagrams over real sockets: both protocols, beside Redis clients, with loss, duplicates and ill will.
#![allow(missing_docs)]

mod common;

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use common::{Client as RedisClient, Running, dialogue, start_with};
use honeycomb_client::{Client, Config as ClientConfig, Exchange, Operation, Outcome, Ticket};
use honeycomb_protocol::batch::{Header, Item, Items, Kind, Rejection, RequestDatagram};
use honeycomb_protocol::{PAYLOAD_BYTES, ocsm};
use honeycomb_server::{Config, Datagrams};

fn running() -> Running {
    let here = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let datagrams = Datagrams { ocsm: here, batch: here, reply_datagrams_max: 4, ..Datagrams::default() };
    start_with(Config { cores: 2, datagrams, ..Config::default() })
}

/// A socket, and where it sends.
struct Raw {
    socket: UdpSocket,
    server: SocketAddr,
}

impl Raw {
    fn to(server: Option<SocketAddr>) -> Self {
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

    fn ask(&self, datagram: &[u8]) -> Vec<u8> {
        self.send(datagram);
        self.receive()
    }

    fn ask_header(&self, header: Header) -> Header {
        let answer = self.ask(&header.bytes());
        let (header, rest) = Header::parse(&answer).unwrap();
        assert!(rest.is_empty());
        header
    }

    /// The name of a new session.
    fn session(&self) -> u64 {
        let token = self.ask_header(Header::of(Kind::Hello));
        assert_eq!(token.kind, Kind::Token);
        let session = self.ask_header(Header { identifier: token.identifier, ..Header::of(Kind::Hello) });
        assert_eq!(session.kind, Kind::Session);
        session.session
    }
}

fn message(operation: ocsm::Operation, key: &[u8; 12], value: &[u8], form: ocsm::Form) -> Vec<u8> {
    let mut requests = ocsm::RequestPacket::new(operation.message_type(), form, 0, PAYLOAD_BYTES);
    let (source, destination, key) = (1, 2, *key);
    let request = ocsm::RequestMessage { sequence_number: 3, source, destination, operation, key, value };
    requests.push(&request).unwrap();
    requests.bytes().to_vec()
}

fn told(reply: &[u8]) -> (ocsm::Status, Vec<u8>) {
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
    let (raw, mut redis) = (Raw::to(running.server.ocsm_address()), RedisClient::of(&running));
    let ask = |operation, value: &[u8], form| {
        let request = message(operation, b"twelve-bytes", value, form);
        let reply = raw.ask(&request);
        assert_eq!(reply.len(), request.len());
        told(&reply)
    };
    assert_eq!(ask(Search, b"", Short).0, Absent);
    assert_eq!(ask(Modify, b"red", Short).0, Absent);
    assert_eq!(ask(Insert, b"red", Short).0, Done);
    assert_eq!(ask(Insert, b"green", Short).0, Exists);
    assert_eq!(redis.shown("GET twelve-bytes"), "'red'");
    assert_eq!(ask(Modify, b"orange", Short).0, Done);
    assert_eq!(ask(Search, b"", Short), (Done, b"orange".to_vec()));
    assert_eq!(redis.shown("SET twelve-bytes this-is-longer-than-twelve"), "OK");
    assert_eq!(ask(Search, b"", Short).0, TooLong);
    assert_eq!(ask(Search, b"", Long), (Done, b"this-is-longer-than-twelve".to_vec()));
    assert_eq!(ask(Delete, b"", Long).0, Done);
    assert_eq!(ask(Delete, b"", Long).0, Absent);
    assert_eq!(redis.shown("GET twelve-bytes"), "nil");
    assert_eq!(redis.shown("SET twelve-bytes gone PX 10"), "OK");
    running.time.advance(11);
    assert_eq!(ask(Search, b"", Short).0, Absent);
    assert_eq!(ask(Insert, b"new", Short).0, Done);
    assert_eq!(redis.shown("GET twelve-bytes"), "'new'");
}

#[test]
fn a_full_packet_of_messages_is_answered_in_order() {
    let running = running();
    let raw = Raw::to(running.server.ocsm_address());
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
    raw.ask(&packet(ocsm::Operation::Insert));
    let replies = raw.ask(&packet(ocsm::Operation::Search));
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
fn messages_that_make_no_sense_are_told_so_or_passed_over() {
    let running = running();
    let raw = Raw::to(running.server.ocsm_address());
    let search = message(ocsm::Operation::Search, b"twelve-bytes", b"", ocsm::Form::Short);
    let with = |at: usize, byte: u8| {
        let mut bytes = search.clone();
        bytes[at] = byte;
        bytes
    };
    // An unknown opcode, one of the other type, a table that is not there.
    for (at, byte, status) in [(13, 9, ocsm::Status::NotAllowed), (4, 2, ocsm::Status::NotAllowed)] {
        assert_eq!(told(&raw.ask(&with(at, byte))).0, status);
    }
    assert_eq!(told(&raw.ask(&with(2, 200))).0, ocsm::Status::Failed);
    let mut insert = message(ocsm::Operation::Insert, b"twelve-bytes", b"", ocsm::Form::Short);
    insert[12] = 13;
    raw.send(&insert);
    let packet = raw.receive();
    let reply = ocsm::Packet::parse(&packet).unwrap().messages().next().unwrap().status();
    assert_eq!(reply, Some(ocsm::Status::NotAllowed));
    // What is short or long, of no type, or a reply itself gets none: the next answer is that of a good one.
    let long = [&search[..], &[0; 2000]].concat();
    for bad in [&[][..], &search[..5], &search[..37], &long, &with(4, 7), &with(5, 2), &with(5, 0x80)] {
        raw.send(bad);
    }
    let answer = raw.ask(&with(6, 99));
    let good = ocsm::Packet::parse(&answer).unwrap().messages().next().unwrap();
    assert_eq!((good.sequence_number(), good.status()), (99, Some(ocsm::Status::Absent)));
}

#[test]
fn batches_and_redis_clients_see_the_same_pairs() {
    let running = running();
    let mut redis = RedisClient::of(&running);
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
    assert_eq!(redis.shown("EXISTS apple"), "0");
    assert!(client.get(&[b'k'; 461]).is_err() && client.put(b"", b"").is_err());
}

/// The outcomes of operations, shown.
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
    client.call(operations, |place, outcome| outcomes[place] = show(outcome)).unwrap();
    outcomes
}

#[test]
fn ranges_pass_over_what_has_expired() {
    let running = running();
    let mut redis = RedisClient::of(&running);
    for line in ["MSET b 22 d 4444 e 55555", "SET a 1 PX 10", "SET c 333 PX 10"] {
        assert_eq!(redis.shown(line), "OK");
    }
    running.time.advance(11);
    let mut client =
        Client::connect(running.server.batch_address().unwrap(), ClientConfig::default()).unwrap();
    let range =
        |from, pairs_max, floor_start, backward| Operation::Range { from, pairs_max, floor_start, backward };
    let asked = [
        range(b"", 2, false, false),
        range(b"c", 1, true, false),
        range(b"cc", 9, false, false),
        range(b"", 1, false, true),
        range(b"c", 9, false, true),
        range(b"x", 9, false, false),
        Operation::Get(b"d"),
    ];
    assert_eq!(outcomes(&mut client, &asked), ["b=2,d=4+", "b=2+", "d=4,e=5", "e=5+", "b=2", "", "4444"]);
}

#[test]
fn writes_of_one_key_are_carried_out_in_their_order() {
    let running = running();
    let mut client =
        Client::connect(running.server.batch_address().unwrap(), ClientConfig::default()).unwrap();
    let key = b"key";
    let asked = [
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
    assert_eq!(outcomes(&mut client, &asked), expected);
    assert_eq!(client.get(key).unwrap().as_deref(), Some(&b"3"[..]));
}

#[test]
fn what_does_not_fit_is_told() {
    let running = running();
    let mut redis = RedisClient::of(&running);
    let set = |redis: &mut RedisClient, key: &str, bytes: usize| {
        assert_eq!(redis.shown(&format!("SET {key} {}", "v".repeat(bytes))), "OK");
    };
    (0..6).for_each(|number| set(&mut redis, &format!("k{number}"), 1000));
    set(&mut redis, "large", 2000);
    let mut client =
        Client::connect(running.server.batch_address().unwrap(), ClientConfig::default()).unwrap();
    // Values that differ: what is as before would be left out.
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
    let of_large = Operation::Range { from: b"l", pairs_max: 1, floor_start: false, backward: false };
    assert_eq!(outcomes(&mut client, &[of_large]), ["TooLarge"]);
    let long = client.put(b"k", &[0; 1472]).unwrap_err().to_string();
    assert_eq!(long, "the operation does not fit into a datagram of 1472 bytes");
}

#[test]
fn ranges_of_large_values_read_no_more_than_a_reply_holds() {
    let running = running();
    let mut redis = RedisClient::of(&running);
    for number in 10..40 {
        assert_eq!(redis.shown(&format!("SET k{number} {number}{}", "v".repeat(998))), "OK");
    }
    let mut client =
        Client::connect(running.server.batch_address().unwrap(), ClientConfig::default()).unwrap();
    let (mut from, mut seen) = (b"k".to_vec(), Vec::new());
    loop {
        let range =
            Operation::Range { from: &from, pairs_max: u16::MAX, floor_start: false, backward: false };
        let (mut goes_on, mut last) = (false, Vec::new());
        let each = |_, outcome: Outcome<'_>| {
            let Outcome::Pairs { pairs, more } = outcome else { panic!("{outcome:?}") };
            seen.extend(pairs.iter().map(|(key, value)| (key.to_vec(), value.len())));
            (goes_on, last) = (more, pairs.last().map_or(Vec::new(), |(key, _)| key.to_vec()));
        };
        client.call(&[range], each).unwrap();
        if !goes_on {
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
    let mut found = [0; 9];
    let length = |outcome: Outcome<'_>| if let Outcome::Value(value) = outcome { value.len() } else { 0 };
    client.call(&gets, |place, outcome| found[place] = length(outcome)).unwrap();
    assert_eq!((&found[..8], found[8]), (&[50_000; 8][..], 0));
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
    let mut right = 0;
    let is_right = |place: usize, outcome: Outcome<'_>| outcome == Outcome::Value(&keys[place]);
    client.call(&gets, |place, outcome| right += usize::from(is_right(place, outcome))).unwrap();
    assert_eq!((done, right), (keys.len(), keys.len()));
}

/// A generator of numbers that need not be good.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Sends and receives for an exchange, and loses or doubles a part of that.
struct Lossy {
    raw: Raw,
    exchange: Exchange,
    numbers: Numbers,
    outcomes: BTreeMap<Ticket, String>,
}

impl Lossy {
    fn step(&mut self) {
        let Self { raw, exchange, numbers, outcomes } = self;
        let now = Instant::now();
        let mut each = |ticket, outcome: Outcome<'_>| {
            assert_eq!(outcomes.insert(ticket, format!("{outcome:?}")), None, "an outcome is told once");
        };
        exchange.flush(now);
        let send = |datagram: &[u8]| (0..numbers.next() % 3).for_each(|_| raw.send(datagram));
        exchange.transmit(now, send, &mut each);
        let mut buffer = [0; 2048];
        while let Ok(bytes) = raw.socket.recv(&mut buffer) {
            for _ in 0..numbers.next() % 3 {
                exchange.receive(&buffer[..bytes], now, &mut each);
            }
        }
    }
}

#[test]
fn what_is_lost_is_sent_again_and_carried_out_once() {
    let running = running();
    let raw = Raw::to(running.server.batch_address());
    raw.socket.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
    let timeout = Duration::from_millis(4);
    let config = ClientConfig { timeout, requests_max: 16, payload_bytes: 128, ..ClientConfig::default() };
    let exchange = Exchange::new(ClientConfig { reply_deadline: Duration::from_secs(60), ..config });
    let mut lossy = Lossy { raw, exchange, numbers: Numbers(0x9e37_79b9), outcomes: BTreeMap::new() };
    let mut tickets = Vec::new();
    // Were an insert carried out twice, the second would say that the key exists.
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

/// The items of an answer.
fn items(answer: &[u8]) -> (Header, Vec<Item<'_>>) {
    let (header, rest) = Header::parse(answer).unwrap();
    (header, Items::new(header.count, rest).collect::<Result<_, _>>().unwrap())
}

#[test]
fn a_request_that_comes_again_is_answered_and_not_carried_out() {
    let running = running();
    let raw = Raw::to(running.server.batch_address());
    let session = raw.session();
    let request = |identifier, attempt| {
        let mut requests = RequestDatagram::new(PAYLOAD_BYTES);
        assert!(requests.push(&Operation::Insert { key: b"key", value: b"value" }));
        assert!(requests.push(&Operation::Get(b"key")));
        let header = Header { session, identifier, attempt, ..Header::of(Kind::Request) };
        requests.datagram(header).to_vec()
    };
    // The reads of the first attempt came before its insert.
    let cases = [
        (5, 1, [Item::Done { more: false }, Item::Absent]),
        (5, 2, [Item::Done { more: false }, Item::Found(b"value")]),
        (70, 1, [Item::Exists, Item::Found(b"value")]),
    ];
    for (identifier, attempt, expected) in cases {
        let answer = raw.ask(&request(identifier, attempt));
        let (header, items) = items(&answer);
        assert_eq!((header.identifier, header.attempt, header.kind), (identifier, attempt, Kind::ReplyEnd));
        assert_eq!(items, expected);
    }
    for too_old in [5, 6, 0] {
        assert_eq!(items(&raw.ask(&request(too_old, 1))).0.kind, Kind::Rejected(Rejection::Identifier));
    }
    assert_eq!(items(&raw.ask(&request(7, 1))).1, [Item::Exists, Item::Found(b"value")]);
}

#[test]
fn sessions_are_their_clients_own_and_not_without_end() {
    let here = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let datagrams = Datagrams { batch: here, sessions_max: 2, ..Datagrams::default() };
    let running = start_with(Config { cores: 1, datagrams, ..Config::default() });
    let (raw, other) = (Raw::to(running.server.batch_address()), Raw::to(running.server.batch_address()));
    let (session, empty) = (raw.session(), Header::of(Kind::Request));
    assert_eq!(raw.ask_header(Header { session, ..empty }).kind, Kind::ReplyEnd);
    assert_eq!(other.ask_header(Header { session, ..empty }).kind, Kind::Rejected(Rejection::Session));
    // A token of another address leads to another token.
    let token = raw.ask_header(Header::of(Kind::Hello)).identifier;
    let answer = other.ask_header(Header { identifier: token, ..Header::of(Kind::Hello) });
    assert_eq!(answer.kind, Kind::Token);
    let (second, third) = (raw.session(), raw.session());
    for (session, kind) in
        [(session, Kind::Rejected(Rejection::Session)), (second, Kind::ReplyEnd), (third, Kind::ReplyEnd)]
    {
        assert_eq!(raw.ask_header(Header { session, ..empty }).kind, kind);
    }
    let refused = raw.ask_header(Header { session: third, table: 16, ..empty });
    assert_eq!(refused.kind, Kind::Rejected(Rejection::Table));
    let malformed = raw.ask_header(Header { session: third, count: 1, ..empty });
    assert_eq!(malformed.kind, Kind::Rejected(Rejection::Malformed));
}

#[test]
fn whoever_is_not_known_gets_no_more_than_was_sent() {
    let running = running();
    RedisClient::of(&running).ask(&format!("SET key {}", "v".repeat(1400)));
    let raw = Raw::to(running.server.batch_address());
    raw.socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
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
        raw.send(&datagram);
        sent += datagram.len();
        let mut buffer = [0; 4096];
        if datagram.len() >= Header::SIZE
            && let Ok(bytes) = raw.socket.recv(&mut buffer)
        {
            assert!(bytes <= datagram.len(), "{bytes} for {}", datagram.len());
            answers += bytes;
        }
    }
    assert!(answers > 0 && answers < sent / 4, "{answers} for {sent}");
}

#[test]
fn floods_that_nobody_reads_the_answers_of_hold_up_nobody() {
    let running = running();
    let (ocsm, batch) = (Raw::to(running.server.ocsm_address()), Raw::to(running.server.batch_address()));
    let search = message(ocsm::Operation::Search, b"twelve-bytes", b"", ocsm::Form::Short);
    let (hello, mut redis) = (Header::of(Kind::Hello).bytes(), RedisClient::of(&running));
    for _ in 0..20 {
        for _ in 0..500 {
            ocsm.send(&search);
            batch.send(&hello);
            [&ocsm, &batch].iter().for_each(|raw| raw.send(&[0xa5; PAYLOAD_BYTES]));
        }
        assert_eq!(redis.shown("PING"), "PONG");
    }
    // What comes in a flood may be dropped, so whoever asks does it again.
    let answers = |raw: &Raw, request: &[u8]| {
        raw.socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        (0..100).any(|_| {
            raw.send(request);
            raw.socket.recv_from(&mut [0; PAYLOAD_BYTES]).is_ok()
        })
    };
    assert!(answers(&Raw::to(running.server.ocsm_address()), &search));
    assert!(answers(&Raw::to(running.server.batch_address()), &hello));
}

#[test]
fn a_server_with_a_password_takes_no_datagrams() {
    let datagrams = Datagrams { ocsm: Some(([127, 0, 0, 1], 0).into()), ..Datagrams::default() };
    let password = Some("secret".to_owned());
    let config = Config { address: ([127, 0, 0, 1], 0).into(), datagrams, password, ..Config::default() };
    let store = honeycomb_store::Store::open(honeycomb_store::Config {
        memory_bytes: 16 << 20,
        ..honeycomb_store::Config::default()
    });
    let refused =
        honeycomb_server::Server::start(config, store.unwrap(), Box::new(honeycomb_server::SystemTime));
    let expected =
        "requirepass and datagrams: allowed is one or the other, since datagrams carry no password";
    assert_eq!(refused.unwrap_err().to_string(), expected);
    let running = running();
    let expected = format!("!ERR {expected}");
    let mut redis = RedisClient::of(&running);
    dialogue(&mut redis, &[("CONFIG SET requirepass secret", &expected), ("PING", "PONG")]);
}

//! An exchange without sockets: what it sends when, and what it makes of what arrives.
#![allow(missing_docs)]

use std::time::{Duration, Instant};

use honeycomb_client::{Config, Exchange, Operation, Outcome, Ticket};
use honeycomb_protocol::batch::{Header, Item, Kind, Operations, Refusal, Reply, Room};
use proptest::prelude::*;

const GET: Operation<'_> = Operation::Get(b"key");
const PUT: Operation<'_> = Operation::Put { key: b"key", value: b"value" };

/// An exchange, and what time it is there.
struct Bench {
    exchange: Exchange,
    now: Instant,
    told: Vec<(Ticket, String)>,
}

impl Bench {
    fn new(config: Config) -> Self {
        Self { exchange: Exchange::new(config), now: Instant::now(), told: Vec::new() }
    }

    /// One with a session of that name.
    fn connected(config: Config, session: u64) -> Self {
        let mut bench = Self::new(config);
        bench.greet(session);
        bench
    }

    fn greet(&mut self, session: u64) {
        let hello = self.sent_headers()[0];
        assert_eq!((hello.kind, hello.identifier), (Kind::Hello, 0));
        self.receive(&Header { identifier: 9, attempt: hello.attempt, ..Header::of(Kind::Token) }.bytes());
        let hello = self.sent_headers()[0];
        assert_eq!((hello.kind, hello.identifier), (Kind::Hello, 9));
        self.receive(&Header { session, attempt: hello.attempt, ..Header::of(Kind::Session) }.bytes());
    }

    fn submit(&mut self, operation: &Operation<'_>) -> Option<Ticket> {
        let ticket = self.exchange.submit(operation, self.now);
        self.exchange.flush(self.now);
        ticket
    }

    fn sent(&mut self) -> Vec<Vec<u8>> {
        let (mut sent, told) = (Vec::new(), &mut self.told);
        let each = |ticket, outcome: Outcome<'_>| told.push((ticket, format!("{outcome:?}")));
        self.exchange.transmit(self.now, |datagram| sent.push(datagram.to_vec()), each);
        sent
    }

    fn sent_headers(&mut self) -> Vec<Header> {
        self.sent().iter().map(|datagram| Header::parse(datagram).unwrap().0).collect()
    }

    fn receive(&mut self, datagram: &[u8]) {
        let told = &mut self.told;
        let each = |ticket, outcome: Outcome<'_>| told.push((ticket, format!("{outcome:?}")));
        self.exchange.receive(datagram, self.now, each);
    }

    fn reply(&mut self, request: &Header, item: &Item<'_>) {
        let (mut out, mut ends) = (Vec::new(), Vec::new());
        let mut reply = Reply::to(request, 1472, 1, &mut out, &mut ends);
        (0..request.count).for_each(|_| assert_eq!(reply.push(item, 0), Room::Fits));
        reply.finish();
        self.receive(&out);
    }

    fn refuse(&mut self, request: &Header, refusal: Refusal) {
        self.receive(&Header { kind: Kind::Refused(refusal), count: 0, ..*request }.bytes());
    }

    fn told(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told).into_iter().map(|(_, outcome)| outcome).collect()
    }
}

#[test]
fn an_operation_waits_for_others_but_not_for_long() {
    let delay_max = Duration::from_micros(70);
    let mut bench = Bench::connected(Config { delay_max, ..Config::default() }, 5);
    bench.exchange.submit(&GET, bench.now).unwrap();
    assert_eq!(bench.exchange.due(), Some(bench.now + delay_max));
    bench.now += delay_max / 2;
    bench.exchange.submit(&GET, bench.now).unwrap();
    assert_eq!(bench.sent_headers(), []);
    bench.now += delay_max / 2;
    let sent = bench.sent_headers();
    assert_eq!((sent.len(), sent[0].count, sent[0].session), (1, 2, 5));
}

#[test]
fn what_is_not_answered_is_sent_again_and_at_last_given_up() {
    let (timeout, patience) = (Duration::from_millis(10), Duration::from_millis(100));
    let mut bench = Bench::connected(Config { timeout, patience, ..Config::default() }, 5);
    bench.submit(&PUT);
    let mut times = Vec::new();
    for millisecond in 0..=100 {
        for header in bench.sent_headers() {
            assert_eq!((header.identifier, header.kind), (1, Kind::Request));
            times.push((millisecond, header.attempt));
        }
        bench.now += Duration::from_millis(1);
    }
    assert_eq!(times, [(0, 1), (10, 2), (30, 3), (70, 4)]);
    assert_eq!((bench.told(), bench.exchange.outstanding()), (vec!["Unanswered".to_owned()], 0));
}

#[test]
fn a_reply_counts_once_whichever_attempt_it_answers() {
    let mut bench = Bench::connected(Config::default(), 5);
    bench.submit(&GET);
    let first = bench.sent_headers()[0];
    bench.now += Duration::from_secs(1);
    let second = bench.sent_headers()[0];
    bench.reply(&Header { session: 6, ..second }, &Item::Absent);
    assert_eq!(bench.exchange.outstanding(), 1);
    bench.reply(&first, &Item::Found(b"value"));
    bench.reply(&second, &Item::Absent);
    assert_eq!(bench.told(), [format!("{:?}", Outcome::Value(b"value"))]);
}

#[test]
fn no_more_identifiers_are_open_than_the_server_knows() {
    let mut bench = Bench::connected(Config { requests_max: 3, ..Config::default() }, 5);
    (0..4).for_each(|_| assert!(bench.submit(&PUT).is_some()));
    let sent = bench.sent_headers();
    assert_eq!(sent.iter().map(|header| header.identifier).collect::<Vec<_>>(), [1, 2, 3]);
    // Not before the oldest is answered, although there are fewer.
    bench.reply(&sent[1], &Item::Done { more: false });
    bench.exchange.flush(bench.now);
    assert_eq!(bench.sent_headers(), []);
    bench.reply(&sent[0], &Item::Done { more: false });
    bench.exchange.flush(bench.now);
    assert_eq!(bench.sent_headers()[0].identifier, 4);
}

#[test]
fn a_session_that_ended_is_followed_by_another_and_no_write_comes_twice() {
    let mut bench = Bench::connected(Config::default(), 5);
    for operation in [PUT, PUT, GET] {
        bench.submit(&operation);
    }
    let sent = bench.sent_headers();
    assert_eq!(sent.len(), 3);
    // The first is refused and was never anything else; the second may have been carried out.
    bench.refuse(&sent[0], Refusal::Session);
    bench.greet(6);
    assert_eq!(bench.told(), ["Unanswered"]);
    let again = bench.sent_headers();
    assert_eq!(
        again.iter().map(|header| (header.session, header.identifier)).collect::<Vec<_>>(),
        [(6, 1), (6, 3)]
    );
    again.iter().for_each(|header| bench.reply(header, &Item::Absent));
    assert_eq!((bench.told().len(), bench.exchange.outstanding()), (2, 0));
}

#[test]
fn what_is_refused_is_told() {
    let mut bench = Bench::connected(Config::default(), 5);
    for refusal in [Refusal::Table, Refusal::Malformed, Refusal::Identifier] {
        bench.submit(&PUT);
        let sent = bench.sent_headers()[0];
        bench.refuse(&sent, refusal);
    }
    assert_eq!(bench.told(), ["Refused(Table)", "Refused(Malformed)", "Unanswered"]);
}

#[test]
fn a_reply_of_several_datagrams_is_put_together_in_any_order() {
    let mut bench = Bench::connected(Config::default(), 5);
    let range = Operation::Range { from: b"", pairs_max: 9, floor_start: false, backward: false };
    bench.submit(&range);
    let request = bench.sent_headers()[0];
    let (mut out, mut ends) = (Vec::new(), Vec::new());
    let mut reply = Reply::to(&request, 64, 9, &mut out, &mut ends);
    let keys = [[b'a'; 20], [b'b'; 20], [b'c'; 20]];
    for key in &keys {
        let _ = reply.push(&Item::Pair { key, value: b"v" }, 1);
    }
    let _ = reply.push(&Item::Done { more: true }, 0);
    reply.finish();
    assert_eq!(ends.len(), 3);
    // Of another attempt.
    let mut stray = out[..ends[0]].to_vec();
    stray[21] += 1;
    bench.receive(&stray);
    for place in [2, 0, 0, 1] {
        let start = if place == 0 { 0 } else { ends[place - 1] };
        assert_eq!(bench.told.len(), 0);
        bench.receive(&out[start..ends[place]]);
    }
    let pairs = keys.each_ref().map(|key| (&key[..], &b"v"[..]));
    assert_eq!(bench.told(), [format!("{:?}", Outcome::Pairs { pairs: &pairs, more: true })]);
}

/// Datagrams that look like answers.
fn any_datagram() -> impl Strategy<Value = Vec<u8>> {
    let rest = prop::collection::vec(0..12_u8, 0..9);
    let header = (0..4_u64, 0..4_u64, 0..9_u8, 0..3_u8, 0..3_u8);
    (header, rest).prop_map(|((session, identifier, kind, attempt, position), rest)| {
        let header = Header::of(Kind::Reply);
        let mut bytes = Header { session, identifier, attempt, position, count: 2, ..header }.bytes();
        bytes[20] = kind;
        [&bytes[..], &rest].concat()
    })
}

proptest! {
    #[test]
    fn any_datagrams_tell_each_outcome_at_most_once(
        datagrams in prop::collection::vec(any_datagram(), 0..50),
    ) {
        let mut bench = Bench::connected(Config::default(), 1);
        for _ in 0..3 {
            bench.submit(&GET);
            bench.submit(&PUT);
        }
        let sent = bench.sent();
        let counted = sent.iter().map(|datagram| {
            let (header, rest) = Header::parse(datagram).unwrap();
            Operations::new(header.count, rest).count()
        });
        prop_assert_eq!(counted.sum::<usize>(), 6);
        datagrams.iter().for_each(|datagram| bench.receive(datagram));
        let mut tickets: Vec<Ticket> = bench.told.iter().map(|(ticket, _)| *ticket).collect();
        tickets.sort_unstable();
        tickets.dedup();
        prop_assert_eq!(tickets.len(), bench.told.len());
        prop_assert_eq!(bench.exchange.outstanding(), 6 - tickets.len() as u64);
    }
}

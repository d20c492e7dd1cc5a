//! Tests of an exchange without sockets: its transmissions and its handling of received datagrams.
#![allow(missing_docs)]

use std::time::{Duration, Instant};

use honeycomb_client::{Config, Exchange, Operation, Outcome, Ticket};
use honeycomb_protocol::batch::{Header, Item, Kind, Operations, Rejection, ReplyWriter, Room};
use proptest::prelude::*;

const GET: Operation<'_> = Operation::Get(b"key");
const PUT: Operation<'_> = Operation::Put { key: b"key", value: b"value" };

/// An exchange with its own time.
struct Bench {
    exchange: Exchange,
    now: Instant,
    outcomes: Vec<(Ticket, String)>,
}

impl Bench {
    fn new(config: Config) -> Self {
        Self { exchange: Exchange::new(config), now: Instant::now(), outcomes: Vec::new() }
    }

    /// A bench with a session of this name.
    fn connected(config: Config, session: u64) -> Self {
        let mut bench = Self::new(config);
        bench.begin_session(session);
        bench
    }

    fn begin_session(&mut self, session: u64) {
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
        let (mut sent, outcomes) = (Vec::new(), &mut self.outcomes);
        let each = |ticket, outcome: Outcome<'_>| outcomes.push((ticket, format!("{outcome:?}")));
        self.exchange.transmit(self.now, |datagram| sent.push(datagram.to_vec()), each);
        sent
    }

    fn sent_headers(&mut self) -> Vec<Header> {
        self.sent().iter().map(|datagram| Header::parse(datagram).unwrap().0).collect()
    }

    fn receive(&mut self, datagram: &[u8]) {
        let outcomes = &mut self.outcomes;
        let each = |ticket, outcome: Outcome<'_>| outcomes.push((ticket, format!("{outcome:?}")));
        self.exchange.receive(datagram, self.now, each);
    }

    fn reply(&mut self, request: &Header, item: &Item<'_>) {
        let (mut out, mut ends) = (Vec::new(), Vec::new());
        let mut reply = ReplyWriter::to(request, 1472, 1, &mut out, &mut ends);
        (0..request.count).for_each(|_| assert_eq!(reply.push(item, 0), Room::Fits));
        reply.finish();
        self.receive(&out);
    }

    fn reject(&mut self, request: &Header, rejection: Rejection) {
        self.receive(&Header { kind: Kind::Rejected(rejection), count: 0, ..*request }.bytes());
    }

    fn take_outcomes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.outcomes).into_iter().map(|(_, outcome)| outcome).collect()
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
fn a_request_without_a_reply_is_repeated_and_finally_given_up() {
    let (timeout, reply_deadline) = (Duration::from_millis(10), Duration::from_millis(100));
    let mut bench = Bench::connected(Config { timeout, reply_deadline, ..Config::default() }, 5);
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
    assert_eq!((bench.take_outcomes(), bench.exchange.outstanding()), (vec!["Unanswered".to_owned()], 0));
}

#[test]
fn a_reply_to_any_attempt_counts_once() {
    let mut bench = Bench::connected(Config::default(), 5);
    bench.submit(&GET);
    let first = bench.sent_headers()[0];
    bench.now += Duration::from_secs(1);
    let second = bench.sent_headers()[0];
    bench.reply(&Header { session: 6, ..second }, &Item::Absent);
    assert_eq!(bench.exchange.outstanding(), 1);
    bench.reply(&first, &Item::Found(b"value"));
    bench.reply(&second, &Item::Absent);
    assert_eq!(bench.take_outcomes(), [format!("{:?}", Outcome::Value(b"value"))]);
}

#[test]
fn the_identifiers_in_flight_fit_into_the_window_of_the_server() {
    let mut bench = Bench::connected(Config { requests_max: 3, ..Config::default() }, 5);
    (0..4).for_each(|_| assert!(bench.submit(&PUT).is_some()));
    let sent = bench.sent_headers();
    assert_eq!(sent.iter().map(|header| header.identifier).collect::<Vec<_>>(), [1, 2, 3]);
    // The window advances only with the reply to the oldest request, although fewer are in flight.
    bench.reply(&sent[1], &Item::Done { more: false });
    bench.exchange.flush(bench.now);
    assert_eq!(bench.sent_headers(), []);
    bench.reply(&sent[0], &Item::Done { more: false });
    bench.exchange.flush(bench.now);
    assert_eq!(bench.sent_headers()[0].identifier, 4);
}

#[test]
fn a_new_session_follows_a_rejected_one_and_repeats_no_write() {
    let mut bench = Bench::connected(Config::default(), 5);
    for operation in [PUT, PUT, GET] {
        bench.submit(&operation);
    }
    let sent = bench.sent_headers();
    assert_eq!(sent.len(), 3);
    // The server rejects the first, so it has not executed it. It may have executed the second.
    bench.reject(&sent[0], Rejection::Session);
    bench.begin_session(6);
    assert_eq!(bench.take_outcomes(), ["Unanswered"]);
    let again = bench.sent_headers();
    assert_eq!(
        again.iter().map(|header| (header.session, header.identifier)).collect::<Vec<_>>(),
        [(6, 1), (6, 3)]
    );
    again.iter().for_each(|header| bench.reply(header, &Item::Absent));
    assert_eq!((bench.take_outcomes().len(), bench.exchange.outstanding()), (2, 0));
}

#[test]
fn rejections_are_reported() {
    let mut bench = Bench::connected(Config::default(), 5);
    for rejection in [Rejection::Table, Rejection::Malformed, Rejection::Identifier] {
        bench.submit(&PUT);
        let sent = bench.sent_headers()[0];
        bench.reject(&sent, rejection);
    }
    assert_eq!(bench.take_outcomes(), ["Rejected(Table)", "Rejected(Malformed)", "Unanswered"]);
}

#[test]
fn a_reply_of_several_datagrams_may_arrive_in_any_order() {
    let mut bench = Bench::connected(Config::default(), 5);
    let range = Operation::Range { from: b"", pairs_max: 9, floor_start: false, backward: false };
    bench.submit(&range);
    let request = bench.sent_headers()[0];
    let (mut out, mut ends) = (Vec::new(), Vec::new());
    let mut reply = ReplyWriter::to(&request, 64, 9, &mut out, &mut ends);
    let keys = [[b'a'; 20], [b'b'; 20], [b'c'; 20]];
    for key in &keys {
        let _ = reply.push(&Item::Pair { key, value: b"v" }, 1);
    }
    let _ = reply.push(&Item::Done { more: true }, 0);
    reply.finish();
    assert_eq!(ends.len(), 3);
    // A datagram of another attempt.
    let mut stray = out[..ends[0]].to_vec();
    stray[21] += 1;
    bench.receive(&stray);
    for position in [2, 0, 0, 1] {
        let start = if position == 0 { 0 } else { ends[position - 1] };
        assert_eq!(bench.outcomes.len(), 0);
        bench.receive(&out[start..ends[position]]);
    }
    let pairs = keys.each_ref().map(|key| (&key[..], &b"v"[..]));
    assert_eq!(bench.take_outcomes(), [format!("{:?}", Outcome::Pairs { pairs: &pairs, more: true })]);
}

/// Datagrams that resemble replies.
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
    fn arbitrary_datagrams_report_each_outcome_at_most_once(
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
        let mut tickets: Vec<Ticket> = bench.outcomes.iter().map(|(ticket, _)| *ticket).collect();
        tickets.sort_unstable();
        tickets.dedup();
        prop_assert_eq!(tickets.len(), bench.outcomes.len());
        prop_assert_eq!(bench.exchange.outstanding(), 6 - tickets.len() as u64);
    }
}

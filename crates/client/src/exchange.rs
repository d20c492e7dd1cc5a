//! What a client does, without a socket and without a clock: operations and datagrams go in, datagrams and
//! outcomes come out.

use std::collections::VecDeque;
use std::time::Instant;

use honeycomb_protocol::batch::{Header, Kind, Operation, Refusal, Requests};

use crate::config::Config;
use crate::flight::Flight;
use crate::outcome::Outcome;

/// Names an operation until its outcome is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub(crate) u64);

/// The operations of a client, packed and on their way.
#[derive(Debug)]
pub struct Exchange {
    config: Config,
    hello: Hello,
    /// The session, once there is one.
    session: Option<u64>,
    /// The request that is being filled, and since when.
    open: Requests,
    opened: Option<Instant>,
    /// In the order of their identifiers.
    flights: VecDeque<Flight>,
    identifier: u64,
    ticket: u64,
    outstanding: u64,
}

/// How far a session is.
#[derive(Debug, Default)]
struct Hello {
    /// 0: none yet.
    token: u64,
    attempt: u8,
    begun: Option<Instant>,
    due: Option<Instant>,
    times: u32,
}

impl Exchange {
    /// An exchange without operations.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            open: Requests::new(config.payload_bytes),
            config,
            hello: Hello::default(),
            session: None,
            opened: None,
            flights: VecDeque::new(),
            identifier: 0,
            ticket: 0,
            outstanding: 0,
        }
    }

    /// Takes an operation in; none if there is no room before others are answered.
    pub fn submit(&mut self, operation: &Operation<'_>, now: Instant) -> Option<Ticket> {
        let fits = self.open.push(operation);
        if !fits && (self.open.is_empty() || !self.seal(now) || !self.open.push(operation)) {
            return None;
        }
        self.opened.get_or_insert(now);
        let ticket = Ticket(self.ticket);
        self.ticket += 1;
        self.outstanding += 1;
        Some(ticket)
    }

    /// Whether an operation fits into a request that has no other.
    #[must_use]
    pub fn allows(&self, operation: &Operation<'_>) -> bool {
        Requests::new(self.config.payload_bytes).push(operation)
    }

    /// Operations that have no outcome yet.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Whether there is a session: before that, operations only wait.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.session.is_some()
    }

    /// Has the request that is being filled sent, although there is room in it.
    pub fn flush(&mut self, now: Instant) {
        if !self.open.is_empty() {
            self.seal(now);
        }
    }

    /// Hands out the datagrams that are to be sent now, and gives up what was not answered for too long.
    pub fn transmit(
        &mut self,
        now: Instant,
        mut send: impl FnMut(&[u8]),
        mut each: impl FnMut(Ticket, Outcome<'_>),
    ) {
        if self.opened.is_some_and(|opened| now >= opened + self.config.delay_max) {
            self.flush(now);
        }
        let patience = self.config.patience;
        self.give_up(|flight| now >= flight.begun + patience, &mut each);
        let Some(session) = self.session else { return self.greet(now, send) };
        for flight in self.flights.iter_mut().filter(|flight| flight.due <= now) {
            send(flight.again(session));
            flight.due = now + self.config.timeout * (1 << (flight.sent - 1).min(5));
        }
    }

    /// When there is something to send next, if nothing arrives.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let opened = self.opened.map(|opened| opened + self.config.delay_max);
        let flights = self.flights.iter().map(|flight| flight.due);
        let hello = self.hello.due.filter(|_| self.session.is_none());
        if self.session.is_none() { hello } else { flights.chain(opened).min() }
    }

    /// Takes a datagram that has arrived, and hands out the outcomes that it tells.
    pub fn receive(&mut self, datagram: &[u8], now: Instant, mut each: impl FnMut(Ticket, Outcome<'_>)) {
        let Ok((header, rest)) = Header::parse(datagram) else { return };
        match header.kind {
            Kind::Token if self.session.is_none() && header.attempt == self.hello.attempt => {
                self.hello.token = header.identifier;
                self.hello.due = Some(now);
            }
            Kind::Session if self.session.is_none() && header.attempt == self.hello.attempt => {
                self.begin_session(header.session, now, &mut each);
            }
            Kind::Reply | Kind::ReplyEnd => {
                let Some(index) = self.find(&header) else { return };
                let mut each = |ticket, outcome: Outcome<'_>| each(Ticket(ticket), outcome);
                if self.flights[index].receive(&header, rest, &mut each) {
                    self.land(index);
                }
            }
            Kind::Refused(refusal) => self.take_refusal(&header, refusal, &mut each),
            _ => {}
        }
    }

    /// Puts the request that is being filled on its way: false if too many are.
    fn seal(&mut self, now: Instant) -> bool {
        // The server knows only so many identifiers back.
        let oldest = self.flights.front().map_or(self.identifier + 1, |flight| flight.header.identifier);
        let span = self.identifier + 1 - oldest;
        if span >= self.config.requests_max as u64 {
            return false;
        }
        self.identifier += 1;
        let header = Header {
            identifier: self.identifier,
            table: self.config.table,
            count: self.open.len() as u16,
            ..Header::of(Kind::Request)
        };
        let first_ticket = self.ticket - self.open.len() as u64;
        let writes = self.open.writes();
        let flight = Flight::new(header, self.open.datagram(header), first_ticket, writes, now);
        self.flights.push_back(flight);
        self.open.clear();
        self.opened = None;
        true
    }

    /// Asks for a token, or for a session.
    fn greet(&mut self, now: Instant, mut send: impl FnMut(&[u8])) {
        if self.hello.due.is_some_and(|due| now < due) {
            return;
        }
        self.hello.begun.get_or_insert(now);
        self.hello.attempt = self.hello.attempt.wrapping_add(1);
        let Hello { token, attempt, .. } = self.hello;
        send(&Header { identifier: token, attempt, ..Header::of(Kind::Hello) }.bytes());
        self.hello.due = Some(now + self.config.timeout * (1 << self.hello.times.min(5)));
        self.hello.times += 1;
    }

    /// Has what is in flight sent in a new session; not what the one before may have carried out.
    fn begin_session(&mut self, session: u64, now: Instant, each: &mut impl FnMut(Ticket, Outcome<'_>)) {
        self.session = Some(session);
        self.hello = Hello::default();
        self.give_up(|flight| flight.writes && !flight.untouched, each);
        for flight in &mut self.flights {
            (flight.due, flight.sent) = (now, 0);
        }
    }

    fn take_refusal(
        &mut self,
        header: &Header,
        refusal: Refusal,
        each: &mut impl FnMut(Ticket, Outcome<'_>),
    ) {
        let Some(index) = self.find(header) else { return };
        let flight = &mut self.flights[index];
        match refusal {
            Refusal::Session => {
                flight.untouched |= flight.sent == 1;
                self.session = self.session.filter(|&session| session != header.session);
            }
            Refusal::Identifier => self.give_up(|flight| flight.header.identifier == header.identifier, each),
            Refusal::Malformed | Refusal::Table => {
                let tickets = flight.first_ticket..flight.first_ticket + flight.operations();
                self.land(index);
                tickets.for_each(|ticket| each(Ticket(ticket), Outcome::Refused(refusal)));
            }
        }
    }

    /// The flight that a datagram answers.
    fn find(&self, header: &Header) -> Option<usize> {
        let found = self.flights.binary_search_by_key(&header.identifier, |flight| flight.header.identifier);
        found.ok().filter(|&index| self.flights[index].header.session == header.session)
    }

    fn land(&mut self, index: usize) {
        if let Some(flight) = self.flights.remove(index) {
            self.outstanding -= flight.operations();
        }
    }

    /// Ends flights without an answer.
    fn give_up(&mut self, which: impl Fn(&Flight) -> bool, each: &mut impl FnMut(Ticket, Outcome<'_>)) {
        let outstanding = &mut self.outstanding;
        self.flights.retain(|flight| {
            let given_up = which(flight);
            if given_up {
                *outstanding -= flight.operations();
                let tickets = flight.first_ticket..flight.first_ticket + flight.operations();
                tickets.for_each(|ticket| each(Ticket(ticket), Outcome::Unanswered));
            }
            !given_up
        });
    }
}

//! The client without sockets and clocks: operations and received datagrams go in, datagrams to send and
//! outcomes come out.

use std::collections::VecDeque;
use std::time::Instant;

use honeycomb_protocol::batch::{Header, Kind, Operation, Rejection, RequestDatagram};

use crate::config::Config;
use crate::in_flight::InFlightRequest;
use crate::outcome::Outcome;

/// Identifies an operation until its outcome is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub(crate) u64);

/// A client's session, its requests in flight and the request that is being filled.
#[derive(Debug)]
pub struct Exchange {
    config: Config,
    hello: Hello,
    /// The name of the session, once there is one.
    session: Option<u64>,
    /// The request that is being filled, and the time of its first operation.
    open: RequestDatagram,
    opened: Option<Instant>,
    /// The requests in flight, in the order of their identifiers.
    in_flight: VecDeque<InFlightRequest>,
    identifier: u64,
    ticket: u64,
    outstanding: u64,
}

/// The state of the handshake that begins a session.
#[derive(Debug, Default)]
struct Hello {
    /// The token, or 0 if there is none yet.
    token: u64,
    attempt: u8,
    started: Option<Instant>,
    due: Option<Instant>,
    times: u32,
}

impl Exchange {
    /// Creates an exchange without operations.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            open: RequestDatagram::new(config.payload_bytes),
            config,
            hello: Hello::default(),
            session: None,
            opened: None,
            in_flight: VecDeque::new(),
            identifier: 0,
            ticket: 0,
            outstanding: 0,
        }
    }

    /// Adds an operation. Returns `None` if there is no room until replies arrive.
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

    /// Returns whether an operation fits into an empty request.
    #[must_use]
    pub fn allows(&self, operation: &Operation<'_>) -> bool {
        RequestDatagram::new(self.config.payload_bytes).push(operation)
    }

    /// Returns the number of operations without an outcome.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Returns whether there is a session. Until then all operations wait.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.session.is_some()
    }

    /// Seals the request that is being filled, even if it has room for more.
    pub fn flush(&mut self, now: Instant) {
        if !self.open.is_empty() {
            self.seal(now);
        }
    }

    /// Passes the datagrams that are due to `send`, and gives up requests without a reply for too long.
    pub fn transmit(
        &mut self,
        now: Instant,
        mut send: impl FnMut(&[u8]),
        mut each: impl FnMut(Ticket, Outcome<'_>),
    ) {
        if self.opened.is_some_and(|opened| now >= opened + self.config.delay_max) {
            self.flush(now);
        }
        let reply_deadline = self.config.reply_deadline;
        self.give_up(|request| now >= request.started + reply_deadline, &mut each);
        let Some(session) = self.session else { return self.send_hello(now, send) };
        for request in self.in_flight.iter_mut().filter(|request| request.due <= now) {
            send(request.retransmission(session));
            request.due = now + self.config.timeout * (1 << (request.sent - 1).min(5));
        }
    }

    /// Returns the time of the next transmission, if no datagram arrives before it.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let opened = self.opened.map(|opened| opened + self.config.delay_max);
        let in_flight = self.in_flight.iter().map(|request| request.due);
        let hello = self.hello.due.filter(|_| self.session.is_none());
        if self.session.is_none() { hello } else { in_flight.chain(opened).min() }
    }

    /// Processes a received datagram, and passes the outcomes in it to `each`.
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
                if self.in_flight[index].receive(&header, rest, &mut each) {
                    self.remove(index);
                }
            }
            Kind::Rejected(rejection) => self.receive_rejection(&header, rejection, &mut each),
            _ => {}
        }
    }

    /// Moves the request that is being filled into flight. Returns false if the limit on requests in flight
    /// is reached.
    fn seal(&mut self, now: Instant) -> bool {
        // The server remembers only a window of identifiers.
        let oldest = self.in_flight.front().map_or(self.identifier + 1, |request| request.header.identifier);
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
        let request = InFlightRequest::new(header, self.open.datagram(header), first_ticket, writes, now);
        self.in_flight.push_back(request);
        self.open.clear();
        self.opened = None;
        true
    }

    /// Requests a token or, with a token, a session.
    fn send_hello(&mut self, now: Instant, mut send: impl FnMut(&[u8])) {
        if self.hello.due.is_some_and(|due| now < due) {
            return;
        }
        self.hello.started.get_or_insert(now);
        self.hello.attempt = self.hello.attempt.wrapping_add(1);
        let Hello { token, attempt, .. } = self.hello;
        send(&Header { identifier: token, attempt, ..Header::of(Kind::Hello) }.bytes());
        self.hello.due = Some(now + self.config.timeout * (1 << self.hello.times.min(5)));
        self.hello.times += 1;
    }

    /// Moves the requests in flight to a new session, except writes that the server may have executed in the
    /// old one.
    fn begin_session(&mut self, session: u64, now: Instant, each: &mut impl FnMut(Ticket, Outcome<'_>)) {
        self.session = Some(session);
        self.hello = Hello::default();
        self.give_up(|request| request.writes && !request.not_executed, each);
        for request in &mut self.in_flight {
            (request.due, request.sent) = (now, 0);
        }
    }

    fn receive_rejection(
        &mut self,
        header: &Header,
        rejection: Rejection,
        each: &mut impl FnMut(Ticket, Outcome<'_>),
    ) {
        let Some(index) = self.find(header) else { return };
        let request = &mut self.in_flight[index];
        match rejection {
            Rejection::Session => {
                request.not_executed |= request.sent == 1;
                self.session = self.session.filter(|&session| session != header.session);
            }
            Rejection::Identifier => {
                self.give_up(|request| request.header.identifier == header.identifier, each)
            }
            Rejection::Malformed | Rejection::Table => {
                let tickets = request.first_ticket..request.first_ticket + request.operations();
                self.remove(index);
                tickets.for_each(|ticket| each(Ticket(ticket), Outcome::Rejected(rejection)));
            }
        }
    }

    /// Returns the index of the request that a datagram belongs to.
    fn find(&self, header: &Header) -> Option<usize> {
        let found =
            self.in_flight.binary_search_by_key(&header.identifier, |request| request.header.identifier);
        found.ok().filter(|&index| self.in_flight[index].header.session == header.session)
    }

    fn remove(&mut self, index: usize) {
        if let Some(request) = self.in_flight.remove(index) {
            self.outstanding -= request.operations();
        }
    }

    /// Gives up requests without a reply.
    fn give_up(
        &mut self,
        which: impl Fn(&InFlightRequest) -> bool,
        each: &mut impl FnMut(Ticket, Outcome<'_>),
    ) {
        let outstanding = &mut self.outstanding;
        self.in_flight.retain(|request| {
            let is_given_up = which(request);
            if is_given_up {
                *outstanding -= request.operations();
                let tickets = request.first_ticket..request.first_ticket + request.operations();
                tickets.for_each(|ticket| each(Ticket(ticket), Outcome::Unanswered));
            }
            !is_given_up
        });
    }
}

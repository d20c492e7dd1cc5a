//! A client with a socket of its own, that waits for what it asks for.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use honeycomb_protocol::batch::{Operation, Refusal};
use honeycomb_protocol::{PAYLOAD_BYTES_MAX, together};
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::config::Config;
use crate::exchange::{Exchange, Ticket};
use crate::outcome::Outcome;

/// Why an operation has no outcome, or not the one that was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused something.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Nobody answered the hello.
    #[error("no answer from {0}: nobody takes batch datagrams there")]
    NoServer(SocketAddr),
    /// A parameter of the client is not allowed.
    #[error("{name} is {value}: allowed are {allowed}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// What it is.
        value: usize,
        /// What is allowed.
        allowed: &'static str,
    },
    /// An operation is longer than a datagram.
    #[error("an operation that does not fit into a datagram of {0} bytes")]
    TooLong(usize),
    /// There are operations without an outcome, which have to be polled first.
    #[error("{0} operations were submitted and have no outcome yet: poll them first")]
    Outstanding(u64),
    /// No reply has come.
    #[error("no reply: a write was carried out once or not at all")]
    Unanswered,
    /// The server refused the request.
    #[error("the server refused the request: {0:?}")]
    Refused(Refusal),
    /// The server could not do it.
    #[error("the server could not do it: {0}")]
    Server(&'static str),
}

/// A client of a server's batch datagrams.
#[derive(Debug)]
pub struct Client {
    socket: UdpSocket,
    state: UdpSocketState,
    server: SocketAddr,
    exchange: Exchange,
    payload_bytes: usize,
    /// Datagrams to be sent, one after the other, and where each ends.
    outbox: Vec<u8>,
    ends: Vec<usize>,
    inbox: Vec<u8>,
}

/// Buffers of the inbox, each with room for all that the system hands over together.
const BUFFERS: usize = 8;
const BUFFER_BYTES: usize = 1 << 16;
/// Bytes that the system is asked to keep until they are received.
const KEPT_BYTES: usize = 4 << 20;

impl Client {
    /// A client of the server at an address.
    ///
    /// # Errors
    /// [`Error::NoServer`], [`Error::Parameter`], [`Error::Io`].
    pub fn connect(server: SocketAddr, config: Config) -> Result<Self, Error> {
        check(&config)?;
        let any: SocketAddr = match server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(any)?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // As much as the system allows.
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), KEPT_BYTES);
        let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), KEPT_BYTES);
        let until = Instant::now() + config.patience;
        let mut client = Self {
            socket,
            state,
            server,
            payload_bytes: config.payload_bytes,
            exchange: Exchange::new(config),
            outbox: Vec::new(),
            ends: Vec::new(),
            inbox: vec![0; BUFFERS * BUFFER_BYTES],
        };
        while !client.exchange.is_connected() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::NoServer(server));
            }
            client.poll(left, |_, _| {})?;
        }
        Ok(client)
    }

    /// Takes an operation in, to be sent with others: none if there is no room before some were polled.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::Io`].
    pub fn submit(&mut self, operation: &Operation<'_>) -> Result<Option<Ticket>, Error> {
        let ticket = self.exchange.submit(operation, Instant::now());
        if ticket.is_none() && !self.exchange.allows(operation) {
            return Err(Error::TooLong(self.payload_bytes));
        }
        Ok(ticket)
    }

    /// Sends what is to be sent, waits at most so long for answers unless there is some at once, and hands
    /// out the outcomes that they tell. If it has to wait, no operation waits for others any more.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn poll(&mut self, wait: Duration, mut each: impl FnMut(Ticket, Outcome<'_>)) -> Result<(), Error> {
        let until = Instant::now() + wait;
        loop {
            let now = Instant::now();
            if !wait.is_zero() {
                self.exchange.flush(now);
            }
            self.transmit(now, &mut each)?;
            if self.receive(now, &mut each)? > 0 || now >= until {
                return Ok(());
            }
            let due = self.exchange.due().unwrap_or(until).min(until);
            self.wait(due.saturating_duration_since(Instant::now()))?;
        }
    }

    /// Operations that were submitted and have no outcome yet.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.exchange.outstanding()
    }

    /// Carries out operations together, and hands out their outcomes by their places, in any order. Those of
    /// one request that read are carried out before those that write.
    ///
    /// # Errors
    /// [`Error::Outstanding`], [`Error::TooLong`], [`Error::Io`]. Some may have been carried out then.
    pub fn call(
        &mut self,
        operations: &[Operation<'_>],
        mut each: impl FnMut(usize, Outcome<'_>),
    ) -> Result<(), Error> {
        let outstanding = self.outstanding();
        if outstanding > 0 {
            return Err(Error::Outstanding(outstanding));
        }
        let mut first = None;
        let wait = Duration::from_secs(1);
        let mut told = |first: Option<u64>, Ticket(ticket): Ticket, outcome: Outcome<'_>| {
            each((ticket - first.unwrap_or(ticket)) as usize, outcome);
        };
        for operation in operations {
            let Ticket(ticket) = loop {
                match self.submit(operation)? {
                    Some(ticket) => break ticket,
                    None => self.poll(wait, |ticket, outcome| told(first, ticket, outcome))?,
                }
            };
            first.get_or_insert(ticket);
        }
        while self.outstanding() > 0 {
            self.poll(wait, |ticket, outcome| told(first, ticket, outcome))?;
        }
        Ok(())
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`Error`].
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        self.one(&Operation::Get(key), |outcome| match outcome {
            Outcome::Value(value) => Some(Some(value.to_vec())),
            Outcome::Absent => Some(None),
            _ => None,
        })
    }

    /// Adds a pair or changes its value.
    ///
    /// # Errors
    /// [`Error`].
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.one(&Operation::Put { key, value }, |outcome| (outcome == Outcome::Done).then_some(()))
    }

    /// Adds a pair: false if the key is there.
    ///
    /// # Errors
    /// [`Error`].
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        self.one(&Operation::Insert { key, value }, |outcome| unless(outcome, Outcome::Exists))
    }

    /// Changes a value: false if the key is absent.
    ///
    /// # Errors
    /// [`Error`].
    pub fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        self.one(&Operation::Update { key, value }, |outcome| unless(outcome, Outcome::Absent))
    }

    /// Removes a pair: false if the key is absent.
    ///
    /// # Errors
    /// [`Error`].
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, Error> {
        self.one(&Operation::Delete(key), |outcome| unless(outcome, Outcome::Absent))
    }

    /// Changes a value that equals the expected one: false if it does not, or the key is absent.
    ///
    /// # Errors
    /// [`Error`].
    pub fn compare_and_swap(&mut self, key: &[u8], expected: &[u8], value: &[u8]) -> Result<bool, Error> {
        let swap = Operation::CompareAndSwap { key, expected, value };
        self.one(&swap, |outcome| match outcome {
            Outcome::Absent => Some(false),
            other => unless(other, Outcome::Differs),
        })
    }

    /// Carries out one operation; `meaning` has none for outcomes that are errors.
    fn one<T>(
        &mut self,
        operation: &Operation<'_>,
        meaning: impl Fn(Outcome<'_>) -> Option<T>,
    ) -> Result<T, Error> {
        let mut told = Err(Error::Unanswered);
        self.call(&[*operation], |_, outcome| told = meaning(outcome).ok_or_else(|| error(outcome)))?;
        told
    }

    /// Sends what is to be sent: requests of one size together.
    fn transmit(&mut self, now: Instant, each: &mut impl FnMut(Ticket, Outcome<'_>)) -> io::Result<()> {
        let (outbox, ends) = (&mut self.outbox, &mut self.ends);
        let send = |datagram: &[u8]| {
            outbox.extend_from_slice(datagram);
            ends.push(outbox.len());
        };
        self.exchange.transmit(now, send, each);
        let (mut rest, mut start) = (&self.ends[..], 0);
        while let Some(&first) = rest.first() {
            let size = first - start;
            let count = together(start, rest.iter().copied(), self.state.max_gso_segments());
            let contents = &self.outbox[start..rest[count - 1]];
            let segment_size = Some(size);
            let transmit =
                Transmit { destination: self.server, ecn: None, contents, segment_size, src_ip: None };
            match self.state.try_send(UdpSockRef::from(&self.socket), &transmit) {
                // What is not sent now is sent again when it was not answered.
                Err(error) if is_lost(&error) => {}
                sent => sent?,
            }
            start = rest[count - 1];
            rest = &rest[count..];
        }
        self.outbox.clear();
        self.ends.clear();
        Ok(())
    }

    /// Takes what has arrived: how many times something had.
    fn receive(&mut self, now: Instant, each: &mut impl FnMut(Ticket, Outcome<'_>)) -> io::Result<usize> {
        let mut metas = [RecvMeta::default(); BUFFERS];
        let mut chunks = self.inbox.chunks_exact_mut(BUFFER_BYTES);
        let mut buffers: [IoSliceMut<'_>; BUFFERS] =
            std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
        let received = match self.state.recv(UdpSockRef::from(&self.socket), &mut buffers, &mut metas) {
            Err(error) if is_lost(&error) => return Ok(0),
            received => received?,
        };
        for (meta, buffer) in metas[..received].iter().zip(self.inbox.chunks_exact(BUFFER_BYTES)) {
            if meta.addr != self.server {
                continue;
            }
            for datagram in buffer[..meta.len].chunks(meta.stride.max(1)) {
                self.exchange.receive(datagram, now, &mut *each);
            }
        }
        Ok(received)
    }

    /// Waits until something has arrived.
    fn wait(&self, most: Duration) -> io::Result<()> {
        let timeout = Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&timeout)) {
            Err(rustix::io::Errno::INTR) | Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn check(config: &Config) -> Result<(), Error> {
    let window = honeycomb_layout::BATCH_WINDOW;
    let parameters = [
        ("payload_bytes", config.payload_bytes, 64..=PAYLOAD_BYTES_MAX, "64 to 65507"),
        ("requests_max", config.requests_max, 1..=window, "1 to 64"),
    ];
    let wrong = parameters.into_iter().find(|(_, value, allowed, _)| !allowed.contains(value));
    wrong.map_or(Ok(()), |(name, value, _, allowed)| Err(Error::Parameter { name, value, allowed }))
}

/// True if done, false if the outcome is that one.
fn unless(outcome: Outcome<'_>, not: Outcome<'_>) -> Option<bool> {
    (outcome == Outcome::Done || outcome == not).then_some(outcome == Outcome::Done)
}

fn error(outcome: Outcome<'_>) -> Error {
    match outcome {
        Outcome::Unanswered => Error::Unanswered,
        Outcome::Refused(refusal) => Error::Refused(refusal),
        Outcome::TooLarge | Outcome::NoRoom => Error::Server("the value is longer than a datagram"),
        Outcome::KeyLength => Error::Server("no key of its store can be empty or so long"),
        Outcome::OutOfMemory => Error::Server("its store has no room"),
        _ => Error::Server("the pair is not one that servers write, or the store could not say"),
    }
}

/// Whether it is as if a datagram had been lost.
fn is_lost(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionRefused)
}

//! A client with its own socket, whose calls wait for their outcomes.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use honeycomb_protocol::batch::{FunctionForm, Operation, RangeForm, RangeFunction, RangeTerm, Rejection};
use honeycomb_protocol::{PAYLOAD_BYTES_MAX, segment_run};
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::config::Config;
use crate::exchange::{Exchange, Ticket};
use crate::outcome::Outcome;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// No reply to the hello arrived.
    #[error("no reply from {0}: no server receives batch datagrams there")]
    NoServer(SocketAddr),
    /// A parameter of the client is invalid.
    #[error("{name} is {value}: it must be {allowed}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// Its invalid value.
        value: usize,
        /// The allowed values.
        allowed: &'static str,
    },
    /// An operation does not fit into a datagram.
    #[error("the operation does not fit into a datagram of {0} bytes")]
    TooLong(usize),
    /// Earlier operations have no outcome yet.
    #[error("{0} earlier operations have no outcome yet: poll them first")]
    Outstanding(u64),
    /// No reply arrived.
    #[error("no reply: the server executed a write once or not at all")]
    Unanswered,
    /// The server rejected the request.
    #[error("the server rejected the request: {0:?}")]
    Rejected(Rejection),
    /// The server could not execute the operation.
    #[error("the server could not execute the operation: {0}")]
    Server(&'static str),
}

/// A client for batch datagrams with its own UDP socket.
#[derive(Debug)]
pub struct Client {
    socket: UdpSocket,
    state: UdpSocketState,
    server: SocketAddr,
    exchange: Exchange,
    payload_bytes: usize,
    /// The datagrams to send, concatenated, and their end offsets.
    outbox: Vec<u8>,
    ends: Vec<usize>,
    inbox: Vec<u8>,
}

/// Buffers of the inbox, each for the datagrams that the system returns together.
const BUFFERS: usize = 8;
const BUFFER_BYTES: usize = 1 << 16;
/// Requested size of the socket buffers in bytes.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;

impl Client {
    /// Connects to the server at an address: returns once there is a session.
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
        // The system may allow less.
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER_BYTES);
        let _ = state.set_send_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER_BYTES);
        let until = Instant::now() + config.reply_deadline;
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

    /// Adds an operation, which is sent together with others. Returns `None` if there is no room until
    /// [`Client::poll`] has returned outcomes.
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

    /// Sends the datagrams that are due, waits at most `wait` for replies unless some have arrived already,
    /// and passes their outcomes to `each`. If `wait` is not zero, it also sends the request that is being
    /// filled, without its delay.
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

    /// Returns the number of submitted operations without an outcome.
    #[must_use]
    pub fn outstanding(&self) -> u64 {
        self.exchange.outstanding()
    }

    /// Executes operations together, and passes their outcomes to `each` with their indexes, in any order.
    /// Among the operations of one request, the server executes reads before writes.
    ///
    /// # Errors
    /// [`Error::Outstanding`], [`Error::TooLong`], [`Error::Io`]. After an error the server may have executed
    /// some of the operations.
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
        let mut report = |first: Option<u64>, Ticket(ticket): Ticket, outcome: Outcome<'_>| {
            each((ticket - first.unwrap_or(ticket)) as usize, outcome);
        };
        for operation in operations {
            let Ticket(ticket) = loop {
                match self.submit(operation)? {
                    Some(ticket) => break ticket,
                    None => self.poll(wait, |ticket, outcome| report(first, ticket, outcome))?,
                }
            };
            first.get_or_insert(ticket);
        }
        while self.outstanding() > 0 {
            self.poll(wait, |ticket, outcome| report(first, ticket, outcome))?;
        }
        Ok(())
    }

    /// Returns the value of a key, or `None` if the key is absent.
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

    /// Inserts a pair or replaces its value.
    ///
    /// # Errors
    /// [`Error`].
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.one(&Operation::Put { key, value }, |outcome| (outcome == Outcome::Done).then_some(()))
    }

    /// Inserts a pair. Returns false if the key exists.
    ///
    /// # Errors
    /// [`Error`].
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        self.one(&Operation::Insert { key, value }, |outcome| unless(outcome, Outcome::Exists))
    }

    /// Replaces the value of an existing key. Returns false if the key is absent.
    ///
    /// # Errors
    /// [`Error`].
    pub fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        self.one(&Operation::Update { key, value }, |outcome| unless(outcome, Outcome::Absent))
    }

    /// Deletes a pair. Returns false if the key is absent.
    ///
    /// # Errors
    /// [`Error`].
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, Error> {
        self.one(&Operation::Delete(key), |outcome| unless(outcome, Outcome::Absent))
    }

    /// Replaces a value that equals the expected one. Returns false if it differs or the key is absent.
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

    /// Applies a function to the value of a key. Returns the original value of an updated scalar, the result
    /// of a reduction or the elements that a filter returns; nothing for an updated vector; and `None` if the
    /// key is absent.
    ///
    /// # Errors
    /// [`Error::Server`] if the function does not exist, has other operands, or the value does not consist of
    /// its elements, or is longer than 64 KiB; [`Error`].
    pub fn apply(
        &mut self,
        key: &[u8],
        form: FunctionForm,
        function: u16,
        operands: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        self.one(&Operation::Function { key, form, function, operands }, |outcome| match outcome {
            Outcome::Value(value) => Some(Some(value.to_vec())),
            Outcome::Done => Some(Some(Vec::new())),
            Outcome::Absent => Some(None),
            _ => None,
        })
    }

    /// Counts the pairs from a key up to but not including another one whose values satisfy all conditions:
    /// at most eight predicates. An empty key is not a bound. The server executes it in parts, each at a
    /// version of its own.
    ///
    /// # Errors
    /// [`Error::Server`] if there are too many conditions, a function does not exist or has other operands,
    /// or the table has no order; [`Error`].
    pub fn count_range(&mut self, range: (&[u8], &[u8]), conditions: &[RangeTerm<'_>]) -> Result<u64, Error> {
        let function = RangeFunction { form: RangeForm::Count, conditions: conditions.to_vec() }.bytes();
        let (mut from, mut count, mut more) = (range.0.to_vec(), 0, true);
        while more {
            let add = |_: &[u8], value: &[u8]| {
                count += value.first_chunk().map_or(0, |count| u64::from_le_bytes(*count));
            };
            more = self.part(&mut from, range.1, &function, add)?;
        }
        Ok(count)
    }

    /// Folds the elements of the values of such a range with a function, from the operand of `fold` on.
    ///
    /// # Errors
    /// The same as for [`Client::count_range`].
    pub fn reduce_range(
        &mut self,
        range: (&[u8], &[u8]),
        fold: RangeTerm<'_>,
        conditions: &[RangeTerm<'_>],
    ) -> Result<Vec<u8>, Error> {
        let (mut from, mut result, mut more) = (range.0.to_vec(), fold.operands.to_vec(), true);
        while more {
            let form = RangeForm::Reduce(RangeTerm { operands: &result, ..fold });
            let function = RangeFunction { form, conditions: conditions.to_vec() }.bytes();
            more = self.part(&mut from, range.1, &function, |_, value| result = value.to_vec())?;
        }
        Ok(result)
    }

    /// Visits the pairs of such a range.
    ///
    /// # Errors
    /// The same as for [`Client::count_range`]; also if a pair is longer than a datagram.
    pub fn filter_range(
        &mut self,
        range: (&[u8], &[u8]),
        conditions: &[RangeTerm<'_>],
        mut visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Error> {
        let function = RangeFunction { form: RangeForm::Filter, conditions: conditions.to_vec() }.bytes();
        let mut from = range.0.to_vec();
        while self.part(&mut from, range.1, &function, &mut visit)? {}
        Ok(())
    }

    /// Executes a function for a part of a range and visits the pairs of its outcome. Returns whether the
    /// range goes on; then `from` is the key at which it does.
    fn part(
        &mut self,
        from: &mut Vec<u8>,
        to: &[u8],
        function: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<bool, Error> {
        let mut report = Err(Error::Unanswered);
        let first = std::mem::take(from);
        let operation = Operation::RangeFunction { from: &first, to, function };
        self.call(&[operation], |_, outcome| {
            report = match outcome {
                Outcome::Pairs { pairs, more: false } => {
                    pairs.iter().for_each(|(key, value)| visit(key, value));
                    Ok(false)
                }
                Outcome::Part { pairs, last } => {
                    pairs.iter().for_each(|(key, value)| visit(key, value));
                    // The smallest key after the last one.
                    *from = [last, b"\0"].concat();
                    Ok(true)
                }
                other => Err(error(other)),
            };
        })?;
        report
    }

    /// Executes one operation. `meaning` returns `None` for outcomes that are errors.
    fn one<T>(
        &mut self,
        operation: &Operation<'_>,
        meaning: impl Fn(Outcome<'_>) -> Option<T>,
    ) -> Result<T, Error> {
        let mut report = Err(Error::Unanswered);
        self.call(&[*operation], |_, outcome| report = meaning(outcome).ok_or_else(|| error(outcome)))?;
        report
    }

    /// Sends the datagrams that are due, with one system call for those of one size.
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
            let count = segment_run(start, rest.iter().copied(), self.state.max_gso_segments());
            let contents = &self.outbox[start..rest[count - 1]];
            let segment_size = Some(size);
            let transmit =
                Transmit { destination: self.server, ecn: None, contents, segment_size, src_ip: None };
            match self.state.try_send(UdpSockRef::from(&self.socket), &transmit) {
                // A lost request is repeated when its reply does not arrive.
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

    /// Receives datagrams. Returns the number of buffers that the system filled.
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

    /// Waits until a datagram has arrived.
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
    let invalid = parameters.into_iter().find(|(_, value, allowed, _)| !allowed.contains(value));
    invalid.map_or(Ok(()), |(name, value, _, allowed)| Err(Error::Parameter { name, value, allowed }))
}

/// Returns true if the operation is done, false if its outcome is `not`, and `None` otherwise.
fn unless(outcome: Outcome<'_>, not: Outcome<'_>) -> Option<bool> {
    (outcome == Outcome::Done || outcome == not).then_some(outcome == Outcome::Done)
}

fn error(outcome: Outcome<'_>) -> Error {
    match outcome {
        Outcome::Unanswered => Error::Unanswered,
        Outcome::Rejected(rejection) => Error::Rejected(rejection),
        Outcome::TooLarge | Outcome::NoRoom => Error::Server("the value is longer than a datagram"),
        Outcome::KeyLength => Error::Server("the key is empty or too long"),
        Outcome::OutOfMemory => Error::Server("the store has no room"),
        Outcome::NotApplicable => {
            Error::Server("the function is not applicable to the value or its operands")
        }
        _ => Error::Server("the store failed, or the stored pair has an unknown format"),
    }
}

/// Returns whether the error is equivalent to a lost datagram.
fn is_lost(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionRefused)
}

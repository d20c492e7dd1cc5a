//! A client's connection: what has arrived, what is to be sent.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;

use honeycomb_protocol::resp::{Limits, Malformed, Replies, Request};
use mio::net::TcpStream;

use crate::arguments::Arguments;
use crate::clients::Activity;
use crate::session::Session;

/// Bytes that are received at once.
const RECEIVED_AT_ONCE: usize = 64 << 10;
/// Bytes that are received of one connection before others have their turn.
const RECEIVED_A_TURN: usize = 4 * RECEIVED_AT_ONCE;
/// Bytes of memory that a connection keeps for requests and for replies when there are none.
const KEPT_BYTES: usize = 1 << 20;

/// One client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: TcpStream,
    pub(crate) session: Session,
    pub(crate) replies: Replies,
    /// What has arrived; what is before `start` was carried out.
    inbox: Vec<u8>,
    start: usize,
    /// The request at the start, once it was found: with its length.
    request: Request,
    length: Option<usize>,
    /// There may be bytes to receive, or room to send: the system tells only when that changes.
    pub(crate) receivable: bool,
    pub(crate) sendable: bool,
    /// The client sends nothing any more.
    ended: bool,
    /// There is no whole request before more has arrived.
    starved: bool,
}

/// Where a request is in what has arrived, for use after further ones were found.
#[derive(Debug)]
pub(crate) struct Found {
    request: Request,
    start: usize,
}

impl Connection {
    pub(crate) fn new(socket: TcpStream, session: Session) -> Self {
        Self {
            socket,
            session,
            replies: Replies::default(),
            inbox: Vec::new(),
            start: 0,
            request: Request::default(),
            length: None,
            receivable: true,
            sendable: true,
            ended: false,
            starved: true,
        }
    }

    /// Takes in what has arrived, within reason: how many bytes.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receivable &= !self.ended;
        let mut received = 0;
        while self.receivable && received < RECEIVED_A_TURN {
            match self.socket.read(buffer) {
                Ok(0) => {
                    self.ended = true;
                    self.receivable = false;
                }
                Ok(bytes) => {
                    self.inbox.extend_from_slice(&buffer[..bytes]);
                    received += bytes;
                    self.starved = false;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.receivable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(received)
    }

    /// Nothing is received any more: what has arrived is all that is carried out.
    pub(crate) fn hear_no_more(&mut self) {
        self.ended = true;
    }

    /// Ends it. What has arrived meanwhile is taken in: the system would take back replies that are on their
    /// way if it were not.
    pub(crate) fn part(mut self, buffer: &mut [u8]) {
        let _ = self.socket.shutdown(Shutdown::Write);
        for _ in 0..RECEIVED_A_TURN / RECEIVED_AT_ONCE {
            if !matches!(self.socket.read(buffer), Ok(1..)) {
                break;
            }
        }
    }

    /// A buffer for [`Connection::receive`].
    pub(crate) fn buffer() -> Vec<u8> {
        vec![0; RECEIVED_AT_ONCE]
    }

    /// Sends as many replies as there is room for: how many bytes.
    pub(crate) fn send(&mut self) -> io::Result<usize> {
        let mut sent = 0;
        while self.sendable && sent < self.replies.bytes().len() {
            match self.socket.write(&self.replies.bytes()[sent..]) {
                Ok(bytes) => sent += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.sendable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.replies.consume(sent);
        self.replies.shrink(KEPT_BYTES);
        Ok(sent)
    }

    /// Whether there is a whole request at the front of what has arrived; its arguments are there then.
    pub(crate) fn find(&mut self, limits: &Limits) -> Result<bool, Malformed> {
        while self.length.is_none() && self.start < self.inbox.len() {
            match self.request.parse(&self.inbox[self.start..], limits)? {
                Some(length) if self.request.is_empty() => self.start += length,
                found => {
                    self.length = found;
                    break;
                }
            }
        }
        self.starved = self.length.is_none();
        Ok(!self.starved)
    }

    /// The name of the command that was found, and how many arguments it has.
    pub(crate) fn front(&self) -> (&[u8], usize) {
        let name = self.request.arguments(&self.inbox[self.start..]).next();
        (name.unwrap_or_default(), self.request.len())
    }

    /// The arguments of the request that was found.
    pub(crate) fn arguments(&self) -> Arguments<'_> {
        self.request.arguments(&self.inbox[self.start..]).collect()
    }

    /// The same, and where replies go.
    pub(crate) fn parts(&mut self) -> (Arguments<'_>, &mut Session, &mut Replies) {
        let arguments = self.request.arguments(&self.inbox[self.start..]).collect();
        (arguments, &mut self.session, &mut self.replies)
    }

    /// Goes on to the next request. `spare` takes the place of the one that was found, which is returned.
    pub(crate) fn take(&mut self, spare: Request) -> Found {
        let found = Found { request: std::mem::replace(&mut self.request, spare), start: self.start };
        self.pass();
        found
    }

    /// Goes on to the next request.
    pub(crate) fn pass(&mut self) {
        self.start += self.length.take().unwrap_or(0);
    }

    /// The arguments of a request that was taken, and where its replies go.
    pub(crate) fn parts_of<'a>(&'a mut self, found: &'a Found) -> (Arguments<'a>, &'a mut Replies) {
        (found.request.arguments(&self.inbox[found.start..]).collect(), &mut self.replies)
    }

    /// The arguments of a request that was passed, and how many bytes it has.
    pub(crate) fn passed(&self, start: usize, limits: &Limits) -> (Request, &[u8], usize) {
        let (mut request, bytes) = (Request::default(), &self.inbox[start..]);
        let length = request.parse(bytes, limits).ok().flatten().unwrap_or(0);
        (request, bytes, length)
    }

    /// Where the request is that comes next.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Forgets the requests that were carried out.
    pub(crate) fn compact(&mut self) {
        self.inbox.drain(..self.start);
        self.start = 0;
        if self.inbox.is_empty() {
            self.inbox.shrink_to(KEPT_BYTES);
        }
    }

    /// What is to be shown of it.
    pub(crate) fn activity(&self) -> Activity {
        let memory_bytes = self.inbox.capacity() + self.replies.capacity() + size_of::<Self>();
        let database = self.session.database;
        Activity { database, request_bytes: self.inbox.len(), reply_bytes: self.unsent(), memory_bytes }
    }

    /// Whether all is done: the client has gone, or is to go, and has its replies.
    pub(crate) fn is_done(&self) -> bool {
        let no_more = self.session.closing || (self.ended && self.starved);
        no_more && self.replies.bytes().is_empty()
    }

    /// Whether something is to be done without anything happening: there are requests or bytes to take, and
    /// room for at most `unsent_max` bytes of replies; or replies to send.
    pub(crate) fn is_ready(&self, unsent_max: usize) -> bool {
        let has_room = self.unsent() < unsent_max;
        has_room && (self.receivable || !self.starved) || self.sendable && self.unsent() > 0
    }

    /// Bytes that wait to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.replies.bytes().len()
    }
}

impl Found {
    /// Where the request began.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// The memory of a request that was answered.
    pub(crate) fn into_spare(self) -> Request {
        self.request
    }
}

//! A client's connection: what has arrived, what is to be sent.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use honeycomb_protocol::resp::{ChunkPool, Found, Limits, Malformed, Replies, Requests, Version};
use mio::net::TcpStream;

use crate::clients::Activity;
use crate::command::CommandRef;
use crate::commands;
use crate::config::Config;
use crate::failure::Failure;
use crate::monitors::Monitoring;
use crate::session::{Queue, Session};
use crate::task::Task;

/// Bytes that are received at once.
const RECEIVED_AT_ONCE: usize = 64 << 10;
/// Bytes of requests that wait to be executed, beyond which no more are received.
const WAITING_BYTES_MAX: usize = 4 * RECEIVED_AT_ONCE;
/// Bytes that one iteration of the event loop sends to one client.
const SENT_AT_ONCE: usize = 64 << 10;
/// Bytes of a receipt, or of unsent replies, up to which a client does not count towards the quota.
const LIGHT_BYTES: usize = 16 << 10;
/// Bytes of memory that a connection keeps for requests and for replies when there are none.
const KEPT_BYTES: usize = RECEIVED_AT_ONCE;
/// Limits of requests from a client that has not said the password.
const BEFORE_AUTHENTICATION: Limits = Limits {
    arguments_max: 10,
    argument_bytes_max: 16 << 10,
    line_bytes_max: 16 << 10,
    request_bytes_max: 64 << 10,
};

/// One client.
pub(crate) struct Connection {
    pub(crate) socket: TcpStream,
    pub(crate) session: Session,
    pub(crate) replies: Replies,
    /// The reply of a task that was too long, to be freed step by step once the connection is closed.
    pub(crate) discarded: Option<Replies>,
    /// What has arrived.
    pub(crate) requests: Requests,
    /// A request that was put back.
    front: Option<PendingRequest>,
    /// The next request is to be executed alone: it was tried with others.
    next_is_alone: bool,
    /// A command that takes more than a turn. Those after it wait.
    pub(crate) task: Option<Box<Task>>,
    /// There may be bytes to receive, or room to send: the system tells only when that changes.
    pub(crate) receivable: bool,
    pub(crate) sendable: bool,
    /// The client has said that it sends nothing any more, though something may be left to receive.
    pub(crate) hung_up: bool,
    /// The client sends nothing any more.
    ended: bool,
    /// There is no further whole request before more has arrived.
    starved: bool,
    /// It received little when it last received.
    receives_little: bool,
    /// Memory of a long request is left to be given back.
    shrinks: bool,
    /// Bytes of its memory that are part of the total of all clients.
    pub(crate) accounted_bytes: usize,
    /// Bytes of unsent replies from which on its commands wait.
    pub(crate) unsent_bytes_max: usize,
}

/// A request, and what it asks for.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) found: Found,
    /// The command, if there is one of its name.
    pub(crate) command: Option<CommandRef>,
    /// It was tried, and cannot be read together with others.
    pub(crate) is_no_read: bool,
    /// It was tried, and cannot be written together with others.
    pub(crate) is_no_write: bool,
}

/// The bytes that one iteration of the event loop still receives, or sends, for clients with many of them.
///
/// A client with few bytes is always served: it waits for one quota of the others at most.
#[derive(Debug)]
pub(crate) struct Quota(usize);

impl Quota {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(bytes)
    }

    fn is_exhausted(&self) -> bool {
        self.0 == 0
    }

    fn take(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }
}

/// The buffers of a connection that is closed.
#[derive(Debug)]
pub(crate) struct Buffers {
    replies: Replies,
    discarded: Option<Replies>,
    requests: Requests,
}

impl Buffers {
    /// Frees a part of them. Returns whether there is more.
    pub(crate) fn free_some(&mut self) -> bool {
        let discarded = self.discarded.as_mut().is_some_and(Replies::discard_chunk);
        discarded || self.replies.discard_chunk() || self.requests.discard()
    }
}

impl Connection {
    pub(crate) fn new(socket: TcpStream, session: Session, pool: Arc<ChunkPool>) -> Self {
        Self {
            socket,
            session,
            replies: Replies::with_pool(pool),
            discarded: None,
            requests: Requests::default(),
            front: None,
            next_is_alone: false,
            task: None,
            receivable: true,
            sendable: true,
            hung_up: false,
            ended: false,
            starved: true,
            receives_little: true,
            shrinks: false,
            accounted_bytes: 0,
            unsent_bytes_max: usize::MAX,
        }
    }

    /// Receives as many bytes as are there, the buffer and the quota allow. Returns how many.
    ///
    /// A short receipt takes all there is: the system notifies the core when more arrives.
    pub(crate) fn receive(&mut self, buffer: &mut [u8], quota: &mut Quota) -> io::Result<usize> {
        self.receivable &= !self.ended;
        let is_full = !self.starved && self.requests.len() > WAITING_BYTES_MAX;
        if !self.receivable || is_full || !self.receives_little && quota.is_exhausted() {
            return Ok(0);
        }
        let received = loop {
            match self.socket.read(buffer) {
                Ok(0) => {
                    self.ended = true;
                    self.receivable = false;
                    break 0;
                }
                Ok(bytes) => break bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.receivable = false;
                    break 0;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        if received > 0 {
            self.requests.receive(&buffer[..received]);
            self.starved = false;
            self.receivable = received == buffer.len() || self.hung_up;
            self.receives_little = received <= LIGHT_BYTES;
            quota.take(if self.receives_little { 0 } else { received });
        }
        Ok(received)
    }

    /// Nothing is received any more: what has arrived is all that is carried out.
    pub(crate) fn hear_no_more(&mut self) {
        self.ended = true;
    }

    /// Closes the socket, and returns the buffers, which may be long, to be freed step by step. It receives
    /// the bytes that have arrived, or else the system would drop replies that are on their way.
    pub(crate) fn close(mut self, buffer: &mut [u8]) -> Buffers {
        let _ = self.socket.shutdown(Shutdown::Write);
        for _ in 0..WAITING_BYTES_MAX / RECEIVED_AT_ONCE {
            if !matches!(self.socket.read(buffer), Ok(1..)) {
                break;
            }
        }
        if let Some(task) = self.task {
            self.replies.append(task.into_replies());
        }
        Buffers { replies: self.replies, discarded: self.discarded, requests: self.requests }
    }

    /// A buffer for [`Connection::receive`].
    pub(crate) fn buffer() -> Vec<u8> {
        vec![0; RECEIVED_AT_ONCE]
    }

    /// Sends as many replies as the client takes and the quota allows. Returns the number of bytes.
    pub(crate) fn send(&mut self, quota: &mut Quota) -> io::Result<usize> {
        let is_light = self.replies.len() <= LIGHT_BYTES;
        let mut sent = 0;
        while self.sendable && sent < SENT_AT_ONCE && !self.replies.is_empty() {
            if !is_light && quota.is_exhausted() {
                break;
            }
            let front = self.replies.front();
            match self.socket.write(&front[..front.len().min(SENT_AT_ONCE - sent)]) {
                Ok(bytes) => {
                    self.replies.consume(bytes);
                    sent += bytes;
                    quota.take(if is_light { 0 } else { bytes });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.sendable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.replies.shrink(KEPT_BYTES);
        Ok(sent)
    }

    /// Notes for others whether its client takes its replies, of which so many bytes were sent just now.
    pub(crate) fn note_sent(&self, sent: usize, now: u64) {
        if self.is_empty_or_sendable() {
            self.session.client.takes_replies(0);
        } else if sent > 0 || self.session.client.took_all() {
            self.session.client.takes_replies(now);
        }
    }

    fn is_empty_or_sendable(&self) -> bool {
        self.sendable || self.replies.is_empty()
    }

    /// Takes the next request of what has arrived, if it is all there.
    // What it returns is many words: they stay in registers if this is where they are used.
    #[inline(always)]
    pub(crate) fn take(&mut self, limits: &Limits) -> Result<Option<PendingRequest>, Malformed> {
        if let Some(asked) = self.front.take() {
            return Ok(Some(asked));
        }
        if self.starved {
            return Ok(None);
        }
        let Some(found) = self.requests.take(limits)? else {
            self.starved = true;
            return Ok(None);
        };
        let command = commands::find(&self.requests.arguments(&found)[0]);
        let is_alone = std::mem::take(&mut self.next_is_alone);
        Ok(Some(PendingRequest { found, command, is_no_read: is_alone, is_no_write: is_alone }))
    }

    /// What its client may send.
    pub(crate) fn limits<'l>(&self, config: &'l Config) -> &'l Limits {
        if self.session.authenticated { &config.request } else { &BEFORE_AUTHENTICATION }
    }

    /// Has a request that was taken be the next one again.
    pub(crate) fn put_back(&mut self, asked: PendingRequest) {
        self.front = Some(asked);
    }

    /// Has a request that was taken, and those after it, be taken once more.
    pub(crate) fn take_back(&mut self, found: &Found) {
        self.requests.take_back(found);
        self.front = None;
        self.starved = false;
    }

    /// Has a request that was taken, and those after it, be taken once more, and itself be executed alone.
    pub(crate) fn take_back_for_alone(&mut self, found: &Found) {
        self.take_back(found);
        self.next_is_alone = true;
    }

    /// Whether a request that was taken is to be taken once more.
    #[inline]
    pub(crate) fn is_taken_back(&self, found: &Found) -> bool {
        self.requests.is_taken_back(found)
    }

    /// Whether further commands may be carried out.
    pub(crate) fn may_go_on(&self) -> bool {
        !self.session.closing && self.task.is_none() && self.has_room()
    }

    /// Whether its client has taken enough of its replies for further commands.
    pub(crate) fn has_room(&self) -> bool {
        self.unsent() < self.unsent_bytes_max
    }

    /// Whether commands may be carried out together with those of others.
    pub(crate) fn may_join(&self) -> bool {
        self.session.may_join() && self.may_go_on()
    }

    /// Whether a request at its front is to be carried out alone, and not with others in the next round.
    pub(crate) fn is_for_alone(&self, asked: &PendingRequest) -> bool {
        asked.is_no_read && asked.is_no_write || !self.may_join()
    }

    /// Ends it if its replies take too much memory: with an error in place of the last one.
    #[inline]
    pub(crate) fn bound_replies(&mut self, before: usize, bytes_max: usize) {
        if self.replies.have_no_room() {
            self.end_for_replies(before, bytes_max);
        }
    }

    /// Ends it because a reply that a task has written is too long.
    pub(crate) fn end_for_reply(&mut self, reply: Replies, bytes_max: usize) {
        self.discarded = Some(reply);
        self.end_for_replies(self.unsent(), bytes_max);
    }

    #[cold]
    fn end_for_replies(&mut self, before: usize, bytes_max: usize) {
        let client = self.session.client.id;
        tracing::warn!(client, bytes_max, "a connection is closed: its replies take too much memory");
        Failure::RepliesTooLong(bytes_max).reply_after(before, &mut self.replies);
        self.session.closing = true;
    }

    /// Removes the requests that were executed.
    pub(crate) fn forget(&mut self) {
        let next = self.front.take().map(|asked| asked.found);
        self.requests.forget(next);
        self.shrinks = self.requests.shrink(KEPT_BYTES);
    }

    /// What is to be shown of it.
    pub(crate) fn activity(&self) -> Activity {
        let session = &self.session;
        Activity {
            database: session.database,
            request_bytes: self.requests.len(),
            request_room: self.requests.capacity().saturating_sub(self.requests.len()),
            reply_bytes: self.unsent(),
            memory_bytes: self.memory_bytes(),
            queued: session.queue.as_ref().map_or(0, |queue| queue.len() + 1),
            watched: session.watched.len(),
            protocol: if self.replies.version() == Version::Resp3 { 3 } else { 2 },
        }
    }

    /// Replies what a monitor is shown, if there is room.
    pub(crate) fn take_lines(&mut self) {
        if let Some(monitoring) = &self.session.monitoring
            && self.task.is_none()
            && self.has_room()
        {
            monitoring.take(&mut self.replies);
        }
    }

    /// Whether lines wait that a monitor is to be shown.
    fn has_lines(&self) -> bool {
        self.session.monitoring.as_ref().is_some_and(|monitoring| !monitoring.is_empty())
    }

    /// Bytes of memory that it takes: of requests, replies, and what commands have left.
    pub(crate) fn memory_bytes(&self) -> usize {
        let queue = self.session.queue.as_ref().map_or(0, Queue::memory_bytes);
        let task = self.task.as_ref().map_or(0, |task| task.memory_bytes());
        let discarded = self.discarded.as_ref().map_or(0, Replies::capacity);
        let buffers = self.requests.capacity() + self.replies.capacity() + discarded + size_of::<Self>();
        let monitoring = self.session.monitoring.as_ref().map_or(0, Monitoring::memory_bytes);
        buffers + queue + task + monitoring + self.session.watched.memory_bytes()
    }

    /// Gives back all memory that is not in use.
    pub(crate) fn shrink(&mut self) {
        self.shrinks = self.requests.shrink(0);
        self.replies.shrink(0);
    }

    /// Whether all is done: the client has gone, or is to go, and has its replies.
    pub(crate) fn is_done(&self) -> bool {
        let no_more = self.session.closing || (self.ended && self.starved);
        no_more && self.task.is_none() && self.replies.is_empty()
    }

    /// Whether something is to be done without anything happening: there are requests or bytes to take, and
    /// room for replies; or replies to send, or memory of a long request to give back.
    pub(crate) fn is_ready(&self) -> bool {
        let has_more = self.receivable || !self.starved || self.has_lines();
        // Without room for any reply it waits for memory, of which no event tells.
        let has_room = self.replies.is_empty() || self.has_room();
        let goes_on = has_room && self.task.is_none() && has_more;
        goes_on || self.sendable && self.unsent() > 0 || self.shrinks
    }

    /// Bytes of replies, those of its task included.
    pub(crate) fn reply_bytes(&self) -> usize {
        self.unsent() + self.task.as_ref().map_or(0, |task| task.reply_bytes())
    }

    /// Bytes that wait to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.replies.len()
    }
}

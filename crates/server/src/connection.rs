//! The connection of a client: its buffers of requests and replies.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;

use honeycomb_protocol::resp::{
    ChunkPool, Limits, Malformed, ParsedRequest, Replies, RequestBuffer, Version,
};
use mio::net::TcpStream;

use crate::background::Background;
use crate::charge::{ByteTotal, Charge};
use crate::clients::{Activity, Client};
use crate::command::CommandRef;
use crate::commands::LastLookup;
use crate::config::Config;
use crate::failure::Failure;
use crate::held::{Held, Hold};
use crate::notifications::Kind;
use crate::push_queue::PushQueue;
use crate::session::{PUSH_QUEUES, Queue, Session};
use crate::task::Running;

/// Maximum number of bytes that one call receives.
pub(crate) const RECEIVE_BYTES_MAX: usize = 64 << 10;
/// Bytes of waiting requests above which the server receives no more.
const WAITING_BYTES_MAX: usize = 4 * RECEIVE_BYTES_MAX;
/// Maximum number of bytes that one iteration of the event loop sends to one client.
const SEND_BYTES_MAX: usize = 64 << 10;
/// Up to this number of received bytes, or of unsent bytes, a client does not count towards the quota.
const LIGHT_BYTES: usize = 16 << 10;
/// Bytes of unsent replies up to which the core moves messages from the push queues.
const PUSHED_BYTES: usize = 64 << 10;
/// Bytes of memory that an idle connection keeps for requests, and for replies.
const KEPT_BYTES: usize = RECEIVE_BYTES_MAX;
/// Bytes of memory of a connection without buffers, and of its entry in the list of clients.
const OWN_BYTES: usize = size_of::<Connection>() + size_of::<Client>() + 256;
/// Limits of requests from a client that has not authenticated.
const BEFORE_AUTHENTICATION: Limits = Limits {
    arguments_max: 10,
    argument_bytes_max: 16 << 10,
    line_bytes_max: 16 << 10,
    request_bytes_max: 64 << 10,
};

/// The connection of one client.
pub(crate) struct Connection {
    pub(crate) socket: TcpStream,
    pub(crate) session: Session,
    pub(crate) replies: Replies,
    /// The replies that are not durable yet.
    pub(crate) held: Held,
    /// Whether its core has it in the list of connections with held replies.
    pub(crate) is_listed: bool,
    /// The reply of a task that was too long. It is freed in steps after the connection has closed.
    pub(crate) discarded: Option<Replies>,
    /// Received requests.
    pub(crate) requests: RequestBuffer,
    /// A request that was put back: the next one to execute.
    front: Option<PendingRequest>,
    last_lookup: LastLookup,
    /// The next request executes alone, because it could not execute in a batch.
    next_executes_alone: bool,
    /// A command that takes more than one iteration. Later commands wait.
    pub(crate) task: Option<Running>,
    /// The requests of completed tasks. They are freed in steps.
    pub(crate) spent: Vec<RequestBuffer>,
    /// The socket may have bytes to receive, or space to send. The system notifies only about changes.
    pub(crate) receivable: bool,
    pub(crate) sendable: bool,
    /// The client has stopped sending, but the socket may have bytes to receive.
    pub(crate) hung_up: bool,
    /// The client is gone, so it will receive nothing more.
    pub(crate) is_gone: bool,
    /// No more bytes will arrive.
    ended: bool,
    /// The received bytes contain no further complete request.
    starved: bool,
    /// The last receipt was short.
    receives_little: bool,
    /// Memory of a long request remains to be released.
    shrinks: bool,
    /// Bytes of its memory that the total of all clients includes.
    pub(crate) accounted_bytes: usize,
    /// Bytes of unsent replies at which its commands wait.
    pub(crate) unsent_bytes_max: usize,
}

/// A request that has not executed yet, with its command.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) found: ParsedRequest,
    /// The command, or `None` if its name is unknown.
    pub(crate) command: Option<CommandRef>,
    /// The request cannot execute in a batch of reads.
    pub(crate) cannot_batch_read: bool,
    /// The request cannot execute in a batch of writes.
    pub(crate) cannot_batch_write: bool,
}

/// The bytes that one iteration of the event loop may still receive from, or send to, clients with many
/// bytes.
///
/// The server always serves a client with few bytes. Such a client waits for at most one quota of the others.
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

/// The buffers of a closed connection.
#[derive(Debug)]
pub(crate) struct Buffers {
    replies: Replies,
    discarded: Option<Replies>,
    requests: Vec<RequestBuffer>,
    /// Their memory as that of a departed client.
    _charge: Charge,
}

impl Buffers {
    /// Frees a part of the buffers. Returns whether more remains.
    pub(crate) fn free_some(&mut self) -> bool {
        let discarded = self.discarded.as_mut().is_some_and(Replies::discard_chunk);
        discarded || self.replies.discard_chunk() || free_some(&mut self.requests)
    }
}

impl Connection {
    pub(crate) fn new(socket: TcpStream, session: Session, pool: Arc<ChunkPool>) -> Self {
        Self {
            socket,
            session,
            replies: Replies::with_pool(pool),
            held: Held::default(),
            is_listed: false,
            discarded: None,
            requests: RequestBuffer::default(),
            front: None,
            last_lookup: LastLookup::default(),
            next_executes_alone: false,
            task: None,
            spent: Vec::new(),
            receivable: true,
            sendable: true,
            hung_up: false,
            is_gone: false,
            ended: false,
            starved: true,
            receives_little: true,
            shrinks: false,
            accounted_bytes: 0,
            unsent_bytes_max: usize::MAX,
        }
    }

    /// Receives as many bytes as the socket, the buffer and the quota allow. Returns their number.
    ///
    /// A receipt that is shorter than the buffer empties the socket: the system notifies the core when more
    /// arrives.
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

    /// Stops receiving. The requests that have arrived still execute.
    pub(crate) fn stop_receiving(&mut self) {
        self.ended = true;
    }

    /// Closes the socket. Returns the buffers, which may be large, for the caller to free in steps. First
    /// receives the bytes that have arrived, because otherwise the system would discard replies in transit.
    pub(crate) fn close(
        mut self,
        buffer: &mut [u8],
        background: &Background,
        departed: &ByteTotal,
    ) -> Buffers {
        let _ = self.socket.shutdown(Shutdown::Write);
        for _ in 0..WAITING_BYTES_MAX / RECEIVE_BYTES_MAX {
            if !matches!(self.socket.read(buffer), Ok(1..)) {
                break;
            }
        }
        let charge = Charge::new(departed, self.accounted_bytes);
        let mut requests = vec![self.requests];
        requests.extend(self.spent);
        requests.extend(self.session.queue.into_iter().flat_map(Queue::into_requests));
        let task = match self.task {
            Some(Running::Here(task)) => Some(task),
            Some(Running::Away(away)) => {
                away.depart(departed);
                background.cancel(&away)
            }
            None => None,
        };
        if let Some(mut task) = task {
            let (replies, more) = task.take_buffers();
            self.replies.append(replies);
            requests.extend(more);
            task.depart(departed);
            background.drop_task(task);
        }
        Buffers { replies: self.replies, discarded: self.discarded, requests, _charge: charge }
    }

    /// Returns a buffer for [`Connection::receive`].
    pub(crate) fn buffer() -> Vec<u8> {
        vec![0; RECEIVE_BYTES_MAX]
    }

    /// Sends replies as far as the client accepts them and the quota allows. Returns the number of bytes.
    pub(crate) fn send(&mut self, quota: &mut Quota) -> io::Result<usize> {
        let is_light = self.replies.len() <= LIGHT_BYTES;
        let mut sent = 0;
        while self.sendable && sent < SEND_BYTES_MAX && self.released() > 0 {
            if !is_light && quota.is_exhausted() {
                break;
            }
            let released = self.released();
            let front = self.replies.front();
            match self.socket.write(&front[..front.len().min(SEND_BYTES_MAX - sent).min(released)]) {
                Ok(bytes) => {
                    self.replies.consume(bytes);
                    self.held.sent(bytes);
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

    /// Releases the replies that are durable, and returns whether others wait.
    pub(crate) fn hold(&mut self, hold: Option<&Hold>) -> bool {
        self.held.update(hold, self.replies.len());
        self.held.waits()
    }

    /// The number of bytes that may be sent now.
    fn released(&self) -> usize {
        self.held.released().min(self.replies.len())
    }

    /// Records for other cores whether the client reads its replies. `sent` is the number of bytes that were
    /// just sent.
    pub(crate) fn note_sent(&self, sent: usize, now: u64) {
        if self.is_empty_or_sendable() {
            self.session.client.set_stalled_since(0);
        } else if sent > 0 || self.session.client.had_read_all() {
            self.session.client.set_stalled_since(now);
        }
    }

    fn is_empty_or_sendable(&self) -> bool {
        self.sendable || self.replies.is_empty()
    }

    /// Returns the next request if it is complete.
    // Inlining keeps the result, which is several words long, in registers.
    #[inline(always)]
    pub(crate) fn next_request(&mut self, limits: &Limits) -> Result<Option<PendingRequest>, Malformed> {
        if self.front.is_some() {
            return Ok(self.take_front());
        }
        if self.starved {
            return Ok(None);
        }
        let Some(found) = self.requests.parse_next(limits)? else {
            self.starved = true;
            return Ok(None);
        };
        let command = self.last_lookup.find(self.requests.name(&found));
        let executes_alone = std::mem::take(&mut self.next_executes_alone);
        Ok(Some(PendingRequest {
            found,
            command,
            cannot_batch_read: executes_alone,
            cannot_batch_write: executes_alone,
        }))
    }

    // Most requests were not put back, and they need not move this one.
    #[cold]
    fn take_front(&mut self) -> Option<PendingRequest> {
        self.front.take()
    }

    /// Returns the limits of requests of this client.
    pub(crate) fn limits<'l>(&self, config: &'l Config) -> &'l Limits {
        if self.session.authenticated { &config.request } else { &BEFORE_AUTHENTICATION }
    }

    /// Makes a request the next one again.
    pub(crate) fn put_back(&mut self, request: PendingRequest) {
        self.front = Some(request);
    }

    /// Rewinds to a request: it and the later ones are parsed again.
    pub(crate) fn rewind_to(&mut self, found: &ParsedRequest) {
        self.requests.rewind(found);
        self.front = None;
        self.starved = false;
    }

    /// Rewinds to a request, which then executes alone.
    pub(crate) fn rewind_to_alone(&mut self, found: &ParsedRequest) {
        self.rewind_to(found);
        self.next_executes_alone = true;
    }

    /// Returns whether the connection was rewound to this request or an earlier one.
    #[inline]
    pub(crate) fn is_rewound(&self, found: &ParsedRequest) -> bool {
        self.requests.is_rewound(found)
    }

    /// Returns whether further commands may execute.
    pub(crate) fn can_continue(&self) -> bool {
        !self.session.closing && self.task.is_none() && self.has_room()
    }

    /// Returns whether the client has read enough of its replies for further commands.
    pub(crate) fn has_room(&self) -> bool {
        self.unsent() < self.unsent_bytes_max
    }

    /// Returns whether commands may execute in batches with those of other clients.
    pub(crate) fn can_batch(&self) -> bool {
        self.session.can_batch() && self.can_continue()
    }

    /// Returns whether the request at the front must execute alone rather than in a batch of the next round.
    pub(crate) fn must_execute_alone(&self, request: &PendingRequest) -> bool {
        request.cannot_batch_read && request.cannot_batch_write || !self.can_batch()
    }

    /// Closes the connection after an error reply if its replies use too much memory. The error replaces the
    /// last reply.
    #[inline]
    pub(crate) fn bound_replies(&mut self, before: usize, bytes_max: usize) {
        if self.replies.exceed_limit() {
            self.end_for_replies(before, bytes_max);
        }
    }

    /// Closes the connection after an error reply because the reply of a task is too long.
    pub(crate) fn end_for_reply(&mut self, reply: Replies, bytes_max: usize) {
        self.discarded = Some(reply);
        self.end_for_replies(self.unsent(), bytes_max);
    }

    #[cold]
    fn end_for_replies(&mut self, before: usize, bytes_max: usize) {
        let client = self.session.client.id;
        tracing::warn!(client, bytes_max, "closing a connection: its replies use too much memory");
        Failure::RepliesTooLong(bytes_max).reply_after(before, &mut self.replies);
        self.session.closing = true;
    }

    /// Removes the executed requests.
    pub(crate) fn forget(&mut self) {
        let next = self.front.take().map(|request| request.found);
        self.requests.discard_parsed(next);
        self.shrinks = self.requests.shrink(KEPT_BYTES) | free_some(&mut self.spent);
    }

    /// Removes the last parsed request from the received ones, for a task.
    pub(crate) fn take_request(&mut self, found: &ParsedRequest) -> (RequestBuffer, ParsedRequest) {
        self.requests.take_last(found)
    }

    /// Queues the last parsed request for `EXEC`.
    pub(crate) fn queue_request(&mut self, command: usize, found: &ParsedRequest) {
        if let Some(queue) = &mut self.session.queue {
            queue.push(command, (&mut self.requests, found));
        }
    }

    /// Returns the activity that `CLIENT LIST` shows.
    pub(crate) fn activity(&self) -> Activity {
        let session = &self.session;
        let subscriptions =
            |kind| session.subscriber.as_ref().map_or(0, |subscriber| subscriber.count_of(kind));
        Activity {
            database: session.database,
            request_bytes: self.requests.len(),
            request_room: self.requests.capacity().saturating_sub(self.requests.len()),
            reply_bytes: self.unsent(),
            memory_bytes: self.memory_bytes(),
            queued: session.queue.as_ref().map_or(0, |queue| queue.len() + 1),
            watched: session.watched.len(),
            channels: subscriptions(Kind::Channel),
            patterns: subscriptions(Kind::Pattern),
            protocol: if self.replies.version() == Version::Resp3 { 3 } else { 2 },
        }
    }

    /// Moves a part of the push queues to the replies, as far as there is space.
    pub(crate) fn take_pushes(&mut self, reply_bytes_max: usize) {
        let bytes_max = self.unsent_bytes_max.min(PUSHED_BYTES);
        for index in 0..PUSH_QUEUES {
            if self.session.closing || self.task.is_some() || self.unsent() >= bytes_max {
                return;
            }
            let before = self.unsent();
            if let Some(queue) = self.session.push_queues()[index].filter(|queue| !queue.is_empty()) {
                queue.take(&mut self.replies, bytes_max);
            }
            self.bound_replies(before, reply_bytes_max);
        }
    }

    /// Returns whether a push queue has something.
    pub(crate) fn has_pushes(&self) -> bool {
        self.session.push_queues().into_iter().flatten().any(|queue| !queue.is_empty())
    }

    /// Returns the bytes of memory of the connection: requests, replies, and the state of its commands.
    pub(crate) fn memory_bytes(&self) -> usize {
        let queue = self.session.queue.as_ref().map_or(0, Queue::memory_bytes);
        let task = self.task.as_ref().map_or(0, Running::memory_bytes);
        let spent = self.spent.iter().map(RequestBuffer::capacity).sum::<usize>();
        let discarded = self.discarded.as_ref().map_or(0, Replies::capacity);
        let buffers = self.requests.capacity() + self.replies.capacity() + discarded + OWN_BYTES;
        let state = self.session.client.label_bytes() + self.session.watched.memory_bytes();
        buffers + queue + task + spent + self.push_bytes() + state + self.held.memory_bytes()
    }

    /// Returns the part of these bytes that is charged, so its core does not count it.
    pub(crate) fn charged_bytes(&self) -> usize {
        let task = self.task.as_ref().map_or(0, Running::charged_bytes);
        self.push_bytes() + task + self.session.watched.memory_bytes()
    }

    fn push_bytes(&self) -> usize {
        self.session.push_queues().into_iter().flatten().map(PushQueue::memory_bytes).sum()
    }

    /// Releases all unused memory.
    pub(crate) fn shrink(&mut self) {
        self.shrinks = self.requests.shrink(0) | free_some(&mut self.spent);
        self.replies.shrink(0);
    }

    /// Returns whether the connection is complete: it has ended or must close, and all replies are sent.
    pub(crate) fn is_done(&self) -> bool {
        let no_more = self.session.closing || (self.ended && self.starved);
        no_more && self.task.is_none() && self.replies.is_empty()
    }

    /// Returns whether the connection has work that needs no event: requests or bytes to process and space
    /// for replies, replies to send, or memory of a long request to release.
    pub(crate) fn is_ready(&self) -> bool {
        let has_more = self.receivable || !self.starved || self.has_pushes();
        // Without space for any reply the connection waits for memory, and no event announces that.
        let has_room = self.replies.is_empty() || self.has_room();
        let goes_on = has_room && self.task.is_none() && has_more;
        goes_on || self.sendable && self.released() > 0 || self.shrinks || self.is_abandoned()
    }

    /// Returns whether nobody waits any more for the command that takes more than one iteration. Until its
    /// end the connection may have too many requests to receive anything, and so would not notice.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.is_gone && self.task.is_some()
    }

    /// Returns whether the client waits for the server: for a command, for a reply that is not durable yet,
    /// or for messages. A client that does not read its replies does not wait.
    pub(crate) fn waits(&self) -> bool {
        let has_request = self.front.is_some() || !self.starved;
        let receives = self.session.push_queues().iter().any(Option::is_some);
        self.task.is_some() || receives || self.held.waits() || has_request && self.can_continue()
    }

    /// Returns the bytes of replies, including those of its task.
    pub(crate) fn reply_bytes(&self) -> usize {
        self.unsent() + self.task.as_ref().map_or(0, Running::reply_bytes)
    }

    /// Returns the number of bytes that wait to be sent.
    pub(crate) fn unsent(&self) -> usize {
        self.replies.len()
    }
}

/// Frees a part of some buffers of requests. Returns whether more remains.
fn free_some(buffers: &mut Vec<RequestBuffer>) -> bool {
    while let Some(buffer) = buffers.last_mut() {
        let is_long = buffer.capacity() > KEPT_BYTES;
        if is_long && buffer.discard() {
            return true;
        }
        buffers.pop();
        if is_long {
            return !buffers.is_empty();
        }
    }
    false
}

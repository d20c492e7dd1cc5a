//! A core of the server: one thread with its connections, its datagram ports, and its event loop.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use honeycomb_memory::sync::Ordering;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use slab::Slab;

use crate::background::Background;
use crate::batch::BatchExecutor;
use crate::client_memory::{ClientMemory, Excess};
use crate::clients::{Flag, Origin};
use crate::connection::{Connection, Quota, RECEIVE_BYTES_MAX};
use crate::counts::Counts;
use crate::datagrams::{Datagrams, Protocol};
use crate::held::Hold;
use crate::server_state::ServerState;
use crate::session::Session;
use crate::task::progress::Progress;
use crate::{memory_limit, reaper};

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);
/// The token of the first datagram port. Further ports have the tokens below.
const DATAGRAMS: Token = Token(usize::MAX - 2);
/// The lowest token of a datagram port.
const DATAGRAMS_LAST: Token = Token(DATAGRAMS.0 - 15);
/// Maximum time that a core waits for sockets. Afterwards it does its periodic work.
const POLL_TIMEOUT: Duration = Duration::from_millis(100);
/// The same while all tasks in slices wait for snapshots.
const TASK_POLL_TIMEOUT: Duration = Duration::from_millis(1);
/// The same while commands wait for the end of a pause.
const PAUSE_POLL_TIMEOUT: Duration = Duration::from_millis(5);
/// A stopping server closes when no client has read any reply for this time.
const STOP_IDLE_TIMEOUT: Duration = Duration::from_millis(200);
/// Leaves that the store maintains between two iterations. Each takes a microsecond at most.
const LEAVES_MAINTAINED: usize = 64;
/// Bytes that one iteration receives from all clients with many bytes, and sends to them.
const QUOTA_RECEIVED: usize = 64 << 10;
const QUOTA_SENT: usize = 64 << 10;
/// Milliseconds between two times at which all connections release unused memory while memory is short.
const SHRINK_INTERVAL: u64 = 10;
/// Milliseconds between two times at which the pool of chunks shrinks, and the number of unused chunks that
/// it frees then.
const POOL_INTERVAL: u64 = 100;
const CHUNKS_FREED: usize = 8;
/// Milliseconds between two checks whether the store needs maintenance.
const MAINTENANCE_INTERVAL: u64 = 10;
/// Milliseconds between two checks for idle clients.
const IDLE_INTERVAL: u64 = 100;
/// Delay after a failed accept, because the process may have run out of open files for a while. The system
/// notifies a core only once about a connection that waits.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of connections that a core accepts before it serves its clients. Otherwise it would serve
/// nobody while many clients connect.
const ACCEPTS_MAX: usize = 64;

/// A thread of the server.
pub(crate) struct Core {
    shared: Arc<ServerState>,
    number: usize,
    poll: Poll,
    listener: Option<TcpListener>,
    /// Time when the core accepts connections again after an error.
    accept_at: Option<Instant>,
    /// More connections may wait.
    accepts_more: bool,
    connections: Slab<Connection>,
    /// Indexes of connections with work to do.
    ready: Vec<usize>,
    /// Indexes of connections whose replies wait until they are durable.
    held: Vec<usize>,
    executor: BatchExecutor,
    background: Arc<Background>,
    datagrams: Datagrams,
    buffer: Vec<u8>,
    /// The reaper has more work to do at once.
    is_behind: bool,
    counts: Arc<Counts>,
    /// Time of the next check for idle clients.
    check_idle_at: u64,
    /// Time of the next maintenance of the store.
    maintain_at: u64,
    /// The task of the last step waits for a snapshot.
    task_waits: bool,
    memory: ClientMemory,
    /// Buffers of closed connections remain to be freed.
    is_freeing: bool,
    /// Time when connections release unused memory again, if memory is short.
    shrink_at: u64,
    /// Time when the pool of chunks shrinks again.
    shrink_pool_at: u64,
    /// Index of the connection that the next iteration serves first.
    first: usize,
}

/// The state of a core that stops: the deadline for serving its clients.
struct Ending {
    until: Instant,
    /// Bytes sent at the last check, and the time since which this number has not changed.
    sent_bytes: u64,
    since: Instant,
}

impl Ending {
    /// Returns whether the deadline has passed, or the core was idle for a while and no client has read a
    /// byte.
    fn is_over(&mut self, is_busy: bool, sent_bytes: u64) -> bool {
        let now = Instant::now();
        if is_busy || sent_bytes != self.sent_bytes {
            (self.sent_bytes, self.since) = (sent_bytes, now);
        }
        now >= self.until || now - self.since >= STOP_IDLE_TIMEOUT
    }
}

impl Core {
    /// Returns a core that accepts connections from a listener and receives datagrams from sockets, and a
    /// waker for it.
    pub(crate) fn new(
        (shared, background): (Arc<ServerState>, Arc<Background>),
        number: usize,
        listener: std::net::TcpListener,
        sockets: Vec<(Protocol, UdpSocket)>,
    ) -> io::Result<(Self, Arc<Waker>)> {
        let poll = Poll::new()?;
        let mut listener = TcpListener::from_std(listener);
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        shared.add_waker(waker.clone());
        let counts = shared.counts[number].clone();
        let core = Self {
            datagrams: Datagrams::new(sockets, &shared, poll.registry(), DATAGRAMS)?,
            shared,
            number,
            poll,
            listener: Some(listener),
            accept_at: None,
            accepts_more: false,
            connections: Slab::new(),
            ready: Vec::new(),
            held: Vec::new(),
            executor: BatchExecutor::new(counts.clone(), background.clone()),
            background,
            buffer: Connection::buffer(),
            is_behind: false,
            counts,
            check_idle_at: 0,
            maintain_at: 0,
            task_waits: false,
            memory: ClientMemory::default(),
            is_freeing: false,
            shrink_at: 0,
            shrink_pool_at: 0,
            first: 0,
        };
        Ok((core, waker))
    }

    /// Serves clients until the server stops, and then until all replies are sent or the grace period ends.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut ending: Option<Ending> = None;
        loop {
            match self.poll.poll(&mut events, Some(self.poll_timeout())) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            self.note(&events);
            if self.accepts_more || self.accept_at.is_some_and(|time| Instant::now() >= time) {
                self.accept();
            }
            let now = self.shared.time.milliseconds();
            self.step_task();
            self.run_iteration(now);
            self.bound_memory(now);
            self.close_idle(now);
            self.is_behind = reaper::step(&self.shared, now) | memory_limit::keep_free(&self.shared, now);
            if self.number == 0 {
                self.shared.pace.step(now, || self.shared.measure());
                self.is_behind |= self.maintain(now);
                self.shrink_pool(now);
                let shared = &self.shared;
                shared.shutdown.step(&shared.store, || shared.request_shutdown());
            }
            if self.shared.is_stopping() {
                let ending = ending.get_or_insert_with(|| self.stop());
                // Held replies leave when they are durable, and until then nobody can read a byte.
                let holds = !self.held.is_empty() || self.datagrams.holds();
                let is_busy = !self.ready.is_empty() || self.executor.has_tasks() || holds;
                let is_complete = self.connections.is_empty() && !self.datagrams.holds();
                if is_complete || ending.is_over(is_busy, self.counts.sent_bytes.get()) {
                    return Ok(());
                }
            }
        }
    }

    /// Merges sparse leaves and reclaims memory of the store. Returns whether more work remains.
    fn maintain(&mut self, now: u64) -> bool {
        if now < self.maintain_at {
            return false;
        }
        let more = self.shared.store.maintain(LEAVES_MAINTAINED);
        self.maintain_at = if more { now } else { now + MAINTENANCE_INTERVAL };
        more
    }

    /// Frees chunks that no reply has needed recently, and closes streams of changes and backups that nobody
    /// uses.
    fn shrink_pool(&mut self, now: u64) {
        if now >= self.shrink_pool_at {
            self.shared.reply_chunks.shrink(CHUNKS_FREED);
            self.shared.change_streams.close_unused(now);
            self.shared.backups.close_unused(now);
            self.shrink_pool_at = now + POOL_INTERVAL;
        }
    }

    /// Returns the maximum time to wait for sockets.
    fn poll_timeout(&self) -> Duration {
        let is_busy = self.is_behind || self.is_freeing || self.accepts_more;
        let at_rest = self.ready.is_empty() && !self.datagrams.is_ready() && !is_busy;
        match (at_rest, self.executor.has_slices()) {
            (true, false) => POLL_TIMEOUT,
            (true, true) if self.task_waits => TASK_POLL_TIMEOUT,
            (false, false) if self.shared.pause.at(self.shared.time.milliseconds()).is_some() => {
                PAUSE_POLL_TIMEOUT
            }
            _ => Duration::ZERO,
        }
    }

    /// Continues or finishes the tasks that the background thread has returned.
    fn take_returned(&mut self) {
        for (index, is_done) in self.executor.take_returned(&self.shared, self.number, &mut self.connections)
        {
            let connection = &mut self.connections[index];
            self.memory.account(&self.shared, connection);
            connection.session.client.note(connection.activity());
            if is_done && !self.ready.contains(&index) {
                self.ready.push(index);
            }
        }
    }

    /// Executes a slice of a long command. The connection continues when the command has completed.
    fn step_task(&mut self) {
        let (memory, shared) = (&self.memory, &self.shared);
        let excess = memory.excess(shared);
        let waits = |connection: &Connection| memory.holds(shared, excess, connection);
        let Some((index, progress)) = self.executor.step_task(shared, &mut self.connections, waits) else {
            return;
        };
        self.task_waits = progress == Progress::Wait;
        let connection = &mut self.connections[index];
        self.memory.account(&self.shared, connection);
        connection.session.client.note(connection.activity());
        if progress == Progress::Done && !self.ready.contains(&index) {
            self.ready.push(index);
        }
    }

    /// Keeps the memory of all clients within its limit: releases unused buffers, then closes connections
    /// whose clients have stopped sending, and finally, if memory stays above the limit for a while, closes
    /// the connection that uses the most memory.
    fn bound_memory(&mut self, now: u64) {
        self.is_freeing = self.memory.free_some();
        self.memory.publish(&self.shared);
        self.memory.return_memory(&self.shared);
        if self.memory.excess(&self.shared) < Excess::Above {
            return self.memory.is_within();
        }
        if now >= self.shrink_at {
            self.shrink_at = now + SHRINK_INTERVAL;
            for (_, connection) in &mut self.connections {
                connection.shrink();
                self.memory.account(&self.shared, connection);
            }
            self.memory.publish(&self.shared);
        }
        let has_hung_up = |(_, one): &(usize, &Connection)| {
            one.hung_up && self.memory.holds(&self.shared, Excess::Above, one)
        };
        if let Some(gone) = self.connections.iter().find(has_hung_up).map(|(index, _)| index) {
            return self.evict(gone);
        }
        if !self.memory.must_evict(&self.shared, now) {
            return;
        }
        let largest = self.shared.clients.largest(now, self.shared.config().clients_bytes_max);
        let Some(largest) = largest else { return };
        let is_largest = |one: &Connection| one.session.client.id == largest.id;
        let found = self.connections.iter().find(|(_, one)| is_largest(one)).map(|(index, _)| index);
        found.into_iter().for_each(|index| self.evict(index));
    }

    /// Closes a connection to free its memory.
    fn evict(&mut self, index: usize) {
        let connection = &self.connections[index];
        let (client, bytes) = (connection.session.client.id, connection.memory_bytes());
        let limit = self.shared.config().clients_bytes_max;
        tracing::warn!(client, bytes, limit, "closing a connection: clients exceed maxmemory-clients");
        self.counts.evicted.add(1);
        self.close(index);
        self.memory.publish(&self.shared);
    }

    /// Stops accepting connections and receives the requests that have already arrived. Returns the deadline
    /// for executing them.
    fn stop(&mut self) -> Ending {
        self.listener = None;
        self.ready.clear();
        self.datagrams.stop_receiving();
        for (index, connection) in &mut self.connections {
            connection.receivable = true;
            // A broken connection is detected when its replies are sent.
            let received = connection.receive(&mut self.buffer, &mut Quota::new(usize::MAX)).unwrap_or(0);
            self.counts.received_bytes.add(received as u64);
            connection.stop_receiving();
            self.ready.push(index);
        }
        let now = Instant::now();
        Ending { until: now + self.shared.config().shutdown_timeout, sent_bytes: 0, since: now }
    }

    fn note(&mut self, events: &Events) {
        for event in events {
            match event.token() {
                LISTENER => self.accept(),
                WAKER => self.handle_wakeup(),
                Token(token) if token >= DATAGRAMS_LAST.0 => self.datagrams.note(DATAGRAMS.0 - token),
                Token(index) => {
                    let Some(connection) = self.connections.get_mut(index) else { continue };
                    connection.hung_up |= event.is_read_closed();
                    connection.is_gone |= event.is_read_closed() && event.is_write_closed();
                    connection.receivable |= event.is_readable() || event.is_read_closed();
                    connection.sendable |= event.is_writable() || event.is_write_closed();
                    self.ready.push(index);
                }
            }
        }
        self.ready.sort_unstable();
        self.ready.dedup();
    }

    /// Handles a wake-up by another thread: closes killed connections, serves monitors and watches, and
    /// continues the tasks that the background thread has returned.
    fn handle_wakeup(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        self.list_held(&mut ready);
        self.ready = ready;
        self.take_returned();
        let is_killed = |connection: &Connection| connection.session.client.is(Flag::Killed);
        let killed = self.connections.iter().filter(|(_, one)| is_killed(one));
        let killed: Vec<_> = killed.map(|(index, _)| index).collect();
        killed.into_iter().for_each(|index| self.close(index));
        let receives = |one: &Connection| one.session.push_queues().iter().any(Option::is_some);
        let monitors = self.connections.iter().filter(|(_, one)| receives(one));
        self.ready.extend(monitors.map(|(index, _)| index));
    }

    /// Accepts some of the connections that wait. After an error those that remain wait for a while.
    fn accept(&mut self) {
        (self.accept_at, self.accepts_more) = (None, false);
        for _ in 0..ACCEPTS_MAX {
            let Some(listener) = &self.listener else { return };
            match listener.accept() {
                Ok((socket, address)) => self.add_connection(socket, address),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The client has closed a connection that waited.
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    if self.shared.accept_warning.is_time(self.shared.time.milliseconds()) {
                        tracing::warn!(%error, "cannot accept a connection");
                    }
                    self.accept_at = Some(Instant::now() + ACCEPT_PAUSE);
                    return;
                }
            }
        }
        self.accepts_more = true;
    }

    fn add_connection(&mut self, mut socket: TcpStream, address: SocketAddr) {
        let shared = &self.shared;
        let connections_max = shared.config().connections_max;
        if shared.connections.fetch_add(1, Ordering::Relaxed) >= connections_max {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            self.counts.connections_rejected.add(1);
            if shared.rejection_warning.is_time(shared.time.milliseconds()) {
                tracing::warn!(%address, connections_max, "rejected a connection: too many connections");
            }
            let _ = io::Write::write(&mut socket, b"-ERR max number of clients reached\r\n");
            return;
        }
        let entry = self.connections.vacant_entry();
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registered = self.poll.registry().register(&mut socket, Token(entry.key()), interest);
        let _ = socket.set_nodelay(true);
        if let Err(error) = registered {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            tracing::warn!(%error, %address, "cannot accept a connection");
            return;
        }
        let authenticated = shared.config().password.is_none();
        let local = socket.local_addr().map_or(String::new(), |local| local.to_string());
        let file = socket.as_raw_fd();
        let origin = Origin { address: address.to_string(), local, file, core: self.number };
        let client = shared.clients.enter(origin, shared.time.milliseconds());
        tracing::debug!(client = client.id, %address, "a client connected");
        let session = Session::new(client, authenticated);
        self.counts.accepted.add(1);
        self.ready.push(entry.key());
        entry.insert(Connection::new(socket, session, shared.reply_chunks.clone()));
    }

    /// Runs one iteration of the event loop: receives requests, executes them, and sends replies. Keeps the
    /// connections that have more work to do as ready.
    fn run_iteration(&mut self, now: u64) {
        let mut ready = std::mem::take(&mut self.ready);
        // Another client comes first in the next iteration, so that each client gets its share of the quota.
        let first = ready.partition_point(|index| *index < self.first);
        ready.rotate_left(first);
        let (mut receiving, mut sending) = (Quota::new(QUOTA_RECEIVED), Quota::new(QUOTA_SENT));
        let excess = self.memory.excess(&self.shared);
        ready.retain(|&index| {
            let Some(connection) = self.connections.get_mut(index) else { return false };
            if connection.is_abandoned() {
                self.close(index);
                return false;
            }
            connection.unsent_bytes_max = self.memory.unsent_bytes_max(&self.shared, excess, connection);
            let has_room = connection.has_room();
            let bytes = if has_room { self.memory.receivable_bytes(&self.shared, connection) } else { 0 };
            let buffer = &mut self.buffer[..bytes.min(RECEIVE_BYTES_MAX)];
            let received = if bytes == 0 { Ok(0) } else { connection.receive(buffer, &mut receiving) };
            if let Ok(bytes @ 1..) = received {
                self.counts.received_bytes.add(bytes as u64);
                connection.session.client.record_received(now, bytes);
                connection.session.client.note(connection.activity());
                self.memory.account(&self.shared, connection);
            }
            self.keep(index, received)
        });
        self.datagrams.receive();
        self.executor.run(&self.shared, now, &mut self.connections, &ready, &mut self.datagrams);
        // Other cores push messages about their writes. One that came after the versions below were read
        // might be about a later write, which is not durable yet.
        self.take_pushes(&ready);
        let hold = Hold::now(&self.shared.store);
        self.datagrams.release(hold.as_ref());
        ready.retain(|&index| {
            let connection = &mut self.connections[index];
            if connection.hold(hold.as_ref()) {
                // Nobody can know whether the writes are durable, so the client gets no reply.
                if hold.is_some_and(|hold| hold.has_failed) {
                    self.close(index);
                    return false;
                }
                if !std::mem::replace(&mut connection.is_listed, true) {
                    self.held.push(index);
                }
            }
            let sent = connection.send(&mut sending);
            let bytes = *sent.as_ref().unwrap_or(&0);
            self.counts.sent_bytes.add(bytes as u64);
            connection.session.client.record_sent(now, bytes);
            connection.note_sent(bytes, now);
            self.memory.account(&self.shared, connection);
            connection.session.client.note(connection.activity());
            self.keep(index, sent)
        });
        self.first = ready.first().map_or(0, |first| first + 1);
        ready.retain(|&index| self.connections[index].is_ready());
        if let Some(hold) = &hold {
            self.wait_for_log(hold, &mut ready);
        }
        ready.sort_unstable();
        ready.dedup();
        self.ready = ready;
    }

    /// Moves messages to the replies of some connections while clients take no more memory than their limit.
    fn take_pushes(&mut self, ready: &[usize]) {
        for &index in ready {
            let connection = &mut self.connections[index];
            if connection.has_pushes() && !self.memory.is_short(&self.shared) {
                connection.take_pushes(self.shared.config().reply_bytes_max);
                self.memory.account(&self.shared, connection);
            }
        }
    }

    /// Requests that held replies become durable. The log then wakes this core.
    fn wait_for_log(&mut self, hold: &Hold, ready: &mut Vec<usize>) {
        if self.held.is_empty() && !self.datagrams.holds() {
            return;
        }
        if self.shared.holding.wait(self.number, &self.shared.store, hold) {
            self.list_held(ready);
            self.datagrams.look_again();
        }
    }

    /// Moves the connections with held replies to those with work to do.
    fn list_held(&mut self, ready: &mut Vec<usize>) {
        for index in self.held.drain(..) {
            // The connection may be closed, or be another one now.
            if let Some(connection) = self.connections.get_mut(index) {
                connection.is_listed = false;
                ready.push(index);
            }
        }
    }

    /// Closes a connection that is complete or broken. Returns whether the connection is still open.
    fn keep(&mut self, index: usize, outcome: io::Result<usize>) -> bool {
        if outcome.is_ok() && !self.connections[index].is_done() {
            return true;
        }
        self.close(index);
        false
    }

    fn close(&mut self, index: usize) {
        let mut connection = self.connections.remove(index);
        self.memory.forget(&connection);
        // Publish the memory before the client leaves the list. Otherwise another core would find too much
        // memory in use and look for another connection to close.
        self.memory.publish(&self.shared);
        if let Some(task) = &connection.task {
            self.executor.forget_task(index, task);
        }
        let _ = self.poll.registry().deregister(&mut connection.socket);
        self.shared.clients.leave(&connection.session.client);
        self.shared.connections.fetch_sub(1, Ordering::Relaxed);
        tracing::debug!(client = connection.session.client.id, "a client disconnected");
        let departed = self.shared.clients.departed();
        self.memory.take(connection.close(&mut self.buffer, &self.background, departed));
    }

    /// Closes the connections of clients that have been idle for too long and wait for nothing.
    fn close_idle(&mut self, now: u64) {
        let idle_timeout = self.shared.config().idle_timeout.as_millis() as u64;
        if idle_timeout == 0 || now < self.check_idle_at {
            return;
        }
        self.check_idle_at = now + IDLE_INTERVAL;
        let silent = |one: &Connection| one.session.client.silence(now) >= idle_timeout;
        let idle = self.connections.iter().filter(|(_, one)| silent(one) && !one.waits());
        let ended: Vec<_> = idle.map(|(index, _)| index).collect();
        self.counts.timed_out.add(ended.len() as u64);
        for index in ended {
            self.close(index);
        }
    }
}

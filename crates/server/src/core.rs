//! A core: one thread, its connections and ports of datagrams, and its loop.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use honeycomb_memory::sync::Ordering;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use slab::Slab;

use crate::batch::BatchExecutor;
use crate::client_memory::{ClientMemory, Excess};
use crate::clients::{Flag, Origin};
use crate::connection::{Connection, Quota};
use crate::counts::Counts;
use crate::datagrams::{Datagrams, Protocol};
use crate::reaper;
use crate::room;
use crate::server_state::ServerState;
use crate::session::Session;
use crate::task::progress::Progress;

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);
/// Of the first port of datagrams; the others have those below.
const DATAGRAMS: Token = Token(usize::MAX - 2);
/// Of the last of as many ports as there can be.
const DATAGRAMS_LAST: Token = Token(DATAGRAMS.0 - 15);
/// How long a core waits for sockets before it sees to other things.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long it waits for them while its tasks wait for snapshots.
const TASK_PATIENCE: Duration = Duration::from_millis(1);
/// The same while commands wait for the end of a pause.
const PAUSE_PATIENCE: Duration = Duration::from_millis(5);
/// How long a server that stops waits for clients none of which takes any reply.
const PATIENCE_AT_END: Duration = Duration::from_millis(200);
/// Leaves that the store looks at between two turns, a microsecond each at most.
const LEAVES_MAINTAINED: usize = 64;
/// Bytes that one iteration receives from, and sends to, clients with many bytes, all together.
const QUOTA_RECEIVED: usize = 64 << 10;
const QUOTA_SENT: usize = 64 << 10;
/// Milliseconds between two times at which all connections give back unused memory, if memory is short.
const SHRINK_INTERVAL: u64 = 10;
/// Milliseconds between two looks at the pool of chunks, and chunks that are freed then if none was needed.
const POOL_INTERVAL: u64 = 100;
const CHUNKS_FREED: usize = 8;
/// Milliseconds between two looks at whether there is something to maintain.
const MAINTENANCE_INTERVAL: u64 = 10;
/// Milliseconds between two looks for clients that have been silent for too long.
const SILENCE_INTERVAL: u64 = 100;

/// A thread of the server.
pub(crate) struct Core {
    shared: Arc<ServerState>,
    number: usize,
    poll: Poll,
    listener: Option<TcpListener>,
    connections: Slab<Connection>,
    /// Connections that something is to be done for.
    ready: Vec<usize>,
    executor: BatchExecutor,
    datagrams: Datagrams,
    buffer: Vec<u8>,
    /// The reaper has more to do at once.
    is_behind: bool,
    counts: Arc<Counts>,
    /// When connections are next looked over.
    look_at: u64,
    /// When the store is next maintained.
    maintain_at: u64,
    /// The task that was stepped last waits for a snapshot.
    task_waits: bool,
    memory: ClientMemory,
    /// Buffers of closed connections are left to be freed.
    is_freeing: bool,
    /// When connections next give back unused memory, if memory is short.
    shrink_at: u64,
    /// When the pool of chunks is next looked at.
    shrink_pool_at: u64,
    /// The connection that is served first next time.
    first: usize,
}

/// The end of a core: until when it serves the clients that it has.
struct Ending {
    until: Instant,
    /// Bytes that had been sent when it was last looked at, and since when.
    sent_bytes: u64,
    since: Instant,
}

impl Ending {
    /// Whether the time is over, or nothing was left to do for a while but for clients to take their replies,
    /// and none has taken a byte.
    fn is_over(&mut self, is_busy: bool, sent_bytes: u64) -> bool {
        let now = Instant::now();
        if is_busy || sent_bytes != self.sent_bytes {
            (self.sent_bytes, self.since) = (sent_bytes, now);
        }
        now >= self.until || now - self.since >= PATIENCE_AT_END
    }
}

impl Core {
    /// A core that takes connections from a listener and datagrams from sockets, and what wakes it up.
    pub(crate) fn new(
        shared: Arc<ServerState>,
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
            connections: Slab::new(),
            ready: Vec::new(),
            executor: BatchExecutor::new(counts.clone()),
            buffer: Connection::buffer(),
            is_behind: false,
            counts,
            look_at: 0,
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

    /// Serves until the server is stopped, and then as long as replies are left to send, within the grace.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        let mut ending: Option<Ending> = None;
        loop {
            match self.poll.poll(&mut events, Some(self.patience())) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            self.note(&events);
            let now = self.shared.time.milliseconds();
            self.step_task();
            self.take_turn(now);
            self.bound_memory(now);
            self.close_silent(now);
            self.is_behind = reaper::step(&self.shared, now) | room::tend(&self.shared, now);
            if self.number == 0 {
                self.shared.pace.step(now, || self.shared.measure());
                self.is_behind |= self.maintain(now);
                self.shrink_pool(now);
            }
            if self.shared.is_stopping() {
                let ending = ending.get_or_insert_with(|| self.stop());
                let is_busy = !self.ready.is_empty() || self.executor.has_tasks();
                if self.connections.is_empty() || ending.is_over(is_busy, self.counts.sent_bytes.get()) {
                    return Ok(());
                }
            }
        }
    }

    /// Has the store join leaves that deletes left sparse, and reclaim memory. Returns whether there is more
    /// to do.
    fn maintain(&mut self, now: u64) -> bool {
        if now < self.maintain_at {
            return false;
        }
        let more = self.shared.store.maintain(LEAVES_MAINTAINED);
        self.maintain_at = if more { now } else { now + MAINTENANCE_INTERVAL };
        more
    }

    /// Frees chunks that no reply has needed for a while.
    fn shrink_pool(&mut self, now: u64) {
        if now >= self.shrink_pool_at {
            self.shared.reply_chunks.shrink(CHUNKS_FREED);
            self.shrink_pool_at = now + POOL_INTERVAL;
        }
    }

    /// How long it may wait for sockets.
    fn patience(&self) -> Duration {
        let is_busy = self.is_behind || self.is_freeing;
        let at_rest = self.ready.is_empty() && !self.datagrams.is_ready() && !is_busy;
        match (at_rest, self.executor.has_tasks()) {
            (true, false) => PATIENCE,
            (true, true) if self.task_waits => TASK_PATIENCE,
            (false, false) if self.shared.pause.at(self.shared.time.milliseconds()).is_some() => {
                PAUSE_PATIENCE
            }
            _ => Duration::ZERO,
        }
    }

    /// Executes a slice of a command that takes long. Its connection goes on at its end.
    fn step_task(&mut self) {
        let (memory, shared) = (&self.memory, &self.shared);
        let excess = memory.excess(shared);
        let waits = |connection: &Connection| memory.holds(excess, connection);
        let Some((index, progress)) = self.executor.step_task(shared, &mut self.connections, waits) else {
            return;
        };
        self.task_waits = progress == Progress::Wait;
        let connection = &mut self.connections[index];
        self.memory.account(connection);
        connection.session.client.note(connection.activity());
        if progress == Progress::Done && !self.ready.contains(&index) {
            self.ready.push(index);
        }
    }

    /// Keeps the memory of all clients within its limit: gives back unused buffers, closes connections whose
    /// clients send no more, and, if that is not enough for a while, the connection that takes the most.
    fn bound_memory(&mut self, now: u64) {
        self.is_freeing = self.memory.free_some();
        self.memory.publish(&self.shared);
        self.memory.give_back(&self.shared);
        if self.memory.excess(&self.shared) < Excess::Above {
            return self.memory.is_within();
        }
        if now >= self.shrink_at {
            self.shrink_at = now + SHRINK_INTERVAL;
            for (_, connection) in &mut self.connections {
                connection.shrink();
                self.memory.account(connection);
            }
            self.memory.publish(&self.shared);
        }
        let is_gone = |(_, one): &(usize, &Connection)| one.hung_up && self.memory.holds(Excess::Above, one);
        if let Some(gone) = self.connections.iter().find(is_gone).map(|(index, _)| index) {
            return self.evict(gone);
        }
        if !self.memory.has_to_go(&self.shared, now) {
            return;
        }
        let largest = self.shared.clients.largest(now, self.shared.config().clients_bytes_max);
        let Some(largest) = largest else { return };
        let is_largest = |one: &Connection| one.session.client.id == largest.id;
        let found = self.connections.iter().find(|(_, one)| is_largest(one)).map(|(index, _)| index);
        found.into_iter().for_each(|index| self.evict(index));
    }

    /// Closes a connection for its memory.
    fn evict(&mut self, index: usize) {
        let connection = &self.connections[index];
        let (client, bytes) = (connection.session.client.id, connection.memory_bytes());
        let limit = self.shared.config().clients_bytes_max;
        tracing::warn!(client, bytes, limit, "closing a connection: clients exceed maxmemory-clients");
        self.counts.evicted.add(1);
        self.close(index);
        self.memory.publish(&self.shared);
    }

    /// Takes no further connections, and of clients only what has arrived already; says until when that is
    /// carried out.
    fn stop(&mut self) -> Ending {
        self.listener = None;
        self.ready.clear();
        self.datagrams.close();
        for (index, connection) in &mut self.connections {
            connection.receivable = true;
            // Who is broken is seen so when the replies are sent.
            let received = connection.receive(&mut self.buffer, &mut Quota::new(usize::MAX)).unwrap_or(0);
            self.counts.received_bytes.add(received as u64);
            connection.hear_no_more();
            self.ready.push(index);
        }
        let now = Instant::now();
        Ending { until: now + self.shared.config().grace, sent_bytes: 0, since: now }
    }

    fn note(&mut self, events: &Events) {
        for event in events {
            match event.token() {
                LISTENER => self.accept(),
                WAKER => self.look_around(),
                Token(token) if token >= DATAGRAMS_LAST.0 => self.datagrams.note(DATAGRAMS.0 - token),
                Token(index) => {
                    let Some(connection) = self.connections.get_mut(index) else { continue };
                    connection.hung_up |= event.is_read_closed();
                    connection.receivable |= event.is_readable() || event.is_read_closed();
                    connection.sendable |= event.is_writable() || event.is_write_closed();
                    self.ready.push(index);
                }
            }
        }
        self.ready.sort_unstable();
        self.ready.dedup();
    }

    /// Something was left for some connections: they are to be ended, or are shown commands.
    fn look_around(&mut self) {
        let is_killed = |connection: &Connection| connection.session.client.is(Flag::Killed);
        let killed = self.connections.iter().filter(|(_, one)| is_killed(one));
        let killed: Vec<_> = killed.map(|(index, _)| index).collect();
        killed.into_iter().for_each(|index| self.close(index));
        let monitors = self.connections.iter().filter(|(_, one)| one.session.monitoring.is_some());
        self.ready.extend(monitors.map(|(index, _)| index));
    }

    fn accept(&mut self) {
        while let Some(listener) = &self.listener {
            match listener.accept() {
                Ok((socket, address)) => self.welcome(socket, address),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    return;
                }
            }
        }
    }

    fn welcome(&mut self, mut socket: TcpStream, address: SocketAddr) {
        let shared = &self.shared;
        let connections_max = shared.config().connections_max;
        if shared.connections.fetch_add(1, Ordering::Relaxed) >= connections_max {
            shared.connections.fetch_sub(1, Ordering::Relaxed);
            self.counts.connections_rejected.add(1);
            if shared.refusal_warned.is_time(shared.time.milliseconds()) {
                tracing::warn!(%address, connections_max, "a connection was refused: there are too many");
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
            tracing::warn!(%error, %address, "a connection was not accepted");
            return;
        }
        let authenticated = shared.config().password.is_none();
        let local = socket.local_addr().map_or(String::new(), |local| local.to_string());
        let file = socket.as_raw_fd();
        let origin = Origin { address: address.to_string(), local, file, core: self.number };
        let client = shared.clients.enter(origin, shared.time.milliseconds());
        tracing::debug!(client = client.id, %address, "a client has come");
        let session = Session::new(client, authenticated);
        self.counts.accepted.add(1);
        self.ready.push(entry.key());
        entry.insert(Connection::new(socket, session, shared.reply_chunks.clone()));
    }

    /// Receives, carries out, sends; keeps as ready those for whom something is left to do.
    fn take_turn(&mut self, now: u64) {
        let mut ready = std::mem::take(&mut self.ready);
        // Others come first next time, so that each client gets its share of the quota.
        let first = ready.partition_point(|index| *index < self.first);
        ready.rotate_left(first);
        let (mut receiving, mut sending) = (Quota::new(QUOTA_RECEIVED), Quota::new(QUOTA_SENT));
        let excess = self.memory.excess(&self.shared);
        ready.retain(|&index| {
            let Some(connection) = self.connections.get_mut(index) else { return false };
            connection.unsent_bytes_max = self.memory.unsent_bytes_max(&self.shared, excess, connection);
            let full = !connection.has_room() || self.memory.delays(&self.shared, connection);
            let received = if full { Ok(0) } else { connection.receive(&mut self.buffer, &mut receiving) };
            if let Ok(bytes @ 1..) = received {
                self.counts.received_bytes.add(bytes as u64);
                connection.session.client.has_received(now, bytes);
                connection.session.client.note(connection.activity());
                self.memory.account(connection);
            }
            self.keep(index, received)
        });
        self.datagrams.receive();
        self.executor.run(&self.shared, now, &mut self.connections, &ready, &mut self.datagrams);
        ready.retain(|&index| {
            let connection = &mut self.connections[index];
            connection.take_lines();
            let sent = connection.send(&mut sending);
            let bytes = *sent.as_ref().unwrap_or(&0);
            self.counts.sent_bytes.add(bytes as u64);
            connection.session.client.has_sent(bytes);
            connection.note_sent(bytes, now);
            self.memory.account(connection);
            connection.session.client.note(connection.activity());
            self.keep(index, sent)
        });
        self.first = ready.first().map_or(0, |first| first + 1);
        ready.retain(|&index| self.connections[index].is_ready());
        ready.sort_unstable();
        self.ready = ready;
    }

    /// Ends a connection that is done or broken: whether it is still there.
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
        // Before others miss it in the list: else they would look for another one to close.
        self.memory.publish(&self.shared);
        if connection.task.is_some() {
            self.executor.forget_task(index);
        }
        let _ = self.poll.registry().deregister(&mut connection.socket);
        self.shared.clients.leave(&connection.session.client);
        self.shared.connections.fetch_sub(1, Ordering::Relaxed);
        tracing::debug!(client = connection.session.client.id, "a client has gone");
        self.memory.take(connection.close(&mut self.buffer));
    }

    /// Closes the connections of clients that have been silent for too long.
    fn close_silent(&mut self, now: u64) {
        let silence_max = self.shared.config().silence_max.as_millis() as u64;
        if silence_max == 0 || now < self.look_at {
            return;
        }
        self.look_at = now + SILENCE_INTERVAL;
        let silent = |connection: &Connection| connection.session.client.silence(now) >= silence_max;
        let ended: Vec<_> =
            self.connections.iter().filter(|(_, one)| silent(one)).map(|(index, _)| index).collect();
        self.counts.timed_out.add(ended.len() as u64);
        for index in ended {
            self.close(index);
        }
    }
}

//! The memory that a core's clients take, and their share of the total that `maxmemory-clients` bounds.
//!
//! A core notes the changes of its own connections and adds their sum to the total once an iteration, so the
//! cores meet there seldom. Near the limit a client gets one reply at a time. Above it clients that take more
//! than [`LITTLE`] are not served, and have [`GRACE`] to take their replies; then, or at once if the total is
//! half as much again as the limit, the client that takes the most is disconnected.

use std::time::{Duration, Instant};

use honeycomb_memory::heap;
use honeycomb_memory::sync::Ordering;

use crate::clients::STALL;
use crate::connection::{Buffers, Connection};
use crate::server_state::ServerState;

/// Bytes that are freed before the heap is given back to the system, which takes about a millisecond for 10
/// MiB; and the time in which fewer bytes than that must have been taken before: else they are used again.
const FREED: usize = 16 << 20;
const GIVE_BACK_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes of a client that is served although all together take too much.
const LITTLE: usize = 64 << 10;
/// Parts of closed connections' buffers that are freed at once: it takes about 100 microseconds.
const FREED_PARTS: usize = 4;
/// Milliseconds above the limit after which a client is disconnected. By then it is known which clients take
/// none of their replies.
const GRACE: u64 = STALL + 50;

/// The changes that are not yet part of the total.
#[derive(Debug, Default)]
pub(crate) struct ClientMemory {
    grown: usize,
    shrunk: usize,
    /// When this core found the total above its limit.
    above_since: Option<u64>,
    /// Bytes that were freed since the heap was last given back.
    freed: usize,
    /// Bytes that were taken since a moment.
    taken: usize,
    taken_since: Option<Instant>,
    /// Buffers of connections that were closed.
    closed: Vec<Buffers>,
}

/// How far the total is from its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Excess {
    None,
    Near,
    Above,
    FarAbove,
}

impl ClientMemory {
    /// Notes how much memory a connection takes now.
    pub(crate) fn account(&mut self, connection: &mut Connection) {
        let bytes = connection.memory_bytes();
        self.grown += bytes.saturating_sub(connection.accounted_bytes);
        self.shrunk += connection.accounted_bytes.saturating_sub(bytes);
        connection.accounted_bytes = bytes;
    }

    /// A connection is closed.
    pub(crate) fn forget(&mut self, connection: &Connection) {
        self.shrunk += connection.accounted_bytes;
    }

    /// Takes the buffers of a connection that was closed, to free them step by step. They are no part of the
    /// total any more, so that no core closes another connection meanwhile: they are freed faster than any
    /// client can make its buffers grow.
    pub(crate) fn take(&mut self, buffers: Buffers) {
        self.closed.push(buffers);
    }

    /// Frees some of the buffers of closed connections. Returns whether there are more.
    pub(crate) fn free_some(&mut self) -> bool {
        for _ in 0..FREED_PARTS {
            let Some(buffers) = self.closed.last_mut() else { return false };
            if !buffers.free_some() {
                self.closed.pop();
            }
        }
        !self.closed.is_empty()
    }

    /// Adds the changes to the total.
    pub(crate) fn publish(&mut self, shared: &ServerState) {
        // Relaxed: a total that others read a moment later does no harm.
        let total = shared.clients.bytes();
        if self.grown > self.shrunk {
            total.fetch_add(self.grown - self.shrunk, Ordering::Relaxed);
        } else if self.shrunk > self.grown {
            total.fetch_sub(self.shrunk - self.grown, Ordering::Relaxed);
        }
        self.freed += self.shrunk;
        self.taken += self.grown;
        (self.grown, self.shrunk) = (0, 0);
    }

    /// Gives memory that was freed back to the system, if it is much and clients take little of it again.
    pub(crate) fn give_back(&mut self, shared: &ServerState) {
        if self.freed < FREED {
            return;
        }
        let now = shared.time.instant();
        let since = *self.taken_since.get_or_insert(now);
        if now.saturating_duration_since(since) < GIVE_BACK_INTERVAL {
            return;
        }
        if self.taken < FREED {
            heap::give_back();
            self.freed = 0;
        }
        (self.taken, self.taken_since) = (0, None);
    }

    /// How far the published total is from its limit.
    pub(crate) fn excess(&self, shared: &ServerState) -> Excess {
        let (total, max) =
            (shared.clients.bytes().load(Ordering::Relaxed), shared.config().clients_bytes_max);
        match total {
            _ if total > max / 2 * 3 => Excess::FarAbove,
            _ if total > max => Excess::Above,
            _ if total > max / 4 * 3 => Excess::Near,
            _ => Excess::None,
        }
    }

    /// The total is not above its limit.
    pub(crate) fn is_within(&mut self) {
        self.above_since = None;
    }

    /// Whether a client is to be disconnected.
    pub(crate) fn has_to_go(&mut self, shared: &ServerState, now: u64) -> bool {
        let excess = self.excess(shared);
        if excess < Excess::Above {
            self.is_within();
            return false;
        }
        let since = *self.above_since.get_or_insert(now);
        excess == Excess::FarAbove || now.saturating_sub(since) >= GRACE
    }

    /// Bytes of unsent replies from which on the commands of a client wait. One that takes little goes on.
    pub(crate) fn unsent_bytes_max(
        &self,
        shared: &ServerState,
        excess: Excess,
        client: &Connection,
    ) -> usize {
        match excess {
            Excess::None => shared.config().unsent_bytes_max,
            _ if self.holds(excess, client) => 0,
            _ => 1,
        }
    }

    /// Whether a client gets no further replies until others have given memory back.
    pub(crate) fn holds(&self, excess: Excess, client: &Connection) -> bool {
        excess >= Excess::Above && client.accounted_bytes > LITTLE
    }

    /// Whether a client has to wait until others have given memory back before more is received of it.
    pub(crate) fn delays(&self, shared: &ServerState, client: &Connection) -> bool {
        client.accounted_bytes > LITTLE && self.is_short(shared)
    }

    /// Whether the limit is reached, the changes of this core included.
    fn is_short(&self, shared: &ServerState) -> bool {
        let total = shared.clients.bytes().load(Ordering::Relaxed);
        (total + self.grown).saturating_sub(self.shrunk) > shared.config().clients_bytes_max
    }
}

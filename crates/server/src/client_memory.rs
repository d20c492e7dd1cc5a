//! The memory that a core's clients take, and their share of the total that `maxmemory-clients` bounds.
//!
//! A core notes the changes of its own connections and adds their sum to the total once an iteration, so the
//! cores meet there seldom. Near the limit a client gets one reply at a time. Above it clients that take more
//! than [`LITTLE`] are not served, and have [`GRACE`] to take their replies; then, or at once if the total is
//! half as much again as the limit, the client that takes the most is disconnected.

use std::time::{Duration, Instant};

use honeycomb_memory::heap;
use honeycomb_memory::sync::Ordering;

use crate::connection::Connection;
use crate::shared::Shared;

/// Bytes that are freed before the heap is given back to the system, and the time between two such times.
const FREED: usize = 16 << 20;
const GIVE_BACK_INTERVAL: Duration = Duration::from_secs(1);
/// Bytes of a client that is served although all together take too much.
const LITTLE: usize = 64 << 10;
/// Milliseconds above the limit after which a client is disconnected.
const GRACE: u64 = 100;

/// The changes that are not yet part of the total.
#[derive(Debug, Default)]
pub(crate) struct ClientMemory {
    grown: usize,
    shrunk: usize,
    /// When this core found the total above its limit.
    above_since: Option<u64>,
    /// Bytes that were freed since the heap was last given back, which was at that time.
    freed: usize,
    given_back: Option<Instant>,
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

    /// Adds the changes to the total.
    pub(crate) fn publish(&mut self, shared: &Shared) {
        // Relaxed: a total that others read a moment later does no harm.
        let total = shared.clients.bytes();
        if self.grown > self.shrunk {
            total.fetch_add(self.grown - self.shrunk, Ordering::Relaxed);
        } else if self.shrunk > self.grown {
            total.fetch_sub(self.shrunk - self.grown, Ordering::Relaxed);
        }
        self.freed += self.shrunk;
        (self.grown, self.shrunk) = (0, 0);
    }

    /// Gives memory that was freed back to the system, if it is much and that was not done just now.
    pub(crate) fn give_back(&mut self, shared: &Shared) {
        if self.freed < FREED {
            return;
        }
        let now = shared.time.instant();
        if self.given_back.is_none_or(|last| now.saturating_duration_since(last) >= GIVE_BACK_INTERVAL) {
            heap::give_back();
            (self.freed, self.given_back) = (0, Some(now));
        }
    }

    /// How far the published total is from its limit.
    pub(crate) fn excess(&self, shared: &Shared) -> Excess {
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
    pub(crate) fn has_to_go(&mut self, shared: &Shared, now: u64) -> bool {
        let excess = self.excess(shared);
        if excess < Excess::Above {
            self.is_within();
            return false;
        }
        let since = *self.above_since.get_or_insert(now);
        excess == Excess::FarAbove || now.saturating_sub(since) >= GRACE
    }

    /// Bytes of unsent replies from which on the commands of a client wait. One that takes little goes on.
    pub(crate) fn unsent_bytes_max(&self, shared: &Shared, excess: Excess, client: &Connection) -> usize {
        match excess {
            Excess::None => shared.config().unsent_bytes_max,
            Excess::Above | Excess::FarAbove if client.accounted_bytes > LITTLE => 0,
            _ => 1,
        }
    }

    /// Whether a client has to wait until others have given memory back before more is received of it.
    pub(crate) fn delays(&self, shared: &Shared, client: &Connection) -> bool {
        client.accounted_bytes > LITTLE && self.is_short(shared)
    }

    /// Whether the limit is reached, the changes of this core included.
    fn is_short(&self, shared: &Shared) -> bool {
        let total = shared.clients.bytes().load(Ordering::Relaxed);
        (total + self.grown).saturating_sub(self.shrunk) > shared.config().clients_bytes_max
    }
}

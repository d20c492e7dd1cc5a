//! The memory of the clients of a core, and its part of the total that `maxmemory-clients` limits.
//!
//! A core records the changes of its own connections and adds their sum to the total once per iteration,
//! and whenever it is large, so the cores rarely contend. Near the limit a client gets one reply at a time.
//! Above the limit the server does not serve clients that use more than their share ([`share`]), and waits
//! [`GRACE`] for them to read their replies. After that, or at once if the total exceeds 1.5 times the limit,
//! it disconnects the client that uses the most memory, and until then it serves no client.

use std::time::{Duration, Instant};

use honeycomb_memory::heap;
use honeycomb_memory::sync::Ordering;

use crate::clients::STALL;
use crate::connection::{Buffers, Connection};
use crate::server_state::ServerState;

/// The heap returns memory to the system after this number of bytes was freed. That takes about a millisecond
/// for 10 MiB. It does not happen if clients allocated as many bytes in the meantime, because they would
/// reuse the memory.
const FREED: usize = 16 << 20;
const GIVE_BACK_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum bytes of the share of a client. The server continues to serve clients that use at most their share
/// while the total is above the limit.
const SHARE_MAX: usize = 64 << 10;
/// All shares together are at most the limit divided by this number.
const SHARED_PART: usize = 4;
/// A core adds the changes of its connections to the total when they have reached this number of bytes.
const UNPUBLISHED_MAX: usize = 256 << 10;
/// Parts of buffers of closed connections that one iteration frees. It takes about 100 microseconds.
const FREED_PARTS: usize = 4;
/// Milliseconds above the limit after which the server disconnects a client. By then it knows which clients
/// do not read their replies.
const GRACE: u64 = STALL + 50;

/// The memory of the clients of a core, and the changes that the total does not include yet.
#[derive(Debug, Default)]
pub(crate) struct ClientMemory {
    grown: usize,
    shrunk: usize,
    /// The time since which this core has found the total above the limit.
    above_since: Option<u64>,
    /// Bytes freed since the heap last returned memory.
    freed: usize,
    /// Bytes allocated since then.
    taken: usize,
    taken_since: Option<Instant>,
    /// Buffers of closed connections.
    closed: Vec<Buffers>,
}

/// The distance of the total from its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Excess {
    None,
    Near,
    Above,
    FarAbove,
}

impl ClientMemory {
    /// Records the memory that a connection uses now.
    pub(crate) fn account(&mut self, shared: &ServerState, connection: &mut Connection) {
        let bytes = connection.memory_bytes().saturating_sub(connection.charged_bytes());
        self.grown += bytes.saturating_sub(connection.accounted_bytes);
        self.shrunk += connection.accounted_bytes.saturating_sub(bytes);
        connection.accounted_bytes = bytes;
        if self.grown.abs_diff(self.shrunk) >= UNPUBLISHED_MAX {
            self.publish(shared);
        }
    }

    /// Removes a closed connection.
    pub(crate) fn forget(&mut self, connection: &Connection) {
        self.shrunk += connection.accounted_bytes;
    }

    /// Accepts the buffers of a closed connection, to free them in steps. Their memory is that of a departed
    /// client, so that no core closes another connection in the meantime.
    pub(crate) fn take(&mut self, buffers: Buffers) {
        self.closed.push(buffers);
    }

    /// Frees some of the buffers of closed connections. Returns whether more remain.
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
        let total = shared.clients.bytes();
        if self.grown > self.shrunk {
            total.add(self.grown - self.shrunk);
        } else if self.shrunk > self.grown {
            total.subtract(self.shrunk - self.grown);
        }
        self.freed += self.shrunk;
        self.taken += self.grown;
        (self.grown, self.shrunk) = (0, 0);
    }

    /// Returns freed memory to the system if it is large and clients allocate little of it again.
    pub(crate) fn return_memory(&mut self, shared: &ServerState) {
        if self.freed < FREED {
            return;
        }
        let now = shared.time.instant();
        let since = *self.taken_since.get_or_insert(now);
        if now.saturating_duration_since(since) < GIVE_BACK_INTERVAL {
            return;
        }
        if self.taken < FREED {
            heap::trim();
            self.freed = 0;
        }
        (self.taken, self.taken_since) = (0, None);
    }

    /// Returns the distance of the published total from its limit. The memory of departed clients counts, but
    /// only that of connected ones can be far above the limit: for the other, nothing can be done but wait.
    pub(crate) fn excess(&self, shared: &ServerState) -> Excess {
        let (clients, total) = (shared.clients.bytes().get(), shared.clients.all_bytes());
        let max = shared.config().clients_bytes_max;
        match total {
            _ if clients > max / 2 * 3 => Excess::FarAbove,
            _ if total > max => Excess::Above,
            _ if total > max / 4 * 3 => Excess::Near,
            _ => Excess::None,
        }
    }

    /// Records that the total is not above its limit.
    pub(crate) fn is_within(&mut self) {
        self.above_since = None;
    }

    /// Returns whether the server must disconnect a client.
    pub(crate) fn must_evict(&mut self, shared: &ServerState, now: u64) -> bool {
        let (clients, max) = (shared.clients.bytes().get(), shared.config().clients_bytes_max);
        if clients <= max {
            self.is_within();
            return false;
        }
        let since = *self.above_since.get_or_insert(now);
        shared.clients.are_far_above(max) || now.saturating_sub(since) >= GRACE
    }

    /// Returns the bytes of unsent replies at which the commands of a client wait. A client that uses little
    /// memory continues.
    pub(crate) fn unsent_bytes_max(
        &self,
        shared: &ServerState,
        excess: Excess,
        client: &Connection,
    ) -> usize {
        match excess {
            Excess::None => shared.config().unsent_bytes_max,
            _ if self.holds(shared, excess, client) => 0,
            _ => 1,
        }
    }

    /// Returns whether a client gets no further replies until other clients have released memory.
    pub(crate) fn holds(&self, shared: &ServerState, excess: Excess, client: &Connection) -> bool {
        match excess {
            Excess::None | Excess::Near => false,
            Excess::Above => client.accounted_bytes > share(shared),
            Excess::FarAbove => true,
        }
    }

    /// Returns the number of bytes that the server may receive from a client until other clients have
    /// released memory.
    pub(crate) fn receivable_bytes(&self, shared: &ServerState, client: &Connection) -> usize {
        if self.is_short(shared) { share(shared).saturating_sub(client.accounted_bytes) } else { usize::MAX }
    }

    /// Returns whether the total, with the changes of this core, has reached the limit.
    pub(crate) fn is_short(&self, shared: &ServerState) -> bool {
        let total = shared.clients.all_bytes();
        (total + self.grown).saturating_sub(self.shrunk) > shared.config().clients_bytes_max
    }
}

/// Returns the bytes that a client may use while the total is above the limit. The buffers of many clients,
/// each with little memory, would exceed the limit together.
fn share(shared: &ServerState) -> usize {
    let clients = shared.connections.load(Ordering::Relaxed).max(1);
    (shared.config().clients_bytes_max / SHARED_PART / clients).min(SHARE_MAX)
}

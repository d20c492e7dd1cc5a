//! The memory that a core's clients take, and their share of the total that `maxmemory-clients` bounds.
//!
//! A core notes the changes of its own connections and adds their sum to the total once an iteration, so the
//! cores meet there seldom. While the total is above the limit no core receives; so it exceeds the limit by no
//! more than each core receives and replies in one iteration.

use honeycomb_memory::sync::Ordering;

use crate::connection::Connection;
use crate::shared::Shared;

/// The changes that are not yet part of the total.
#[derive(Debug, Default)]
pub(crate) struct ClientMemory {
    grown: usize,
    shrunk: usize,
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
        *self = Self::default();
    }

    /// Bytes of unsent replies from which on a client's commands wait. If the total is near its limit, that is
    /// any: what a client has asked for ahead is found later.
    pub(crate) fn unsent_bytes_max(&self, shared: &Shared) -> usize {
        let (config, total) = (shared.config(), shared.clients.bytes().load(Ordering::Relaxed));
        let is_near = total > config.clients_bytes_max / 4 * 3;
        if is_near { 1 } else { config.unsent_bytes_max }
    }

    /// Whether the limit is reached, the changes of this core included.
    pub(crate) fn is_short(&self, shared: &Shared) -> bool {
        let total = shared.clients.bytes().load(Ordering::Relaxed);
        (total + self.grown).saturating_sub(self.shrunk) > shared.config().clients_bytes_max
    }
}

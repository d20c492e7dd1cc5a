//! How much memory the server uses, and for what: what `INFO`, `MEMORY STATS` and `MEMORY DOCTOR` show.

use honeycomb_memory::sync::Ordering;
use honeycomb_store::MemoryStatistics;

use crate::process;
use crate::server_state::ServerState;

/// Bytes of memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryUsage {
    /// Of the arena.
    pub(crate) arena: MemoryStatistics,
    /// Of requests, replies and queues of clients.
    pub(crate) of_clients: usize,
    /// Of the arena and of clients together, now and at most so far.
    pub(crate) used: usize,
    pub(crate) peak: usize,
    /// Of the process that are resident.
    pub(crate) resident: usize,
}

impl MemoryUsage {
    pub(crate) fn of(shared: &ServerState) -> Self {
        let arena = shared.store.statistics().memory;
        let of_clients = shared.clients.bytes().load(Ordering::Relaxed);
        let used = arena.arena_bytes - arena.free_bytes + of_clients;
        Self { arena, of_clients, used, peak: shared.pace.peak(used), resident: process::resident_bytes() }
    }

    /// Bytes of nodes and values, which hold the pairs.
    pub(crate) fn pairs(&self) -> usize {
        self.arena.node_bytes + self.arena.value_bytes
    }

    pub(crate) fn percent_of_peak(&self) -> f64 {
        percent(self.used, self.peak)
    }

    /// Resident bytes for each byte that is used.
    pub(crate) fn resident_ratio(&self) -> f64 {
        self.resident as f64 / self.used.max(1) as f64
    }
}

/// A part of a whole in percent.
pub(crate) fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

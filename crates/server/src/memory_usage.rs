//! The memory that the server uses, for `INFO`, `MEMORY STATS` and `MEMORY DOCTOR`.

use honeycomb_store::MemoryStatistics;

use crate::process;
use crate::server_state::ServerState;

/// Bytes of memory by use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryUsage {
    /// The arena.
    pub(crate) arena: MemoryStatistics,
    /// Requests, replies and queues of clients.
    pub(crate) of_clients: usize,
    /// Arena and clients together: now, and the peak.
    pub(crate) used: usize,
    pub(crate) peak: usize,
    /// Resident memory of the process.
    pub(crate) resident: usize,
}

impl MemoryUsage {
    pub(crate) fn of(shared: &ServerState) -> Self {
        let arena = shared.store.statistics().memory;
        let of_clients = shared.clients.all_bytes();
        let used = arena.arena_bytes - arena.free_bytes + of_clients;
        Self { arena, of_clients, used, peak: shared.pace.peak(used), resident: process::resident_bytes() }
    }

    /// Returns the bytes of nodes, values and pages of unordered tables, which contain the pairs.
    pub(crate) fn pairs(&self) -> usize {
        self.arena.node_bytes + self.arena.value_bytes + self.arena.table_page_bytes
    }

    pub(crate) fn percent_of_peak(&self) -> f64 {
        percent(self.used, self.peak)
    }

    /// Returns the resident bytes per used byte.
    pub(crate) fn resident_ratio(&self) -> f64 {
        self.resident as f64 / self.used.max(1) as f64
    }
}

/// Returns a part of a whole in percent.
pub(crate) fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

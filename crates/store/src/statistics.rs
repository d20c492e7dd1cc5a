//! What a store holds and what has happened in it, in numbers.

use serde::Serialize;

use crate::lease::LeaseTotals;
use crate::shared::StoreState;

/// Numbers about a store. They are read one after the other, so while writes go on they need not fit together
/// exactly.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Statistics {
    /// Pairs of all tables.
    pub pairs: u64,
    /// The tables, in order of their names.
    pub tables: Vec<TableStatistics>,
    /// Where the bytes are.
    pub memory: MemoryStatistics,
    /// The same for each pair.
    pub bytes_per_pair: BytesPerPair,
    /// Versions, and how far readers had to go back.
    pub versions: VersionStatistics,
    /// Snapshots, iterators among them.
    pub snapshots: SnapshotStatistics,
    /// What writes did to the trees.
    pub writes: WriteStatistics,
}

/// Numbers about a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TableStatistics {
    /// Its name.
    pub name: String,
    /// Its pairs.
    pub pairs: u64,
}

/// Where the bytes are. Those of the arena are free, of nodes, of values, in reserve, retired
/// or private.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MemoryStatistics {
    /// Bytes of the arena.
    pub arena_bytes: usize,
    /// Bytes in use for nothing.
    pub free_bytes: usize,
    /// Bytes of the buffers of published nodes.
    pub node_bytes: usize,
    /// Bytes of the buffers of values that are out of line.
    pub value_bytes: usize,
    /// Bytes kept for removals, so that a full store can be emptied.
    pub reserve_bytes: usize,
    /// Bytes that were replaced and wait to be reclaimed.
    pub retired_bytes: usize,
    /// Bytes of buffers that writes are filling.
    pub private_bytes: usize,
    /// Published nodes.
    pub nodes: usize,
    /// Values that are out of line.
    pub values: usize,
    /// Bytes of the page table in use, beside the arena.
    pub page_table_bytes: usize,
    /// Bytes of what manages the arena, beside it.
    pub overhead_bytes: usize,
}

/// Bytes in use divided by pairs; 0 without pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BytesPerPair {
    /// Of published nodes.
    pub nodes: f64,
    /// Of values that are out of line.
    pub values: f64,
    /// Of what waits to be reclaimed.
    pub retired: f64,
    /// Of the page table.
    pub page_table: f64,
    /// Of all these.
    pub all: f64,
}

/// Versions, and how far readers had to go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VersionStatistics {
    /// The newest version that is visible.
    pub read_version: u64,
    /// Steps of readers from a node to its previous version.
    pub chain_steps: u64,
    /// Most such steps for one node.
    pub chain_steps_max: u64,
    /// Times a scan went back to the root because a leaf was younger than its version.
    pub scan_descents: u64,
}

/// Snapshots, iterators among them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SnapshotStatistics {
    /// How many there are.
    pub count: usize,
    /// Seconds since the oldest was taken.
    pub oldest_seconds: f64,
    /// Bytes that the oldest keeps from being reclaimed; no other keeps any but these.
    pub pinned_bytes: u64,
}

/// What writes did to the trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WriteStatistics {
    /// Writes that began again because another one held a lock they needed.
    pub restarts: u64,
    /// Leaves whose log block was merged.
    pub consolidations: u64,
    /// Those of them in which no item moved.
    pub patches: u64,
    /// Times that leaves were replaced by more leaves.
    pub leaf_splits: u64,
    /// Times that leaves were replaced by as many.
    pub leaf_shares: u64,
    /// Times that leaves were replaced by fewer.
    pub leaf_merges: u64,
    /// Times that compaction replaced leaves by fewer.
    pub compactions: u64,
    /// Interior nodes that were split.
    pub interior_splits: u64,
    /// Interior nodes that were joined.
    pub interior_merges: u64,
    /// Times that a tree grew by a level.
    pub root_growths: u64,
    /// Times that a tree lost a level.
    pub root_collapses: u64,
}

impl Statistics {
    pub(crate) fn of(shared: &StoreState) -> Self {
        let directory = shared.directory.read();
        let table = |(name, pairs)| TableStatistics { name, pairs };
        let counts = directory.values().map(|entry| (entry.name.clone(), entry.pairs.get()));
        let tables: Vec<_> = counts.map(table).collect();
        let pairs = tables.iter().map(|table| table.pairs).sum();
        let memory = MemoryStatistics::of(shared);
        let trees = shared.forest.statistics();
        Self {
            pairs,
            tables,
            memory,
            bytes_per_pair: BytesPerPair::new(&memory, pairs),
            versions: VersionStatistics::of(shared),
            snapshots: shared.leases.totals(shared.forest.memory()).into(),
            writes: trees.into(),
        }
    }
}

impl VersionStatistics {
    pub(crate) fn of(shared: &StoreState) -> Self {
        let trees = shared.forest.statistics();
        Self {
            read_version: shared.forest.read_version(),
            chain_steps: trees.version_chain_steps,
            chain_steps_max: trees.version_chain_max,
            scan_descents: trees.scan_descents,
        }
    }
}

impl MemoryStatistics {
    pub(crate) fn of(shared: &StoreState) -> Self {
        let accounting = shared.forest.memory().accounting();
        let (reserve_bytes, reserve_buffers) = (shared.reserve.bytes(), shared.reserve.buffers());
        Self {
            arena_bytes: accounting.arena_bytes,
            free_bytes: accounting.free_bytes + accounting.free_list_bytes + accounting.reserved_bytes,
            node_bytes: accounting.live_node_bytes,
            value_bytes: accounting.live_value_bytes.saturating_sub(reserve_bytes),
            reserve_bytes,
            retired_bytes: accounting.retired_node_bytes + accounting.retired_value_bytes,
            private_bytes: accounting.private_node_bytes + accounting.private_value_bytes,
            nodes: accounting.live_nodes,
            values: accounting.live_values.saturating_sub(reserve_buffers),
            page_table_bytes: accounting.page_table_bytes,
            overhead_bytes: accounting.overhead_bytes,
        }
    }
}

impl BytesPerPair {
    fn new(memory: &MemoryStatistics, pairs: u64) -> Self {
        let each = |bytes: usize| if pairs == 0 { 0.0 } else { bytes as f64 / pairs as f64 };
        let MemoryStatistics { node_bytes, value_bytes, retired_bytes, page_table_bytes, .. } = *memory;
        Self {
            nodes: each(node_bytes),
            values: each(value_bytes),
            retired: each(retired_bytes),
            page_table: each(page_table_bytes),
            all: each(node_bytes + value_bytes + retired_bytes + page_table_bytes),
        }
    }
}

impl From<LeaseTotals> for SnapshotStatistics {
    fn from(totals: LeaseTotals) -> Self {
        let LeaseTotals { count, oldest, pinned_bytes } = totals;
        Self { count, oldest_seconds: oldest.as_secs_f64(), pinned_bytes }
    }
}

impl From<honeycomb_btree::Statistics> for WriteStatistics {
    fn from(trees: honeycomb_btree::Statistics) -> Self {
        Self {
            restarts: trees.restarts,
            consolidations: trees.consolidations,
            patches: trees.patches,
            leaf_splits: trees.leaf_splits,
            leaf_shares: trees.leaf_shares,
            leaf_merges: trees.leaf_merges,
            compactions: trees.compactions,
            interior_splits: trees.interior_splits,
            interior_merges: trees.interior_merges,
            root_growths: trees.root_growths,
            root_collapses: trees.root_collapses,
        }
    }
}

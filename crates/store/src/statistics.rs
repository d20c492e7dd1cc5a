//! Statistics of a store: its contents, its memory, and the events since it was opened.

use honeycomb_memory::Accounting;
use serde::Serialize;

use crate::directory::Entry;
use crate::lease::LeaseTotals;
use crate::store_state::StoreState;

/// Statistics of a store. The numbers are read one after the other, so during writes they may be slightly
/// inconsistent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Statistics {
    /// Pairs in all tables.
    pub pairs: u64,
    /// The tables in ascending order of their names.
    pub tables: Vec<TableStatistics>,
    /// The use of memory.
    pub memory: MemoryStatistics,
    /// The use of memory per pair.
    pub bytes_per_pair: BytesPerPair,
    /// Versions, and how often readers followed previous versions.
    pub versions: VersionStatistics,
    /// Snapshots, including those of iterators.
    pub snapshots: SnapshotStatistics,
    /// Consolidations and structural changes.
    pub writes: WriteStatistics,
}

/// Statistics of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TableStatistics {
    /// The name of the table.
    pub name: String,
    /// The number of its pairs.
    pub pairs: u64,
    /// The memory of an unordered table; `None` for an ordered one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unordered: Option<UnorderedStatistics>,
}

/// The memory of an unordered table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnorderedStatistics {
    /// Number of buckets, without chained ones.
    pub buckets: u64,
    /// Number of slots of buckets in use.
    pub used_slots: u64,
    /// Bytes of the pages with buckets.
    pub bucket_bytes: usize,
    /// Bytes of the pages with slabs.
    pub slab_bytes: usize,
    /// Bytes of these pages that no pair uses.
    pub free_slab_bytes: usize,
}

/// The use of memory. Every byte of the arena is free, in a node, in a value, in a page of an unordered
/// table, in the reserve, retired or private.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MemoryStatistics {
    /// Bytes of the arena.
    pub arena_bytes: usize,
    /// Unused bytes.
    pub free_bytes: usize,
    /// Bytes of the buffers of published nodes.
    pub node_bytes: usize,
    /// Bytes of the buffers of overflow values.
    pub value_bytes: usize,
    /// Bytes of the pages of unordered tables.
    pub table_page_bytes: usize,
    /// Bytes reserved for deletes, so that a full store can be emptied.
    pub reserve_bytes: usize,
    /// Bytes that were replaced and are not reclaimed yet.
    pub retired_bytes: usize,
    /// Bytes of buffers that writes are filling.
    pub private_bytes: usize,
    /// Published nodes.
    pub nodes: usize,
    /// Overflow values.
    pub values: usize,
    /// Bytes of the page table in use, outside the arena.
    pub page_table_bytes: usize,
    /// Bytes of the memory management outside the arena.
    pub overhead_bytes: usize,
}

/// Bytes in use divided by pairs; 0 without pairs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BytesPerPair {
    /// Bytes of published nodes.
    pub nodes: f64,
    /// Bytes of overflow values.
    pub values: f64,
    /// Bytes of the pages of unordered tables.
    pub table_pages: f64,
    /// Bytes that are retired and not reclaimed yet.
    pub retired: f64,
    /// Bytes of the page table.
    pub page_table: f64,
    /// The sum of these.
    pub all: f64,
}

/// Versions, and how often readers followed previous versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VersionStatistics {
    /// The newest visible version.
    pub read_version: u64,
    /// Steps that readers took from a buffer of a node to its previous version.
    pub chain_steps: u64,
    /// Most such steps that one reader took for one node.
    pub chain_steps_max: u64,
    /// Scans that descended from the root again because a leaf was newer than their version.
    pub scan_descents: u64,
}

/// Snapshots, including those of iterators.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SnapshotStatistics {
    /// The number of snapshots.
    pub count: usize,
    /// Seconds since the oldest snapshot was taken.
    pub oldest_seconds: f64,
    /// Bytes that the oldest snapshot pins, which include those that the others pin.
    pub pinned_bytes: u64,
}

/// Consolidations and structural changes since the store was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WriteStatistics {
    /// Retries of writes because another write held a lock that they needed.
    pub retries: u64,
    /// Consolidations of log blocks.
    pub consolidations: u64,
    /// Consolidations that moved no item.
    pub patches: u64,
    /// Structural changes that replaced leaves by more leaves.
    pub leaf_splits: u64,
    /// Structural changes that replaced leaves by the same number of leaves.
    pub leaf_redistributions: u64,
    /// Structural changes that replaced leaves by fewer leaves.
    pub leaf_merges: u64,
    /// Structural changes of compaction, which replaced leaves by fewer leaves.
    pub compactions: u64,
    /// Splits of interior nodes.
    pub interior_splits: u64,
    /// Merges of interior nodes.
    pub interior_merges: u64,
    /// Times that a tree gained a level.
    pub root_growths: u64,
    /// Times that a tree lost a level.
    pub root_collapses: u64,
}

impl Statistics {
    pub(crate) fn of(state: &StoreState) -> Self {
        let directory = state.directory.read();
        let tables: Vec<_> = directory.values().map(TableStatistics::of).collect();
        let pairs = tables.iter().map(|table| table.pairs).sum();
        let memory = MemoryStatistics::of(state);
        let trees = state.forest.statistics();
        Self {
            pairs,
            tables,
            memory,
            bytes_per_pair: BytesPerPair::new(&memory, pairs),
            versions: VersionStatistics::of(state),
            snapshots: state.leases.totals(state.forest.memory()).into(),
            writes: trees.into(),
        }
    }
}

impl TableStatistics {
    fn of(entry: &Entry) -> Self {
        let unordered = entry.unordered().ok().map(|entry| entry.table.statistics().into());
        Self { name: entry.name().to_owned(), pairs: entry.pairs(), unordered }
    }
}

impl From<honeycomb_hashtable::TableStatistics> for UnorderedStatistics {
    fn from(table: honeycomb_hashtable::TableStatistics) -> Self {
        Self {
            buckets: table.buckets,
            used_slots: table.used_slots,
            bucket_bytes: table.bucket_page_bytes,
            slab_bytes: table.slabs.page_bytes,
            free_slab_bytes: table.slabs.pool_bytes + table.slabs.cached_bytes,
        }
    }
}

impl VersionStatistics {
    pub(crate) fn of(state: &StoreState) -> Self {
        let trees = state.forest.statistics();
        Self {
            read_version: state.forest.read_version(),
            chain_steps: trees.version_chain_steps,
            chain_steps_max: trees.version_chain_max,
            scan_descents: trees.scan_descents,
        }
    }
}

impl MemoryStatistics {
    pub(crate) fn of(state: &StoreState) -> Self {
        let accounting = state.forest.memory().accounting();
        let (reserve_bytes, reserve_buffers) = (state.reserve.bytes(), state.reserve.buffers());
        Self {
            arena_bytes: accounting.arena_bytes,
            free_bytes: free_bytes(&accounting),
            node_bytes: accounting.live_node_bytes,
            value_bytes: accounting.live_value_bytes.saturating_sub(reserve_bytes),
            table_page_bytes: accounting.live_table_page_bytes,
            reserve_bytes,
            retired_bytes: accounting.retired_node_bytes
                + accounting.retired_value_bytes
                + accounting.retired_table_page_bytes,
            private_bytes: accounting.private_node_bytes + accounting.private_value_bytes,
            nodes: accounting.live_nodes,
            values: accounting.live_values.saturating_sub(reserve_buffers),
            page_table_bytes: accounting.page_table_bytes,
            overhead_bytes: accounting.overhead_bytes,
        }
    }
}

/// The bytes that are in no use. Threads that allocate meanwhile move bytes between the counters, which are
/// read one after the other, so some may count twice.
fn free_bytes(accounting: &Accounting) -> usize {
    let free = accounting.free_bytes + accounting.free_list_bytes + accounting.reserved_bytes;
    free.min(accounting.arena_bytes)
}

impl BytesPerPair {
    fn new(memory: &MemoryStatistics, pairs: u64) -> Self {
        let each = |bytes: usize| if pairs == 0 { 0.0 } else { bytes as f64 / pairs as f64 };
        let MemoryStatistics { node_bytes, value_bytes, retired_bytes, page_table_bytes, .. } = *memory;
        let table_page_bytes = memory.table_page_bytes;
        Self {
            nodes: each(node_bytes),
            values: each(value_bytes),
            table_pages: each(table_page_bytes),
            retired: each(retired_bytes),
            page_table: each(page_table_bytes),
            all: each(node_bytes + value_bytes + table_page_bytes + retired_bytes + page_table_bytes),
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
            retries: trees.retries,
            consolidations: trees.consolidations,
            patches: trees.patches,
            leaf_splits: trees.leaf_splits,
            leaf_redistributions: trees.leaf_redistributions,
            leaf_merges: trees.leaf_merges,
            compactions: trees.compactions,
            interior_splits: trees.interior_splits,
            interior_merges: trees.interior_merges,
            root_growths: trees.root_growths,
            root_collapses: trees.root_collapses,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_count_twice_do_not_exceed_the_arena() {
        let accounting =
            Accounting { arena_bytes: 100, free_bytes: 60, free_list_bytes: 30, ..Accounting::default() };
        assert_eq!(free_bytes(&accounting), 90);
        assert_eq!(free_bytes(&Accounting { reserved_bytes: 11, ..accounting }), 100);
    }
}

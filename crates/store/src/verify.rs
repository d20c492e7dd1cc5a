//! The check of a whole store.

use honeycomb_btree::Verified as VerifiedTrees;
use honeycomb_hashtable::Census;

use crate::directory::Entry;
use crate::error::Error;
use crate::store_state::StoreState;

/// Counts from a verification that found no violation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Pairs in all tables.
    pub pairs: u64,
    /// Leaves.
    pub leaves: u64,
    /// Interior nodes.
    pub interior_nodes: u64,
    /// Levels of the tallest tree; a single leaf counts as 1.
    pub height: u64,
    /// Log entries, including tombstones.
    pub log_entries: u64,
    /// Bytes of all keys.
    pub key_bytes: u64,
    /// Bytes of all values.
    pub value_bytes: u64,
    /// Overflow values.
    pub overflow_values: u64,
    /// Bytes of the leaves' buffers in use by headers, columns, items and log entries.
    pub leaf_bytes_used: u64,
    /// Leaves without a pair.
    pub empty_leaves: u64,
    /// Pairs in unordered tables.
    pub unordered_pairs: u64,
    /// Buckets of unordered tables, without chained ones.
    pub buckets: u64,
    /// Chained buckets of unordered tables.
    pub chained_buckets: u64,
}

/// Checks every table, and that every byte of the arena is in use by one of them. The caller has the only
/// handle.
pub(crate) fn verify(state: &StoreState) -> Result<Verified, Error> {
    while state.free_cleared(usize::MAX) {}
    let mut roots = state.deferred_drops().clone();
    let directory = state.directory.read();
    roots.extend(directory.values().filter_map(Entry::root));
    let (mut counts, mut value_bytes, mut page_bytes) = (Verified::default(), 0, 0);
    for entry in directory.values().filter_map(|entry| entry.unordered().ok()) {
        let violated = |rule: String| Error::Corrupt(format!("table `{}`: {rule}", entry.name));
        let census = entry.table.verify().map_err(violated)?;
        let statistics = entry.table.statistics();
        counts.add_unordered(&census, statistics.buckets);
        value_bytes += census.overflow_buffer_bytes;
        page_bytes += statistics.bucket_page_bytes + statistics.slabs.page_bytes;
    }
    let memory = state.forest.memory();
    let live = memory.accounting().live_table_page_bytes;
    if live != page_bytes {
        let rule = format!("{live} bytes of table pages are live, but the tables have {page_bytes}");
        return Err(Error::Corrupt(rule));
    }
    // No tree refers to the buffers of the reserve: the check would count them as lost.
    state.reserve.release(memory);
    let trees = state.forest.verify_beside(&roots, value_bytes);
    counts.add_trees(&trees.map_err(|violation| Error::Corrupt(violation.to_string()))?);
    Ok(counts)
}

impl Verified {
    fn add_unordered(&mut self, census: &Census, buckets: u64) {
        self.pairs += census.pairs;
        self.unordered_pairs += census.pairs;
        self.key_bytes += census.key_bytes;
        self.value_bytes += census.pair_bytes - census.key_bytes;
        self.overflow_values += census.overflow_pairs;
        self.buckets += buckets;
        self.chained_buckets += census.chained_buckets;
    }

    fn add_trees(&mut self, trees: &VerifiedTrees) {
        self.pairs += trees.pairs;
        self.leaves = trees.leaves;
        self.interior_nodes = trees.interior_nodes;
        self.height = trees.height;
        self.log_entries = trees.log_entries;
        self.key_bytes += trees.key_bytes;
        self.value_bytes += trees.value_bytes;
        self.overflow_values += trees.overflow_values;
        self.leaf_bytes_used = trees.leaf_bytes_used;
        self.empty_leaves = trees.empty_leaves;
    }
}

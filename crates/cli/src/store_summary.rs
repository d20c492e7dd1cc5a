//! The contents of a store and their memory.

use honeycomb_store::{Store, TableStatistics, Verified};
use serde::Serialize;

use crate::error::Error;
use crate::report::{ReportText, counted};

/// The contents of a store and their memory.
#[derive(Serialize)]
pub(crate) struct StoreSummary {
    tables: Vec<TableStatistics>,
    pairs: u64,
    /// The bytes of all keys and values.
    raw_bytes: u64,
    /// The bytes of nodes, overflow values, pages of unordered tables, retired memory and the page table.
    memory_bytes: u64,
    raw_bytes_per_pair: f64,
    memory_bytes_per_pair: f64,
    /// The number of levels of the highest tree.
    tree_height: u64,
    leaves: u64,
    interior_nodes: u64,
}

impl StoreSummary {
    /// Counts the contents of `store` and checks its invariants.
    ///
    /// # Errors
    /// `store` is not the only handle of the store, or an invariant is violated.
    pub(crate) fn new(store: &mut Store) -> Result<StoreSummary, Error> {
        let Verified { pairs, leaves, interior_nodes, height, key_bytes, value_bytes, .. } =
            store.verify()?;
        let statistics = store.statistics();
        let memory = statistics.memory;
        let of_trees = memory.node_bytes + memory.page_table_bytes;
        let memory_bytes =
            (of_trees + memory.table_page_bytes + memory.value_bytes + memory.retired_bytes) as u64;
        let raw_bytes = key_bytes + value_bytes;
        let per_pair = |bytes: u64| if pairs == 0 { 0.0 } else { bytes as f64 / pairs as f64 };
        Ok(StoreSummary {
            tables: statistics.tables,
            pairs,
            raw_bytes,
            memory_bytes,
            raw_bytes_per_pair: per_pair(raw_bytes),
            memory_bytes_per_pair: per_pair(memory_bytes),
            tree_height: height,
            leaves,
            interior_nodes,
        })
    }

    /// Writes the summary for people.
    pub(crate) fn write_text(&self, text: &mut ReportText) {
        text.line("in the store");
        text.count("pairs", self.pairs, "");
        for table in self.tables.iter().filter(|table| table.pairs > 0) {
            let kind = if table.unordered.is_some() { "unordered table" } else { "table" };
            text.count("", table.pairs, format_args!("in {kind} `{}`", table.name));
        }
        let per_pair = format!("{:.1} B per pair: keys and values", self.raw_bytes_per_pair);
        text.bytes("raw bytes", self.raw_bytes, per_pair);
        let ratio = match self.raw_bytes {
            0 => String::new(),
            raw_bytes => format!(", {:.2} times the raw bytes", self.memory_bytes as f64 / raw_bytes as f64),
        };
        text.bytes(
            "memory",
            self.memory_bytes,
            format_args!("{:.1} B per pair{ratio}", self.memory_bytes_per_pair),
        );
        let (leaves, interior_nodes) =
            (counted(self.leaves, "leaf node"), counted(self.interior_nodes, "interior node"));
        text.count("tree height", self.tree_height, format_args!("{leaves}, {interior_nodes}"));
    }
}

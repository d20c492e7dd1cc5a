//! What a store holds and what that costs.

use crate::{error::Error, output::Sheet, units};
use honeycomb_store::{Store, TableStatistics, Verified};
use serde::Serialize;

/// What a store holds and what that costs.
#[derive(Serialize)]
pub(crate) struct Summary {
    tables: Vec<TableStatistics>,
    pairs: u64,
    /// Bytes of all keys and values.
    raw_bytes: u64,
    /// Bytes of nodes, values out of line, what waits to be reclaimed, and page table.
    memory_bytes: u64,
    raw_bytes_per_pair: f64,
    memory_bytes_per_pair: f64,
    /// Levels of the highest tree.
    tree_height: u64,
    leaves: u64,
    interior_nodes: u64,
}

impl Summary {
    /// Counts what `store` holds, and checks its invariants on the way. It must be the store's only handle.
    ///
    /// # Errors
    /// There are other handles, or an invariant does not hold.
    pub(crate) fn of(store: &mut Store) -> Result<Summary, Error> {
        let Verified { pairs, leaves, interior_nodes, height, key_bytes, value_bytes, .. } =
            store.verify()?;
        let statistics = store.statistics();
        let memory = statistics.memory;
        let memory_bytes =
            (memory.node_bytes + memory.value_bytes + memory.retired_bytes + memory.page_table_bytes) as u64;
        let raw_bytes = key_bytes + value_bytes;
        let each = |bytes: u64| if pairs == 0 { 0.0 } else { bytes as f64 / pairs as f64 };
        Ok(Summary {
            tables: statistics.tables,
            pairs,
            raw_bytes,
            memory_bytes,
            raw_bytes_per_pair: each(raw_bytes),
            memory_bytes_per_pair: each(memory_bytes),
            tree_height: height,
            leaves,
            interior_nodes,
        })
    }

    /// Writes it for people.
    pub(crate) fn sheet(&self, sheet: &mut Sheet) {
        sheet.line("in the store");
        sheet.number("pairs", &units::count(self.pairs), "");
        for table in self.tables.iter().filter(|table| table.pairs > 0) {
            sheet.number("", &units::count(table.pairs), &format!("in table `{}`", table.name));
        }
        let each = format!("{:.1} B a pair: keys and values", self.raw_bytes_per_pair);
        sheet.number("raw bytes", &units::bytes(self.raw_bytes), &each);
        let times = match self.raw_bytes {
            0 => String::new(),
            raw_bytes => format!(", {:.2} times the raw bytes", self.memory_bytes as f64 / raw_bytes as f64),
        };
        let each = format!("{:.1} B a pair{times}", self.memory_bytes_per_pair);
        sheet.number("memory", &units::bytes(self.memory_bytes), &each);
        let leaves = match self.leaves {
            1 => "1 leaf".into(),
            leaves => format!("{} leaves", units::count(leaves)),
        };
        let interior_nodes = units::things(self.interior_nodes, "interior node");
        sheet.number("tree height", &self.tree_height.to_string(), &format!("{leaves}, {interior_nodes}"));
    }
}

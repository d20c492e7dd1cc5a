//! `honeycomb stats`: prints the contents of a store and their memory.

use honeycomb_store::Statistics;
use serde::Serialize;

use crate::arguments::StatsArguments;
use crate::error::Error;
use crate::report::{self, Report, ReportText, counted};
use crate::store_summary::StoreSummary;
use crate::{Status, image};

#[derive(Serialize)]
struct StatsResult {
    #[serde(flatten)]
    summary: StoreSummary,
    statistics: Statistics,
}

/// Runs the command.
///
/// # Errors
/// The store cannot be loaded.
pub(crate) fn run(arguments: &StatsArguments) -> Result<Status, Error> {
    let mut store = image::load(&arguments.image)?;
    let result = StatsResult { summary: StoreSummary::new(&mut store)?, statistics: store.statistics() };
    report::print(&result, arguments.json.json)?;
    Ok(Status::Success)
}

impl Report for StatsResult {
    fn write_text(&self, text: &mut ReportText) {
        self.summary.write_text(text);
        let memory = &self.statistics.memory;
        let mut bytes = |label, bytes, about: &str| text.bytes(label, bytes as u64, about);
        bytes("arena", memory.arena_bytes, "");
        bytes("free", memory.free_bytes, "in the arena");
        bytes("nodes", memory.node_bytes, &counted(memory.nodes as u64, "node"));
        bytes("values", memory.value_bytes, &counted(memory.values as u64, "overflow value"));
        bytes("table pages", memory.table_page_bytes, "buckets and slabs of unordered tables");
        bytes("retired", memory.retired_bytes, "replaced and not yet reclaimed");
        bytes("page table", memory.page_table_bytes, "in use");
        bytes("overhead", memory.overhead_bytes, "outside the arena");
        let writes = &self.statistics.writes;
        let about = "of log blocks since the store was created; the load of the image creates it";
        text.count("consolidations", writes.consolidations, about);
        text.count("splits", writes.leaf_splits + writes.interior_splits, "of leaves and interior nodes");
        text.count("retries", writes.retries, "of writes after a conflict with another write");
    }
}

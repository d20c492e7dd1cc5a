//! `honeycomb stats`: what a store holds and what it costs.

use crate::{
    Verdict,
    arguments::Stats,
    error::Error,
    image,
    output::{self, Report, Sheet},
    summary::Summary,
    units,
};
use honeycomb_store::Statistics;
use serde::Serialize;

#[derive(Serialize)]
struct StoreStats {
    #[serde(flatten)]
    summary: Summary,
    statistics: Statistics,
}

/// Runs the command.
///
/// # Errors
/// The store cannot be loaded.
pub(crate) fn run(arguments: &Stats) -> Result<Verdict, Error> {
    let mut store = image::open_image(&arguments.image)?;
    let report = StoreStats { summary: Summary::of(&mut store)?, statistics: store.statistics() };
    output::print(&report, arguments.json.json)?;
    Ok(Verdict::Good)
}

impl Report for StoreStats {
    fn sheet(&self, sheet: &mut Sheet) {
        self.summary.sheet(sheet);
        let memory = &self.statistics.memory;
        let mut bytes = |label, bytes, about: &str| sheet.number(label, &units::bytes(bytes as u64), about);
        bytes("arena", memory.arena_bytes, "");
        bytes("free", memory.free_bytes, "of the arena");
        bytes("nodes", memory.node_bytes, &units::things(memory.nodes as u64, "node"));
        bytes(
            "values",
            memory.value_bytes,
            &format!("{} out of line", units::things(memory.values as u64, "value")),
        );
        bytes("retired", memory.retired_bytes, "replaced, waiting to be reclaimed");
        bytes("page table", memory.page_table_bytes, "in use");
        bytes("overhead", memory.overhead_bytes, "beside the arena");
        let writes = &self.statistics.writes;
        let mut times = |label, times, about| sheet.number(label, &units::count(times), about);
        times(
            "consolidations",
            writes.consolidations,
            "log blocks consolidated since the store was created, here by the load",
        );
        times("splits", writes.leaf_splits + writes.interior_splits, "of leaves and interior nodes");
        times("restarts", writes.restarts, "writes that met another one");
    }
}

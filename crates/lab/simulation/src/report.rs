//! The report of a run, as text and as JSON.

use std::fmt;

use honeycomb_simulator::{CACHE_NODES, Simulator};
use honeycomb_workload::{Distribution, Sizes, Workload};
use serde::{Deserialize, Serialize};

use crate::measure::{Dataset, LineCounts, Measured, Traffic};

/// Bytes of a line.
const LINE: f64 = 64.0;

/// The report of a run. Counts are averages per operation, except for shares, rates, times, and fields that
/// name a unit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// Name of the platform.
    pub platform: String,
    /// Clock frequency.
    pub megahertz: f64,
    /// Key search units of this build.
    pub search_units: usize,
    /// Concurrent descents of all key search units.
    pub search_descents: usize,
    /// Range scan units of this build.
    pub scan_units: usize,
    /// Slots of all range scan units.
    pub scan_slots: usize,
    /// Whether the node cache is on.
    pub cache: bool,
    /// Capacity of the cache in nodes.
    pub cache_nodes: u64,
    /// Lines in flight, from on-board memory and from host memory, beyond which the load balancer sees a
    /// backlog. `None` if it is off.
    #[serde(default)]
    pub balance_lines: Option<[u16; 2]>,
    /// Levels of interior nodes on chip.
    pub levels_on_chip: u8,
    /// Whether columns of leaves are kept in on-board memory.
    #[serde(default)]
    pub leaf_columns: bool,
    /// The mix of operations.
    pub workload: Workload,
    /// The distribution of the pairs that they choose.
    pub distribution: Distribution,
    /// Pairs in the tree before the run.
    pub pairs: u64,
    /// Sizes of keys and values.
    pub sizes: Sizes,
    /// Bytes of a node.
    pub node_bytes: usize,
    /// Most bytes of a log block.
    pub log_bytes: usize,
    /// Whether writes have versions.
    pub mvcc: bool,
    /// Most operations in flight.
    pub operations_in_flight: usize,
    /// Number of measured operations.
    pub operations: usize,
    /// Their duration.
    pub cycles: u64,
    /// Throughput.
    pub million_operations_a_second: f64,
    /// Median latency in cycles.
    pub median: u64,
    /// 99th percentile of the latency in cycles.
    pub percentile_99: u64,
    /// Length of a cycle.
    pub nanoseconds_a_cycle: f64,
    /// Reads of host memory.
    pub host_reads: f64,
    /// Bytes read from host memory.
    pub host_bytes: f64,
    /// Bytes of packets from host memory, with their overhead.
    #[serde(default)]
    pub link_bytes: f64,
    /// Average number of reads of host memory in flight.
    pub host_reads_in_flight: f64,
    /// Average latency of a read of host memory.
    pub host_read_nanoseconds: f64,
    /// Bytes of interior nodes from on-board memory.
    pub cache_bytes: f64,
    /// Bytes of columns of leaves from on-board memory.
    #[serde(default)]
    pub column_bytes: f64,
    /// Bytes of interior nodes from the chip.
    pub chip_bytes: f64,
    /// Lines of the page table from on-board memory.
    pub page_table_reads: f64,
    /// Bursts of interior nodes that were in the cache.
    pub cache_hits: f64,
    /// Bursts of interior nodes that were not in the cache.
    pub cache_misses: f64,
    /// Bursts read from on-board memory.
    pub on_board_reads: f64,
    /// Lines read from on-board memory.
    pub on_board_lines: f64,
    /// Lines written to on-board memory: fills of the cache, and mappings.
    pub on_board_writes: f64,
    /// Rows of on-board memory that were activated.
    #[serde(default)]
    pub activations: f64,
    /// Rows of on-board memory that were closed because another row of their bank was needed.
    #[serde(default)]
    pub row_conflicts: f64,
    /// Turns of the channels of on-board memory between reads and writes.
    #[serde(default)]
    pub turns: f64,
    /// Share of time in which channels of on-board memory refresh.
    #[serde(default)]
    pub refreshing: f64,
    /// Searched interior nodes.
    pub nodes: f64,
    /// Steps to previous versions during descents.
    pub version_steps: f64,
    /// Average number of key search units that search a node.
    pub search_units_busy: f64,
    /// Average number of descents in progress.
    pub descents: f64,
    /// Average number of range scan units that work on a request.
    pub scan_units_busy: f64,
    /// Average number of requests in slots of range scan units.
    pub scan_requests: f64,
    /// Share of time in which links to host memory transfer packets.
    pub links_busy: f64,
    /// Share of time in which channels of on-board memory transfer lines.
    pub channels_busy: f64,
    /// Share of cycles in which host memory did not accept a read.
    pub host_stalls: f64,
    /// Writes, which the CPU executes.
    pub writes: f64,
    /// Mappings that writers sent.
    pub mappings: f64,
    /// Share of cycles with a register write in progress.
    pub control_busy: f64,
    /// Share of cycles in which the next request waited for register writes.
    pub requests_held: f64,
    /// Simulated cycles per second.
    pub simulated_cycles_a_second: f64,
}

/// Returns the name of a build in figures.
fn build_name(search_units: usize, scan_units: usize, scan_slots: usize) -> String {
    format!("{search_units} + {scan_units} units, {scan_slots} slots")
}

/// Returns the name of this build in figures.
pub(crate) fn this_build() -> String {
    let scan_slots = Simulator::SCAN_UNITS * Simulator::SCAN_SLOTS;
    build_name(Simulator::SEARCH_UNITS, Simulator::SCAN_UNITS, scan_slots)
}

impl Report {
    /// Returns the name of the build in figures.
    pub(crate) fn build(&self) -> String {
        build_name(self.search_units, self.scan_units, self.scan_slots)
    }

    /// Returns the report of a run.
    #[must_use]
    pub fn new(simulator: &Simulator, dataset: &Dataset, traffic: &Traffic, measured: &Measured) -> Self {
        let Simulator { platform, cache, balance, levels_on_chip, leaf_columns, .. } = *simulator;
        let Dataset { pairs, sizes, node_bytes, log_bytes, mvcc } = *dataset;
        let Measured { cycles, latencies, link, on_board, .. } = measured;
        let LineCounts { cache: cache_lines, columns, chip, page_table, hits, misses } = measured.lines;
        let (operations, time) = (latencies.len(), (cycles * platform.cycle) as f64);
        let each = |count: u64| count as f64 / operations as f64;
        let of_time = |count: u64| count as f64 / *cycles as f64;
        let of_channels = |busy: u64| busy as f64 / (time * platform.on_board.channels as f64);
        let latency = |part: f64| latencies[((operations as f64 - 1.0) * part) as usize];
        Self {
            platform: platform.name.into(),
            megahertz: platform.cycles_a_second() / 1e6,
            search_units: Simulator::SEARCH_UNITS,
            search_descents: Simulator::SEARCH_UNITS * Simulator::SEARCH_DESCENTS,
            scan_units: Simulator::SCAN_UNITS,
            scan_slots: Simulator::SCAN_UNITS * Simulator::SCAN_SLOTS,
            cache,
            cache_nodes: CACHE_NODES >> simulator.cache_halvings,
            balance_lines: balance.map(|bounds| [bounds.on_board_lines, bounds.host_lines]),
            levels_on_chip,
            leaf_columns,
            workload: traffic.workload,
            distribution: traffic.distribution,
            pairs,
            sizes,
            node_bytes,
            log_bytes,
            mvcc,
            operations_in_flight: traffic.in_flight,
            operations,
            cycles: *cycles,
            million_operations_a_second: operations as f64 * 1e6 / time,
            median: latency(0.5),
            percentile_99: latency(0.99),
            nanoseconds_a_cycle: platform.cycle as f64 / 1e3,
            host_reads: each(link.reads),
            host_bytes: each(link.bytes),
            link_bytes: each(link.bytes + link.packets * platform.link.overhead_bytes),
            host_reads_in_flight: link.in_flight as f64 / time,
            host_read_nanoseconds: link.in_flight as f64 / link.reads.max(1) as f64 / 1e3,
            cache_bytes: each(cache_lines) * LINE,
            column_bytes: each(columns) * LINE,
            chip_bytes: each(chip) * LINE,
            page_table_reads: each(page_table),
            cache_hits: each(hits),
            cache_misses: each(misses),
            on_board_reads: each(on_board.reads),
            on_board_lines: each(on_board.lines_read),
            on_board_writes: each(on_board.lines_written),
            activations: each(on_board.channels.activations),
            row_conflicts: each(on_board.channels.conflicts),
            turns: each(on_board.channels.turns),
            refreshing: of_channels(on_board.channels.refreshing),
            nodes: each(measured.nodes),
            version_steps: each(measured.version_steps),
            search_units_busy: of_time(measured.search_busy),
            descents: of_time(measured.descents),
            scan_units_busy: of_time(measured.scan_busy),
            scan_requests: of_time(measured.scan_requests),
            links_busy: link.busy as f64 / (time * platform.link.ports as f64),
            channels_busy: of_channels(on_board.channels.busy),
            host_stalls: of_time(measured.host_stalls),
            writes: each(measured.writes),
            mappings: each(measured.mappings),
            control_busy: of_time(measured.updates.busy),
            requests_held: of_time(measured.updates.held),
            simulated_cycles_a_second: *cycles as f64 / measured.seconds,
        }
    }

    /// Returns the share of cache lookups that were hits.
    #[must_use]
    pub fn hit_share(&self) -> f64 {
        self.cache_hits / (self.cache_hits + self.cache_misses).max(f64::MIN_POSITIVE)
    }

    /// Returns the time of some cycles.
    #[must_use]
    pub fn nanoseconds(&self, cycles: u64) -> f64 {
        cycles as f64 * self.nanoseconds_a_cycle
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head(f)?;
        let rate = self.million_operations_a_second;
        writeln!(f, "throughput    {rate:8.2} million operations a second")?;
        for (name, cycles) in [("median", self.median), ("99 %", self.percentile_99)] {
            writeln!(f, "{name:13} {cycles:8} cycles, {:.0} ns", self.nanoseconds(cycles))?;
        }
        self.memories(f)?;
        let Self { nodes, search_units, search_units_busy, search_descents, descents, .. } = self;
        writeln!(
            f,
            "searching     {nodes:8.2} interior nodes an operation, {search_units_busy:.2} of {search_units} \
             units busy, {descents:.2} of {search_descents} descents"
        )?;
        let Self { scan_units, scan_units_busy, scan_slots, scan_requests, .. } = self;
        writeln!(
            f,
            "scanning      {scan_units_busy:8.2} of {scan_units} units busy, {scan_requests:.2} requests in \
             {scan_slots} slots"
        )?;
        let (mappings, busy) = (self.mappings, 100.0 * self.control_busy);
        let held = 100.0 * self.requests_held;
        writeln!(
            f,
            "writing       {:8.2} writes and {mappings:.3} mappings an operation, registers {busy:.0} % \
             busy, requests waited for them {held:.0} % of the time",
            self.writes
        )?;
        writeln!(f, "simulated     {:8} cycles, {:.0} a second", self.cycles, self.simulated_cycles_a_second)
    }
}

impl Report {
    fn head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is = |on: bool| if on { "on" } else { "off" };
        let Self { platform, megahertz, workload, sizes, pairs, .. } = self;
        let (cache, balance, levels) =
            (is(self.cache), is(self.balance_lines.is_some()), self.levels_on_chip);
        let columns = is(self.leaf_columns);
        writeln!(
            f,
            "{platform}: {megahertz:.0} MHz; cache {cache}, load balancer {balance}, {levels} levels on \
             chip, leaf columns {columns}"
        )?;
        writeln!(f, "{workload}, {}: {pairs} pairs of {sizes}", self.distribution.name())
    }

    fn memories(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reads, bytes, busy) = (self.host_reads, self.host_bytes, 100.0 * self.links_busy);
        let (in_flight, time) = (self.host_reads_in_flight, self.host_read_nanoseconds);
        writeln!(
            f,
            "host memory   {reads:8.2} reads, {bytes:.0} bytes and {:.0} with overhead an operation, links \
             {busy:.0} % busy, {in_flight:.0} reads of {time:.0} ns in flight, stalled in {:.0} % of cycles",
            self.link_bytes,
            100.0 * self.host_stalls
        )?;
        let (hits, bytes) = (self.cache_hits, self.cache_bytes);
        let share = 100.0 * self.hit_share();
        writeln!(f, "cache         {hits:8.2} hits and {bytes:.0} bytes an operation, {share:.1} % hits")?;
        writeln!(f, "leaf columns  {:8.0} bytes an operation", self.column_bytes)?;
        writeln!(f, "on chip       {:8.0} bytes an operation", self.chip_bytes)?;
        writeln!(f, "page table    {:8.2} reads an operation", self.page_table_reads)?;
        let (writes, busy) = (self.on_board_writes, 100.0 * self.channels_busy);
        writeln!(f, "on-board      {writes:8.2} lines written an operation, channels {busy:.0} % busy")?;
        let Self { on_board_lines, activations, row_conflicts, turns, .. } = self;
        writeln!(
            f,
            "rows          {on_board_lines:8.2} lines, {activations:.2} activations, {row_conflicts:.2} \
             conflicts and {turns:.2} turns an operation, refreshing {:.1} % of the time",
            100.0 * self.refreshing
        )
    }
}

//! What a run came to, as text and as JSON.

use std::fmt;

use honeycomb_workload::{Distribution, Sizes, Workload};
use serde::{Deserialize, Serialize};

use crate::engine::{CACHE_NODES, Simulator, units};
use crate::measure::{Data, Lines, Measured, Traffic};

/// Bytes of a line.
const LINE: f64 = 64.0;

/// What a run came to. All but shares, rates, times and what names a unit is by operation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// The machine.
    pub platform: String,
    /// Its clock.
    pub megahertz: f64,
    /// Key search units, and range scan units, of this build.
    pub search_units: usize,
    /// Descents that they work on at a time, all of them together.
    pub search_descents: usize,
    /// See `search_units`.
    pub scan_units: usize,
    /// Requests that they have at a time, all of them together.
    pub scan_slots: usize,
    /// Whether it is on.
    pub cache: bool,
    /// Nodes that the cache has room for.
    pub cache_nodes: u64,
    /// Whether it is on.
    pub balance: bool,
    /// Whether it is on.
    pub root_on_chip: bool,
    /// What was asked.
    pub workload: Workload,
    /// Of which pairs.
    pub distribution: Distribution,
    /// Pairs of the tree, when it was grown.
    pub pairs: u64,
    /// How long they are.
    pub sizes: Sizes,
    /// Bytes of a node.
    pub node_bytes: usize,
    /// Bytes of a log block at most.
    pub log_bytes: usize,
    /// Whether writes have versions.
    pub mvcc: bool,
    /// At most.
    pub operations_in_flight: usize,
    /// How many were measured.
    pub operations: usize,
    /// How long that took.
    pub cycles: u64,
    /// Throughput.
    pub million_operations_a_second: f64,
    /// Of the latency, in cycles.
    pub median: u64,
    /// Of the latency, in cycles.
    pub percentile_99: u64,
    /// What a cycle takes.
    pub nanoseconds_a_cycle: f64,
    /// Reads of host memory.
    pub host_reads: f64,
    /// What they brought.
    pub host_bytes: f64,
    /// On their way at a time, on average.
    pub host_reads_in_flight: f64,
    /// How long one was on its way, on average.
    pub host_read_nanoseconds: f64,
    /// Bytes of interior nodes from on-board memory.
    pub cache_bytes: f64,
    /// Bytes of the root from the chip.
    pub root_bytes: f64,
    /// Lines of the page table from on-board memory.
    pub page_table_reads: f64,
    /// Pieces of interior nodes that were in the cache.
    pub cache_hits: f64,
    /// Those that were not.
    pub cache_misses: f64,
    /// Bursts that on-board memory read.
    pub on_board_reads: f64,
    /// Lines that it read.
    pub on_board_lines: f64,
    /// Lines written to it: fills of the cache, and mappings.
    pub on_board_writes: f64,
    /// Interior nodes that were searched.
    pub nodes: f64,
    /// Steps to previous versions on the way down.
    pub version_steps: f64,
    /// Key search units that search a node, on average.
    pub search_units_busy: f64,
    /// Descents that they work on, on average.
    pub descents: f64,
    /// Range scan units that work on a request, on average.
    pub scan_units_busy: f64,
    /// Requests that they have, on average.
    pub scan_requests: f64,
    /// Share of time that links to host memory move packets.
    pub links_busy: f64,
    /// Share of time that channels of on-board memory move lines.
    pub channels_busy: f64,
    /// Share of cycles in which host memory did not take a read.
    pub host_stalls: f64,
    /// Writes on the CPU.
    pub writes: f64,
    /// Mappings that they told.
    pub mappings: f64,
    /// Share of cycles in which a register was being written.
    pub control_busy: f64,
    /// Share of cycles in which the next request waited for that.
    pub requests_held: f64,
    /// Cycles that were simulated in a second.
    pub simulated_cycles_a_second: f64,
}

impl Report {
    /// The build that it is of, as figures name it.
    pub(crate) fn units(&self) -> String {
        units(self.search_units, self.scan_units, self.scan_slots)
    }

    /// The report of a run.
    #[must_use]
    pub fn new(simulator: &Simulator, data: &Data, traffic: &Traffic, measured: &Measured) -> Self {
        let Simulator { platform, cache, balance, root_on_chip, .. } = *simulator;
        let Data { pairs, sizes, node_bytes, log_bytes, mvcc } = *data;
        let Measured { cycles, latencies, link, on_board, .. } = measured;
        let Lines { cache: cache_lines, root, page_table, hits, misses } = measured.lines;
        let operations = latencies.len();
        let time = (cycles * platform.cycle) as f64;
        let each = |count: u64| count as f64 / operations as f64;
        let of_time = |count: u64| count as f64 / *cycles as f64;
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
            balance,
            root_on_chip,
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
            host_reads_in_flight: link.in_flight as f64 / time,
            host_read_nanoseconds: link.in_flight as f64 / link.reads.max(1) as f64 / 1e3,
            cache_bytes: each(cache_lines) * LINE,
            root_bytes: each(root) * LINE,
            page_table_reads: each(page_table),
            cache_hits: each(hits),
            cache_misses: each(misses),
            on_board_reads: each(on_board.reads),
            on_board_lines: each(on_board.lines_read),
            on_board_writes: each(on_board.lines_written),
            nodes: each(measured.nodes),
            version_steps: each(measured.version_steps),
            search_units_busy: of_time(measured.search_busy),
            descents: of_time(measured.descents),
            scan_units_busy: of_time(measured.scan_busy),
            scan_requests: of_time(measured.scan_requests),
            links_busy: link.busy as f64 / (time * platform.link.ports as f64),
            channels_busy: on_board.busy as f64 / (time * platform.on_board.channels as f64),
            host_stalls: of_time(measured.host_stalls),
            writes: each(measured.writes),
            mappings: each(measured.mappings),
            control_busy: of_time(measured.told.busy),
            requests_held: of_time(measured.told.held),
            simulated_cycles_a_second: *cycles as f64 / measured.seconds,
        }
    }

    /// Share of the pieces that were looked for in the cache that were there.
    #[must_use]
    pub fn hit_share(&self) -> f64 {
        self.cache_hits / (self.cache_hits + self.cache_misses).max(f64::MIN_POSITIVE)
    }

    /// The time of so many cycles.
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
        let (cache, balance, root) = (is(self.cache), is(self.balance), is(self.root_on_chip));
        writeln!(
            f,
            "{platform}: {megahertz:.0} MHz; cache {cache}, load balancer {balance}, root on chip {root}"
        )?;
        writeln!(f, "{workload}, {}: {pairs} pairs of {sizes}", self.distribution.name())
    }

    fn memories(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reads, bytes, busy) = (self.host_reads, self.host_bytes, 100.0 * self.links_busy);
        let (flying, time) = (self.host_reads_in_flight, self.host_read_nanoseconds);
        writeln!(
            f,
            "host memory   {reads:8.2} reads and {bytes:.0} bytes an operation, links {busy:.0} % busy, \
             {flying:.0} reads of {time:.0} ns in flight, none taken in {:.0} % of cycles",
            100.0 * self.host_stalls
        )?;
        let (hits, bytes) = (self.cache_hits, self.cache_bytes);
        let share = 100.0 * self.hit_share();
        writeln!(f, "cache         {hits:8.2} hits and {bytes:.0} bytes an operation, {share:.1} % hits")?;
        writeln!(f, "root on chip  {:8.0} bytes an operation", self.root_bytes)?;
        writeln!(f, "page table    {:8.2} reads an operation", self.page_table_reads)?;
        let (writes, busy) = (self.on_board_writes, 100.0 * self.channels_busy);
        writeln!(f, "on-board      {writes:8.2} lines written an operation, channels {busy:.0} % busy")
    }
}

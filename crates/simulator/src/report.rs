//! What a run came to, as text and as JSON.

use std::fmt;

use honeycomb_simulator::Simulator;
use honeycomb_simulator::measure::{Lines, Measured};
use serde::Serialize;

/// Bytes of a line.
const LINE: f64 = 64.0;

/// What a run came to. All but shares and what names a unit is by request.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    platform: &'static str,
    megahertz: f64,
    cache: bool,
    balance: bool,
    root_on_chip: bool,
    requests: usize,
    cycles: u64,
    million_requests_a_second: f64,
    /// In cycles.
    median: u64,
    percentile_99: u64,
    nanoseconds_a_cycle: f64,
    host_reads: f64,
    host_bytes: f64,
    cache_bytes: f64,
    root_bytes: f64,
    page_table_reads: f64,
    /// Pieces of interior nodes that were in the cache, and that were not.
    cache_hits: f64,
    cache_misses: f64,
    /// Lines written to on-board memory: fills of the cache.
    on_board_writes: f64,
    nodes: f64,
    search_units_busy: f64,
    scan_units_busy: f64,
    /// Shares of time, of all links and channels.
    links_busy: f64,
    channels_busy: f64,
    /// Share of cycles in which host memory did not take a read.
    host_stalls: f64,
}

impl Report {
    pub(crate) fn new(simulator: &Simulator, measured: &Measured) -> Self {
        let Simulator { platform, cache, balance, root_on_chip, .. } = *simulator;
        let Measured { cycles, latencies, link, on_board, nodes, search_busy, scan_busy, .. } = measured;
        let Lines { cache: cache_lines, root, page_table, hits, misses } = measured.lines;
        let requests = latencies.len();
        let time = (cycles * platform.cycle) as f64;
        let each = |count: u64| count as f64 / requests as f64;
        let latency = |part: f64| latencies[((requests as f64 - 1.0) * part) as usize];
        Self {
            platform: platform.name,
            megahertz: platform.cycles_a_second() / 1e6,
            cache,
            balance,
            root_on_chip,
            requests,
            cycles: *cycles,
            million_requests_a_second: requests as f64 * 1e6 / time,
            median: latency(0.5),
            percentile_99: latency(0.99),
            nanoseconds_a_cycle: platform.cycle as f64 / 1e3,
            host_reads: each(link.reads),
            host_bytes: each(link.bytes),
            cache_bytes: each(cache_lines) * LINE,
            root_bytes: each(root) * LINE,
            page_table_reads: each(page_table),
            cache_hits: each(hits),
            cache_misses: each(misses),
            on_board_writes: each(on_board.lines_written),
            nodes: each(*nodes),
            search_units_busy: *search_busy as f64 / *cycles as f64,
            scan_units_busy: *scan_busy as f64 / *cycles as f64,
            links_busy: link.busy as f64 / (time * platform.link.ports as f64),
            channels_busy: on_board.busy as f64 / (time * platform.on_board.channels as f64),
            host_stalls: measured.host_stalls as f64 / *cycles as f64,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is = |on: bool| if on { "on" } else { "off" };
        writeln!(
            f,
            "{}: {:.0} MHz; cache {}, load balancer {}, root on chip {}",
            self.platform,
            self.megahertz,
            is(self.cache),
            is(self.balance),
            is(self.root_on_chip),
        )?;
        writeln!(f, "throughput    {:8.2} million requests a second", self.million_requests_a_second)?;
        for (name, cycles) in [("median", self.median), ("99 %", self.percentile_99)] {
            writeln!(f, "{name:13} {cycles:8} cycles, {:.0} ns", cycles as f64 * self.nanoseconds_a_cycle)?;
        }
        let busy = 100.0 * self.links_busy;
        let (reads, bytes) = (self.host_reads, self.host_bytes);
        writeln!(
            f,
            "host memory   {reads:8.2} reads and {bytes:.0} bytes a request, links {busy:.0} % busy"
        )?;
        let (hits, bytes) = (self.cache_hits, self.cache_bytes);
        let share = 100.0 * hits / (hits + self.cache_misses).max(f64::MIN_POSITIVE);
        writeln!(f, "cache         {hits:8.2} hits and {bytes:.0} bytes a request, {share:.1} % hits")?;
        let (root, lookups) = (self.root_bytes, self.page_table_reads);
        writeln!(f, "root on chip  {root:8.0} bytes a request")?;
        writeln!(f, "page table    {lookups:8.2} reads a request")?;
        let (writes, busy) = (self.on_board_writes, 100.0 * self.channels_busy);
        writeln!(f, "on-board      {writes:8.2} lines written a request, channels {busy:.0} % busy")?;
        let (nodes, busy) = (self.nodes, self.search_units_busy);
        writeln!(f, "searching     {nodes:8.2} interior nodes a request, {busy:.2} units busy")?;
        writeln!(f, "scanning      {:8.2} units busy", self.scan_units_busy)?;
        writeln!(f, "host memory did not take a read in {:.0} % of cycles", 100.0 * self.host_stalls)
    }
}

//! What all seeds come to, with a line of progress now and then.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use honeycomb_btree::Statistics;

/// Between two lines of progress.
const QUIET: Duration = Duration::from_secs(60);

pub(crate) struct Totals {
    wanted: u64,
    begun: Instant,
    told: Mutex<Instant>,
    requests: AtomicU64,
    mismatches: AtomicU64,
    writes: AtomicU64,
    seeds: AtomicU64,
    /// Merges of logs, splits and joins of nodes, steps to previous versions that the software has made.
    changes: [AtomicU64; 4],
}

impl Totals {
    pub(crate) fn new(wanted: u64) -> Self {
        let begun = Instant::now();
        let [requests, mismatches, writes, seeds] = [const { AtomicU64::new(0) }; 4];
        let told = Mutex::new(begun);
        Self { wanted, begun, told, requests, mismatches, writes, seeds, changes: Default::default() }
    }

    /// Counts requests whose answers were compared.
    pub(crate) fn asked(&self, requests: u64, mismatches: u64) {
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.mismatches.fetch_add(mismatches, Ordering::Relaxed);
        let Ok(mut told) = self.told.lock() else { return };
        if told.elapsed() > QUIET {
            *told = Instant::now();
            println!("{} requests wanted, so far {self}", self.wanted);
        }
    }

    pub(crate) fn wrote(&self) {
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_seed(&self, statistics: &Statistics) {
        let Statistics { consolidations: merges, leaf_splits, interior_splits, .. } = *statistics;
        let joins = statistics.leaf_merges + statistics.interior_merges;
        let changes = [merges, leaf_splits + interior_splits, joins, statistics.version_chain_steps];
        self.seeds.fetch_add(1, Ordering::Relaxed);
        for (total, change) in self.changes.iter().zip(changes) {
            total.fetch_add(change, Ordering::Relaxed);
        }
    }

    pub(crate) fn mismatches(&self) -> u64 {
        self.mismatches.load(Ordering::Relaxed)
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let seconds = self.begun.elapsed().as_secs_f64();
        let (requests, cycles) = (get(&self.requests), honeycomb_simulator::cycles_simulated());
        let [merges, splits, joins, steps] = self.changes.each_ref().map(get);
        write!(f, "{requests} requests, {} mismatches, {} writes; ", self.mismatches(), get(&self.writes))?;
        write!(f, "{seconds:.0} s, {:.0} requests a second; ", requests as f64 / seconds)?;
        write!(f, "{} seeds ended: {cycles} cycles, {merges} merges of logs, ", get(&self.seeds))?;
        write!(f, "{splits} splits and {joins} joins of nodes, {steps} steps to previous versions")
    }
}

//! The counts of all seeds, and a line of progress every minute.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use honeycomb_btree::Statistics;

/// Time between two lines of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(60);

pub(crate) struct Totals {
    target: u64,
    start: Instant,
    last_progress: Mutex<Instant>,
    requests: AtomicU64,
    mismatches: AtomicU64,
    writes: AtomicU64,
    seeds: AtomicU64,
    /// Consolidations of log blocks, splits and merges of nodes, and steps of the software accelerator to
    /// previous versions.
    changes: [AtomicU64; 4],
}

impl Totals {
    pub(crate) fn new(target: u64) -> Self {
        let start = Instant::now();
        let [requests, mismatches, writes, seeds] = [const { AtomicU64::new(0) }; 4];
        let last_progress = Mutex::new(start);
        Self {
            target,
            start,
            last_progress,
            requests,
            mismatches,
            writes,
            seeds,
            changes: Default::default(),
        }
    }

    /// Counts requests whose results were compared.
    pub(crate) fn compared(&self, requests: u64, mismatches: u64) {
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.mismatches.fetch_add(mismatches, Ordering::Relaxed);
        let Ok(mut last) = self.last_progress.lock() else { return };
        if last.elapsed() > PROGRESS_INTERVAL {
            *last = Instant::now();
            println!("of {} requests: {self}", self.target);
        }
    }

    pub(crate) fn wrote(&self) {
        self.writes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_seed(&self, statistics: &Statistics) {
        let Statistics { consolidations, leaf_splits, interior_splits, .. } = *statistics;
        let merges = statistics.leaf_merges + statistics.interior_merges;
        let changes = [consolidations, leaf_splits + interior_splits, merges, statistics.version_chain_steps];
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
        let seconds = self.start.elapsed().as_secs_f64();
        let (requests, cycles) = (get(&self.requests), honeycomb_simulator::cycles_simulated());
        let [consolidations, splits, merges, steps] = self.changes.each_ref().map(get);
        write!(f, "{requests} requests, {} mismatches, {} writes; ", self.mismatches(), get(&self.writes))?;
        write!(f, "{seconds:.0} s, {:.0} requests a second; ", requests as f64 / seconds)?;
        write!(f, "{} seeds ended: {cycles} cycles, {consolidations} consolidations, ", get(&self.seeds))?;
        write!(f, "{splits} splits and {merges} merges of nodes, {steps} steps to previous versions")
    }
}

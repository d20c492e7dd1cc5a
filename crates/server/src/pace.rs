//! The rate of commands and the peak of used memory, updated periodically.

use honeycomb_memory::sync::{AtomicU64, AtomicUsize, Ordering};

/// Milliseconds between two updates.
const INTERVAL: u64 = 1000;

/// The measurements of the first core. Only this core writes them, except for the peak.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Time of the last update in milliseconds since 1970, and the number of commands executed by then.
    looked_at: AtomicU64,
    executed: AtomicU64,
    commands_a_second: AtomicU64,
    peak: AtomicUsize,
}

impl Pace {
    /// Returns the commands per second between the last two updates.
    pub(crate) fn commands(&self) -> u64 {
        self.commands_a_second.load(Ordering::Relaxed)
    }

    /// Returns the maximum of used bytes, including the current number.
    pub(crate) fn peak(&self, used: usize) -> usize {
        self.peak.fetch_max(used, Ordering::Relaxed).max(used)
    }

    /// Updates the rate and the peak once per interval. `measure` returns the number of executed commands and
    /// the bytes in use.
    pub(crate) fn step(&self, now: u64, measure: impl FnOnce() -> (u64, usize)) {
        let last = self.looked_at.load(Ordering::Relaxed);
        let passed = now.saturating_sub(last);
        if passed < INTERVAL {
            return;
        }
        let (all, used_bytes) = measure();
        let more = all.saturating_sub(self.executed.load(Ordering::Relaxed));
        self.looked_at.store(now, Ordering::Relaxed);
        self.executed.store(all, Ordering::Relaxed);
        self.commands_a_second.store(more * 1000 / passed, Ordering::Relaxed);
        self.peak(used_bytes);
    }
}

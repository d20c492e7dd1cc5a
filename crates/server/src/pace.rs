//! How many commands are carried out a second, and the most memory that was used: looked at now and then.

use honeycomb_memory::sync::{AtomicU64, AtomicUsize, Ordering};

/// Milliseconds between two looks.
const INTERVAL: u64 = 1000;

/// What the first core has seen. Only that core writes, but for the peak.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Of the last look: when, in milliseconds since 1970, and how many commands had been carried out.
    looked_at: AtomicU64,
    executed: AtomicU64,
    commands_a_second: AtomicU64,
    peak: AtomicUsize,
}

impl Pace {
    /// Commands a second, between the last two looks.
    pub(crate) fn commands(&self) -> u64 {
        self.commands_a_second.load(Ordering::Relaxed)
    }

    /// The most bytes that were used, so many now included.
    pub(crate) fn peak(&self, used: usize) -> usize {
        self.peak.fetch_max(used, Ordering::Relaxed).max(used)
    }

    /// Updates the rate and the peak once per interval. `measure` returns the number of executed commands and the
    /// bytes in use.
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

//! `CLIENT PAUSE`: commands wait until a time.

use honeycomb_memory::sync::{AtomicBool, AtomicU64, Ordering};

/// Whose commands wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paused {
    /// Those that write.
    Writes,
    /// All.
    All,
}

/// Until when commands wait, of all cores.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    /// Milliseconds since 1970.
    until: AtomicU64,
    all: AtomicBool,
}

impl Pause {
    /// Has commands wait. A pause that is longer or stricter stays so, as in Redis.
    pub(crate) fn begin(&self, paused: Paused, until: u64) {
        self.until.fetch_max(until, Ordering::Relaxed);
        self.all.fetch_or(paused == Paused::All, Ordering::Relaxed);
    }

    /// Has none wait any more.
    pub(crate) fn end(&self) {
        self.until.store(0, Ordering::Relaxed);
        self.all.store(false, Ordering::Relaxed);
    }

    /// What waits now.
    #[inline]
    pub(crate) fn at(&self, now: u64) -> Option<Paused> {
        let until = self.until.load(Ordering::Relaxed);
        if until == 0 {
            return None;
        }
        if until <= now {
            // The next pause begins anew.
            self.end();
            return None;
        }
        Some(if self.all.load(Ordering::Relaxed) { Paused::All } else { Paused::Writes })
    }
}

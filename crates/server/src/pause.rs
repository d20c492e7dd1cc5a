//! `CLIENT PAUSE`: commands wait until a point in time.

use honeycomb_memory::sync::{AtomicBool, AtomicU64, Ordering};

/// The commands that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paused {
    /// Commands that write.
    Writes,
    /// All commands.
    All,
}

/// The pause of all cores.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    /// The end of the pause in milliseconds since 1970.
    until: AtomicU64,
    all: AtomicBool,
}

impl Pause {
    /// Begins a pause. As in Redis, it does not shorten or weaken a pause in progress.
    pub(crate) fn begin(&self, paused: Paused, until: u64) {
        self.until.fetch_max(until, Ordering::Relaxed);
        self.all.fetch_or(paused == Paused::All, Ordering::Relaxed);
    }

    /// Ends the pause.
    pub(crate) fn end(&self) {
        self.until.store(0, Ordering::Relaxed);
        self.all.store(false, Ordering::Relaxed);
    }

    /// Returns the commands that wait at a time.
    #[inline]
    pub(crate) fn at(&self, now: u64) -> Option<Paused> {
        let until = self.until.load(Ordering::Relaxed);
        if until == 0 {
            return None;
        }
        if until <= now {
            // The next pause is independent of this one.
            self.end();
            return None;
        }
        Some(if self.all.load(Ordering::Relaxed) { Paused::All } else { Paused::Writes })
    }
}

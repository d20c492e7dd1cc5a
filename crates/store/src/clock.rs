//! Time, handed in: a store asks its clock, so tests need not sleep.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use honeycomb_memory::sync::{AtomicU64, Ordering};

/// What leases are timed by.
pub trait Clock: Debug + Send + Sync {
    /// Time since some moment that stays the same; never less than at an earlier call.
    fn now(&self) -> Duration;
}

/// The clock of the operating system; it counts from when it was made.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A clock for tests: it stands still until it is advanced.
///
/// ```
/// use honeycomb_store::{Clock, ManualClock};
/// use std::time::Duration;
///
/// let clock = ManualClock::default();
/// clock.advance(Duration::from_secs(3));
/// assert_eq!(clock.now(), Duration::from_secs(3));
/// ```
#[derive(Debug, Default)]
pub struct ManualClock {
    nanoseconds: AtomicU64,
}

impl ManualClock {
    /// Moves the clock forward, by at most about 584 years in all.
    pub fn advance(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // Relaxed: the time is the only thing it tells.
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}

//! Clocks for leases. A store reads the time only through its clock, so tests need not sleep.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use honeycomb_memory::sync::{AtomicU64, Ordering};

/// A source of time for leases.
pub trait Clock: Debug + Send + Sync {
    /// Returns the time since a fixed moment. Never less than an earlier call returned.
    fn now(&self) -> Duration;
}

/// The monotonic clock of the operating system. It starts when it is created.
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

/// A clock for tests: its time changes only through [`ManualClock::advance`].
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
    /// Advances the clock. The sum of all advances is at most about 584 years.
    pub fn advance(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // Relaxed: no other data depends on the time.
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}

//! Clocks for leases and for the log. A store reads the time only through its clock, so tests need not sleep.

use std::fmt::Debug;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use honeycomb_memory::sync::{AtomicU64, Ordering};

/// A source of time.
pub trait Clock: Debug + Send + Sync {
    /// Returns the time since a fixed moment. Never less than an earlier call returned.
    fn now(&self) -> Duration;

    /// Returns the time since 1970 in milliseconds, which the log of a durable store states. Unlike
    /// [`Clock::now`] it may go back. The default is [`Clock::now`].
    fn milliseconds(&self) -> u64 {
        u64::try_from(self.now().as_millis()).unwrap_or(u64::MAX)
    }
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

    fn milliseconds(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
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

//! The clock of the server, which tests replace.

use std::fmt::Debug;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// A source of time for expiry, timeouts and durations.
pub trait Time: Debug + Send + Sync {
    /// Returns the milliseconds since the beginning of 1970.
    fn milliseconds(&self) -> u64;

    /// Returns the microseconds since the beginning of 1970, for display but not for expiry.
    fn microseconds(&self) -> u64 {
        self.milliseconds().saturating_mul(1000)
    }

    /// Returns an instant for the measurement of durations.
    fn instant(&self) -> Instant {
        Instant::now()
    }
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemTime;

impl Time for SystemTime {
    fn milliseconds(&self) -> u64 {
        u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX)
    }

    fn microseconds(&self) -> u64 {
        u64::try_from(since_1970().as_micros()).unwrap_or(u64::MAX)
    }
}

fn since_1970() -> Duration {
    std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO)
}

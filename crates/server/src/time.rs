//! Time of day, handed in: tests set it.

use std::fmt::Debug;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// What expiry, silence and durations are measured by.
pub trait Time: Debug + Send + Sync {
    /// Milliseconds since the beginning of 1970.
    fn milliseconds(&self) -> u64;

    /// Microseconds since the beginning of 1970: for people, not for expiry.
    fn microseconds(&self) -> u64 {
        self.milliseconds().saturating_mul(1000)
    }

    /// What durations are measured by.
    fn instant(&self) -> Instant {
        Instant::now()
    }
}

/// The time of day of the operating system.
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

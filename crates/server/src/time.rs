//! Time of day, handed in: tests set it.

use std::fmt::Debug;
use std::time::{Duration, UNIX_EPOCH};

/// What expiry is measured by.
pub trait Time: Debug + Send + Sync {
    /// Milliseconds since the beginning of 1970.
    fn milliseconds(&self) -> u64;
}

/// The time of day of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemTime;

impl Time for SystemTime {
    fn milliseconds(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

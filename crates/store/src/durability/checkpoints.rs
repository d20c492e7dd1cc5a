//! The state of the checkpoints of a store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use honeycomb_btree::Version;
use honeycomb_log::{Manifest, Storage};
use honeycomb_memory::sync::{AtomicBool, AtomicU64};

use crate::config::LeaseLimits;

/// The share of the memory that a checkpoint may pin: a tenth.
const PINNED_SHARE: u64 = 10;
/// The pause after a failed checkpoint.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// A completed checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checkpoint {
    /// The version of its pairs.
    pub version: Version,
    /// The number of its pairs.
    pub pairs: u64,
}

/// The checkpoints of a store.
pub(crate) struct Checkpoints {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) lease: LeaseLimits,
    /// One checkpoint at a time.
    pub(super) current: Mutex<Current>,
    pub(crate) version: AtomicU64,
    /// The bytes and records of the log when the last checkpoint began, and the time of its end.
    pub(crate) log_bytes: AtomicU64,
    pub(crate) log_records: AtomicU64,
    pub(super) ended_at: Mutex<Duration>,
    /// The time of the end of the last checkpoint that did not fail, or of the open.
    pub(super) succeeded_at: Mutex<Duration>,
    pub(crate) is_running: AtomicBool,
    pub(crate) begun: AtomicU64,
    pub(crate) completed: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(super) error: Mutex<Option<String>>,
}

pub(super) struct Current {
    pub(super) manifest: Manifest,
    /// The number of the next checkpoint. Each attempt has its own, because a failed swap of the manifest may
    /// have happened.
    pub(super) next: u64,
}

impl Checkpoints {
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        manifest: Manifest,
        memory_bytes: usize,
        now: Duration,
    ) -> Self {
        let bytes = memory_bytes as u64 / PINNED_SHARE;
        Self {
            storage,
            lease: LeaseLimits { bytes, ..LeaseLimits::default() },
            version: AtomicU64::new(manifest.version),
            current: Mutex::new(Current { manifest, next: manifest.checkpoint + 1 }),
            log_bytes: AtomicU64::new(0),
            log_records: AtomicU64::new(0),
            ended_at: Mutex::new(now),
            succeeded_at: Mutex::new(now),
            is_running: AtomicBool::new(false),
            begun: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            error: Mutex::default(),
        }
    }

    /// The error of the last checkpoint, if it failed.
    pub(crate) fn error(&self) -> Option<String> {
        lock(&self.error).clone()
    }

    /// The time of the end of the last checkpoint that did not fail, or of the open.
    pub(crate) fn succeeded_at(&self) -> Duration {
        *lock(&self.succeeded_at)
    }

    /// The time of the end of the last checkpoint.
    pub(crate) fn ended_at(&self) -> Duration {
        *lock(&self.ended_at)
    }

    /// The time that must pass before the next checkpoint that nobody has requested.
    pub(crate) fn pause(&self) -> Duration {
        if lock(&self.error).is_some() { FAILURE_PAUSE } else { Duration::ZERO }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The state of the checkpoints of a store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use honeycomb_btree::{Forest, Version};
use honeycomb_log::{Manifest, Storage};
use honeycomb_memory::sync::{AtomicBool, AtomicU64};

use super::archiver::Archiver;
use super::checkpointer::Checkpointer;
use super::config::DurabilityConfig;
use super::log_state::LogState;
use super::statistics::LogPosition;
use crate::config::LeaseLimits;
use crate::directory::Directory;
use crate::error::Error;
use crate::lease::Leases;

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
    pub(super) source: Source,
    pub(super) archiver: Option<Archiver>,
    pub(crate) requests: Checkpointer,
    pub(super) lease: LeaseLimits,
    /// One checkpoint at a time.
    pub(super) current: Mutex<Current>,
    /// The manifest of the newest checkpoint. Locked for a moment.
    pub(super) manifest: Mutex<Manifest>,
    pub(crate) version: AtomicU64,
    /// The end of the log when the last checkpoint began, and the time of its end.
    pub(super) begun_at: Mutex<LogPosition>,
    pub(super) ended_at: Mutex<Duration>,
    /// A moment, and the age of the last checkpoint that did not fail at that moment. Without a checkpoint
    /// its age is that of the open store.
    pub(super) age_at: Mutex<(Duration, Duration)>,
    pub(crate) is_running: AtomicBool,
    pub(crate) begun: AtomicU64,
    /// Locked for a moment.
    pub(super) outcomes: Mutex<Outcomes>,
}

/// The outcomes of the checkpoints since the store was opened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outcomes {
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    /// The number of the newest one that did not fail, counted in the order of their begins; 0: there is
    /// none.
    pub(crate) newest: u64,
    /// The error of the last one, if it failed.
    pub(crate) error: Option<String>,
}

impl Outcomes {
    /// Adds the outcome of the checkpoint with a number.
    pub(super) fn add(&mut self, number: u64, outcome: &Result<Checkpoint, Error>) {
        self.error = outcome.as_ref().err().map(ToString::to_string);
        if outcome.is_ok() {
            self.completed += 1;
            self.newest = number;
        } else {
            self.failed += 1;
        }
    }
}

/// The parts of a store that checkpoints read. Their thread has no handle to the store, so the drop of the
/// last one can wait for the thread.
pub(crate) struct Source {
    pub(super) forest: Arc<Forest>,
    pub(super) directory: Arc<Directory>,
    pub(super) leases: Arc<Leases>,
    pub(super) log: Arc<LogState>,
}

pub(super) struct Current {
    /// The number of the next checkpoint. Each attempt has its own, because a failed swap of the manifest may
    /// have happened.
    pub(super) next: u64,
}

impl Checkpoints {
    pub(crate) fn new(
        config: &DurabilityConfig,
        source: Source,
        (manifest, age): (Manifest, Duration),
        memory_bytes: usize,
    ) -> Self {
        let bytes = memory_bytes as u64 / PINNED_SHARE;
        let now = source.leases.now();
        let archive = config.archive.clone();
        Self {
            storage: config.storage.clone(),
            source,
            archiver: archive.map(|archive| Archiver::new(config.storage.clone(), archive)),
            requests: Checkpointer::new(config),
            lease: LeaseLimits { bytes, ..LeaseLimits::default() },
            version: AtomicU64::new(manifest.version),
            current: Mutex::new(Current { next: manifest.checkpoint + 1 }),
            manifest: Mutex::new(manifest),
            begun_at: Mutex::default(),
            ended_at: Mutex::new(now),
            age_at: Mutex::new((now, age)),
            is_running: AtomicBool::new(false),
            begun: AtomicU64::new(0),
            outcomes: Mutex::default(),
        }
    }

    /// The growth of the log since the last checkpoint began.
    pub(crate) fn growth(&self) -> LogPosition {
        // The end is read second. Otherwise a checkpoint that begins and ends meanwhile begins after it.
        let begun_at = *lock(&self.begun_at);
        self.source.log.counters.position().since(begun_at)
    }

    pub(crate) fn outcomes(&self) -> Outcomes {
        lock(&self.outcomes).clone()
    }

    /// The time since the end of the last checkpoint that did not fail, or since the open if there is none.
    pub(crate) fn age(&self) -> Duration {
        let (moment, age) = *lock(&self.age_at);
        self.source.leases.now().saturating_sub(moment) + age
    }

    /// The time of the end of the last checkpoint.
    pub(crate) fn ended_at(&self) -> Duration {
        *lock(&self.ended_at)
    }

    /// The time that must pass before the next checkpoint that nobody has requested.
    pub(crate) fn pause(&self) -> Duration {
        if lock(&self.outcomes).error.is_some() { FAILURE_PAUSE } else { Duration::ZERO }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

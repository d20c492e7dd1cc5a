//! Requests to the thread that writes checkpoints.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use honeycomb_layout::WAL_BLOCK_BYTES;
use honeycomb_memory::sync::{AtomicBool, Ordering};

use super::config::DurabilityConfig;

/// The time between two checks of the conditions.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(200);

pub(crate) struct Checkpointer {
    pub(super) log_bytes: u64,
    /// The bytes of records that a log file has room for.
    pub(super) file_room: u64,
    /// The interval, if there is one; it can change.
    pub(super) interval: Mutex<Option<Duration>>,
    is_requested: Mutex<bool>,
    changed: Condvar,
    is_stopping: AtomicBool,
    /// Held while the thread reads the store, so that [`Checkpointer::pause`] can wait for it.
    pub(super) in_use: Mutex<()>,
}

/// Log files that may be nearly empty before a checkpoint is due. Each start of a store begins one.
pub(super) const SHORT_FILES_MAX: u64 = 8;

impl Checkpointer {
    pub(crate) fn new(config: &DurabilityConfig) -> Self {
        Self {
            log_bytes: config.checkpoint_log_bytes,
            file_room: config.log_file_bytes - WAL_BLOCK_BYTES as u64,
            interval: Mutex::new(config.checkpoint_interval),
            is_requested: Mutex::default(),
            changed: Condvar::new(),
            is_stopping: AtomicBool::new(false),
            in_use: Mutex::default(),
        }
    }

    pub(crate) fn set_interval(&self, interval: Option<Duration>) {
        *lock(&self.interval) = interval;
    }

    /// Requests a checkpoint.
    pub(crate) fn request(&self) {
        *lock(&self.is_requested) = true;
        self.changed.notify_all();
    }

    /// Keeps the thread from using the store while the guard exists.
    pub(crate) fn pause(&self) -> MutexGuard<'_, ()> {
        lock(&self.in_use)
    }

    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
        self.changed.notify_all();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Waits for a request or the next check, and returns whether there was a request.
    pub(super) fn wait(&self) -> bool {
        let is_requested = lock(&self.is_requested);
        let ready = |is_requested: &mut bool| !*is_requested && !self.is_stopping();
        let waited = self.changed.wait_timeout_while(is_requested, CHECK_INTERVAL, ready);
        let (mut is_requested, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *is_requested)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

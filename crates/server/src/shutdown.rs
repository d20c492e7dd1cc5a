//! `SHUTDOWN SAVE`: requests the program to stop the server after a checkpoint. Clients are served meanwhile.
//!
//! The background thread polls the checkpoint for the client, which gets an error if it fails. A core polls
//! it as well, so the server also stops if the client has disconnected. The first one that sees the end of
//! the checkpoint records the outcome, under the lock of the wait.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_memory::sync::{AtomicBool, Ordering};
use honeycomb_store::Store;

use crate::awaited_checkpoint::AwaitedCheckpoint;
use crate::embedder;
use crate::failure::Failure;

/// The wait of a server for the checkpoint before its end, if there is one.
#[derive(Debug, Default)]
pub(crate) struct PendingShutdown {
    wait: Mutex<Option<Arc<SavingShutdown>>>,
    /// Whether a wait exists. Relaxed: an old value only causes a delay.
    exists: AtomicBool,
}

/// A shutdown that waits for a checkpoint.
#[derive(Debug)]
pub(crate) struct SavingShutdown {
    checkpoint: AwaitedCheckpoint,
    outcome: Mutex<Option<Result<(), Failure>>>,
}

impl PendingShutdown {
    /// Begins to wait for a new checkpoint, or joins the wait that exists.
    pub(crate) fn begin(&self, store: &Store) -> Result<Arc<SavingShutdown>, Failure> {
        let mut wait = self.lock();
        if let Some(wait) = &*wait {
            return Ok(wait.clone());
        }
        let checkpoint = AwaitedCheckpoint::request(store)?;
        let new = Arc::new(SavingShutdown { checkpoint, outcome: Mutex::default() });
        *wait = Some(new.clone());
        self.exists.store(true, Ordering::Relaxed);
        Ok(new)
    }

    /// Cancels the shutdown that waits. Returns false if there is none.
    pub(crate) fn abort(&self) -> bool {
        let Some(wait) = self.take() else { return false };
        let aborted = Failure::other("SHUTDOWN ABORT has cancelled the shutdown");
        wait.lock().get_or_insert(Err(aborted)).is_err()
    }

    /// Requests the stop of the server if the checkpoint is complete that it waits for.
    pub(crate) fn step(&self, store: &Store, request: impl FnOnce() -> bool) {
        if self.exists.load(Ordering::Relaxed) {
            let wait = self.lock().clone();
            let _ = wait.and_then(|wait| self.outcome(&wait, store, request));
        }
    }

    /// Returns the outcome of a shutdown, or `None` while it waits. Requests the stop of the server once,
    /// when the checkpoint is complete.
    pub(crate) fn outcome(
        &self,
        wait: &SavingShutdown,
        store: &Store,
        request: impl FnOnce() -> bool,
    ) -> Option<Result<(), Failure>> {
        let mut outcome = wait.lock();
        if outcome.is_none() {
            *outcome = match wait.checkpoint.is_complete(store) {
                Ok(false) => return None,
                Ok(true) => Some(stop(request)),
                Err(failure) => Some(Err(failure)),
            };
            self.take();
        }
        outcome.clone()
    }

    fn take(&self) -> Option<Arc<SavingShutdown>> {
        self.exists.store(false, Ordering::Relaxed);
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<SavingShutdown>>> {
        self.wait.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SavingShutdown {
    fn lock(&self) -> MutexGuard<'_, Option<Result<(), Failure>>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Requests the program to stop the server. `request` returns whether the program allows that.
pub(crate) fn stop(request: impl FnOnce() -> bool) -> Result<(), Failure> {
    if embedder::call(request)? {
        return Ok(());
    }
    Err(Failure::other("SHUTDOWN: the embedding program does not allow clients to stop this server"))
}

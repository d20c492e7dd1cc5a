//! The durability of a store: its log, its checkpoints and their threads.

use std::sync::Arc;
use std::thread::JoinHandle;

use honeycomb_btree::Version;
use honeycomb_memory::sync::Ordering;

use super::archiver::Archiver;
use super::checkpoints::Checkpoints;
use super::config::SyncPolicy;
use super::log_state::{Health, LogState, is_in_callback};
use super::statistics::{DurabilityStatistics, Recovery};
use crate::error::Error;

/// The durability of a store. Dropping it writes all records and ends its threads.
pub(crate) struct Durability {
    pub(crate) log: Arc<LogState>,
    pub(crate) checkpoints: Arc<Checkpoints>,
    pub(crate) recovery: Recovery,
    pub(super) writes_wait: bool,
    pub(super) log_thread: Option<JoinHandle<()>>,
    pub(super) spare_thread: Option<JoinHandle<()>>,
    pub(super) checkpoint_thread: Option<JoinHandle<()>>,
}

impl Durability {
    /// Waits until everything that this thread can have read or written is durable, if the policy requires
    /// it.
    pub(crate) fn settle(&self, version: Version) -> Result<(), Error> {
        if self.writes_wait && self.log.policy() == SyncPolicy::Always {
            self.log.wait_durable(version)
        } else {
            Ok(())
        }
    }

    pub(crate) fn statistics(&self) -> DurabilityStatistics {
        let checkpoints = &self.checkpoints;
        let (health, outcomes) = (self.log.health(), checkpoints.outcomes());
        let mut statistics = DurabilityStatistics {
            durable_version: self.log.durable_version(),
            queued_bytes: self.log.queue.bytes(checkpoints.source.forest.read_version()),
            checkpoint_version: checkpoints.version.load(Ordering::Relaxed),
            checkpoint_age: checkpoints.age(),
            begun_checkpoints: checkpoints.begun.load(Ordering::Relaxed),
            checkpoints: outcomes.completed,
            failed_checkpoints: outcomes.failed,
            newest_checkpoint: outcomes.newest,
            is_checkpoint_running: checkpoints.is_running.load(Ordering::Acquire),
            checkpoint_error: outcomes.error,
            is_direct: checkpoints.storage.is_direct(),
            change_streams: self.log.recent.readers(),
            change_stream_lag: self
                .log
                .recent
                .slowest()
                .map_or(0, |slowest| self.log.written_version().saturating_sub(slowest)),
            archived_files: checkpoints.archiver.as_ref().map_or(0, Archiver::archived),
            archive_error: checkpoints.archiver.as_ref().and_then(Archiver::error),
            is_full: health == Health::Full,
            failure: if let Health::Failed(reason) = health { Some(reason) } else { None },
            ..DurabilityStatistics::default()
        };
        self.log.counters.fill(&mut statistics);
        let since = checkpoints.growth();
        (statistics.bytes_since_checkpoint, statistics.records_since_checkpoint) =
            (since.bytes, since.records);
        statistics
    }
}

impl Drop for Durability {
    fn drop(&mut self) {
        self.checkpoints.requests.stop();
        // A callback may have dropped the last handle to the store, on any thread that writes the log. Then
        // the other threads end on their own.
        let waits = !is_in_callback();
        if let Some(handle) = self.checkpoint_thread.take().filter(|_| waits) {
            let _ = handle.join();
        }
        self.log.stop.store(true, Ordering::Release);
        self.log.wake();
        self.log.wake_spare_thread();
        let handles = [self.log_thread.take(), self.spare_thread.take()];
        for handle in handles.into_iter().flatten() {
            handle.thread().unpark();
            if waits {
                let _ = handle.join();
            }
        }
    }
}

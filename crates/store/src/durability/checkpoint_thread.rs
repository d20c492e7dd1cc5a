//! The thread that writes checkpoints when they are due or requested, and archives log files.

use std::sync::Weak;

use super::checkpointer::{CHECK_INTERVAL, Checkpointer, SHORT_FILES_MAX};
use super::checkpoints::lock;
use crate::store_state::StoreState;

impl Checkpointer {
    pub(super) fn run(&self, state: &Weak<StoreState>) {
        while !self.is_stopping() {
            let is_requested = self.wait();
            let in_use = lock(&self.in_use);
            let Some(state) = state.upgrade() else { return };
            if let Some(durability) = state.durability() {
                if let Some(archiver) = &durability.archiver {
                    archiver.advance(&durability.log);
                }
                if is_requested || self.is_due(&state) {
                    // The statistics have the error. The next checkpoint is due after the next interval.
                    let _ = durability.checkpoints.write(&state);
                }
            }
            drop(state);
            drop(in_use);
        }
    }

    fn is_due(&self, state: &StoreState) -> bool {
        let Some(durability) = state.durability() else { return false };
        let statistics = durability.statistics();
        let grown = statistics.bytes_since_checkpoint;
        let age = state.leases.now().saturating_sub(durability.checkpoints.ended_at());
        let is_time = lock(&self.interval).is_some_and(|interval| age >= interval);
        // Many starts leave many files with few records.
        let has_many = statistics.files as u64 > SHORT_FILES_MAX + grown / self.file_bytes
            // A checkpoint would not remove files that are not in the archive.
            && statistics.archive_error.is_none();
        // After a failure these conditions would make it due at once, again and again.
        let is_later = age >= CHECK_INTERVAL.max(durability.checkpoints.pause());
        let is_large = (grown >= self.log_bytes || has_many) && is_later;
        grown > 0 && (is_time || is_large)
    }
}

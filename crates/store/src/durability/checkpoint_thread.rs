//! The thread that writes checkpoints when they are due or requested, and archives log files.

use super::archiver::Archiver;
use super::checkpointer::{CHECK_INTERVAL, SHORT_FILES_MAX};
use super::checkpoints::{Checkpoints, lock};

impl Checkpoints {
    pub(super) fn run(&self) {
        while !self.requests.is_stopping() {
            let is_requested = self.requests.wait();
            let _in_use = lock(&self.requests.in_use);
            if let Some(archiver) = &self.archiver {
                archiver.advance(&self.source.log);
            }
            if is_requested || self.is_due() {
                // The statistics have the error. The next checkpoint is due after the next interval.
                let _ = self.write();
            }
        }
    }

    fn is_due(&self) -> bool {
        let grown = self.growth().bytes;
        let age = self.source.leases.now().saturating_sub(self.ended_at());
        let is_time = lock(&self.requests.interval).is_some_and(|interval| age >= interval);
        // Many starts leave many files with few records.
        let has_many = self.source.log.counters.files() > SHORT_FILES_MAX + grown / self.requests.file_room
            // A checkpoint would not remove files that are not in the archive.
            && self.archiver.as_ref().and_then(Archiver::error).is_none();
        // After a failure these conditions would make it due at once, again and again.
        let is_later = age >= CHECK_INTERVAL.max(self.pause());
        let is_large = (grown >= self.requests.log_bytes || has_many) && is_later;
        grown > 0 && (is_time || is_large)
    }
}

//! The archive of the log: full log files are copied to it before they are used again.
//!
//! The thread that writes checkpoints copies them, at the latest before a checkpoint makes them unnecessary.
//! A file that cannot be copied stays a part of the log, and so do the later ones.

use std::sync::{Arc, Mutex};

use honeycomb_log::{ClosedFile, Storage, archive};
use honeycomb_memory::sync::{AtomicU64, Ordering};

use super::checkpoints::lock;
use super::log_state::LogState;
use super::panics;

pub(crate) struct Archiver {
    storage: Arc<dyn Storage>,
    archive: Arc<dyn Storage>,
    /// All closed files up to this number are in the archive. Locked during copies.
    last: Mutex<u64>,
    /// The error of the last attempt. Locked for a moment, because readers of statistics wait for it.
    error: Mutex<Option<String>>,
    archived: AtomicU64,
}

impl Archiver {
    pub(crate) fn new(storage: Arc<dyn Storage>, archive: Arc<dyn Storage>) -> Self {
        let (last, error) = (Mutex::default(), Mutex::default());
        Self { storage, archive, last, error, archived: AtomicU64::new(0) }
    }

    /// The number of files that were copied, or were in the archive already.
    pub(crate) fn archived(&self) -> u64 {
        self.archived.load(Ordering::Relaxed)
    }

    /// The error of the last attempt, if it failed.
    pub(crate) fn error(&self) -> Option<String> {
        lock(&self.error).clone()
    }

    /// Copies all closed files that are not in the archive, and returns the number of the first file that is
    /// not there.
    pub(crate) fn advance(&self, log: &LogState) -> u64 {
        let mut progress = lock(&self.last);
        let (closed, current) = {
            let writer = log.lock_writer();
            (writer.closed_files().to_vec(), writer.current_file())
        };
        let last = *progress;
        let mut missing = closed.iter().skip_while(|file| file.number <= last);
        let failed = missing.find_map(|file| {
            let copied = self.copy(file).inspect(|()| *progress = file.number);
            copied.err().map(|error| (file.number, error))
        });
        *lock(&self.error) = failed.as_ref().map(|(_, error)| error.clone());
        failed.map_or(current, |(first, _)| first)
    }

    /// Copies a file, or returns the reason that it is not in the archive.
    fn copy(&self, file: &ClosedFile) -> Result<(), String> {
        let copied = panics::catch(|| archive(&*self.storage, &*self.archive, file));
        copied
            .map_err(|message| format!("the copy has panicked: {message}"))?
            .map_err(|error| error.to_string())?;
        self.archived.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

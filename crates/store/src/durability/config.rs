//! The parameters of durability.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use honeycomb_log::Storage;

use super::files::Files;
use crate::error::Error;

/// When a write is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SyncPolicy {
    /// A write is durable before it returns.
    #[default]
    Always,
    /// A write is durable after a second at most. A power cut loses the writes of the last second.
    EverySecond,
    /// A write is durable when the operating system writes it. A power cut loses the writes since then; the
    /// end of the process loses nothing, if it drops the store and the disk has room within five seconds.
    Never,
}

/// Makes a store durable: where its files are, and when they are written.
#[derive(Clone)]
pub struct DurabilityConfig {
    /// The files. [`DurabilityConfig::directory`] opens a directory.
    pub storage: Arc<dyn Storage>,
    /// When a write is durable. [`Store::set_sync_policy`](crate::Store::set_sync_policy) changes it.
    /// Default: [`SyncPolicy::Always`].
    pub policy: SyncPolicy,
    /// Whether writes wait under [`SyncPolicy::Always`]. If not, the caller waits with
    /// [`Store::wait_durable`](crate::Store::wait_durable), or for a call of the function that it has passed
    /// to [`Store::on_durable`](crate::Store::on_durable). Default true.
    pub writes_wait: bool,
    /// Bytes of a log file: 8 KiB to 16 GiB, rounded up to 4 KiB. A longer record has a file of its own.
    /// Default 64 MiB.
    pub log_file_bytes: u64,
    /// A checkpoint is due when the log has grown by this many bytes since the last one. Default 1 GiB.
    pub checkpoint_log_bytes: u64,
    /// A checkpoint is due when the log has grown and this time has passed since the last one. Default: none.
    pub checkpoint_interval: Option<Duration>,
    /// The folder to which the store copies log files when they are full, for a restore to a point in time. A
    /// log file is not used again before it is there. [`DurabilityConfig::archive_to`] opens a directory.
    /// Default: none.
    pub archive: Option<Arc<dyn Storage>>,
    /// Most bytes of records that wait for the log and are longer than 120 bytes, apart from those of writes
    /// in progress. Further writes wait. At most 65,536 shorter ones wait. Default 64 MiB.
    pub queue_bytes_max: u64,
    /// Most bytes of keys and values of a bulk load or an image, with 16 bytes for each pair, or 32 with
    /// `old_values`: it is one record of the log, so that a power cut leaves all of it or nothing, and it
    /// waits in memory. Default 1 GiB.
    pub load_bytes_max: u64,
    /// Whether the log has the value before each put and each deletion, for
    /// [`TableChange::old`](crate::TableChange::old). Its records are longer then, by 16 bytes for each
    /// change and by the values. [`Store::set_old_values`](crate::Store::set_old_values) changes it. Default
    /// false.
    pub old_values: bool,
    /// A number that clients do not know: without it they could store values that are valid records of a log
    /// file which is used again. Default: random.
    pub secret: u64,
    /// Receives the progress of the recovery.
    pub progress: Option<Arc<dyn Fn(RecoveryProgress) + Send + Sync>>,
}

/// The progress of a recovery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecoveryProgress {
    /// Pairs of the checkpoint that are loaded.
    pub pairs: u64,
    /// Pairs of the checkpoint.
    pub pairs_total: u64,
    /// Records of the log that are replayed.
    pub records: u64,
}

/// Smallest and largest size of a log file in bytes.
pub(crate) const LOG_FILE_BYTES_MIN: u64 = 8 << 10;
pub(crate) const LOG_FILE_BYTES_MAX: u64 = 16 << 30;

impl DurabilityConfig {
    /// Opens a directory, and creates it if it does not exist. No other process can open it until the store
    /// is dropped.
    ///
    /// # Errors
    /// [`Error::DirectoryInUse`] if another process or store uses the directory; [`Error::Directory`].
    pub fn directory(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self::with_storage(Arc::new(Files::open(path.as_ref())?)))
    }

    /// Uses the given files.
    #[must_use]
    pub fn with_storage(storage: Arc<dyn Storage>) -> Self {
        Self {
            storage,
            policy: SyncPolicy::default(),
            writes_wait: true,
            log_file_bytes: 64 << 20,
            checkpoint_log_bytes: 1 << 30,
            checkpoint_interval: None,
            archive: None,
            queue_bytes_max: 64 << 20,
            load_bytes_max: 1 << 30,
            old_values: false,
            secret: RandomState::new().hash_one(0),
            progress: None,
        }
    }

    /// Copies log files to a directory, which is created if it does not exist.
    ///
    /// # Errors
    /// Those of [`DurabilityConfig::directory`].
    pub fn archive_to(self, path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self { archive: Some(Arc::new(Files::open(path.as_ref())?)), ..self })
    }

    pub(crate) fn check(&self, mvcc: bool) -> Result<(), Error> {
        if !mvcc {
            return Err(Error::InvalidConfig("a durable store needs versions: mvcc = true".to_owned()));
        }
        let bytes = self.log_file_bytes;
        if (LOG_FILE_BYTES_MIN..=LOG_FILE_BYTES_MAX).contains(&bytes) {
            return Ok(());
        }
        let allowed = format!("allowed are {LOG_FILE_BYTES_MIN} to {LOG_FILE_BYTES_MAX}");
        Err(Error::InvalidConfig(format!("log_file_bytes = {bytes}: {allowed}")))
    }

    pub(crate) fn report(&self, progress: RecoveryProgress) {
        if let Some(report) = &self.progress {
            report(progress);
        }
    }
}

impl fmt::Debug for DurabilityConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurabilityConfig").field("policy", &self.policy).finish_non_exhaustive()
    }
}

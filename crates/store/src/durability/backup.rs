//! Backups: reading the newest checkpoint while the store goes on.

use std::fmt;

use honeycomb_btree::Version;
use honeycomb_log::{CheckpointReader, LogError, Manifest, StorageFile, checkpoint_file};

use super::checkpoints::{Checkpoints, lock};
use crate::error::Error;
use crate::store::Store;

/// A checkpoint of a store as an image. Its bytes stay readable after later checkpoints have replaced it.
pub struct Backup {
    file: Box<dyn StorageFile>,
    number: u64,
    version: Version,
    pairs: u64,
    bytes: u64,
}

impl Backup {
    /// Returns the number of the checkpoint, which no other checkpoint of the store has.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the version of the pairs.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the number of pairs.
    #[must_use]
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Returns the length of the image in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads bytes from `offset` on and returns their number, which is less than the length of `bytes` only
    /// at the end of the image.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize, Error> {
        let file = checkpoint_file(self.number);
        let failed = |source| LogError::Io { action: "read", file, source };
        Ok(self.file.read_at(offset, bytes).map_err(failed)?)
    }
}

impl Store {
    /// Writes a checkpoint, as [`Store::checkpoint`] does, and opens it. Its bytes are an image for
    /// [`Store::load`], and with an archive of the log a restore can continue it to a later version.
    ///
    /// # Errors
    /// Those of [`Store::checkpoint`].
    pub fn backup(&self) -> Result<Backup, Error> {
        self.checkpoint()?;
        self.newest_backup()?.ok_or(Error::NoDirectory)
    }

    /// Opens the newest checkpoint; `None` if the store has none.
    ///
    /// # Errors
    /// [`Error::NoDirectory`], [`Error::Log`].
    pub fn newest_backup(&self) -> Result<Option<Backup>, Error> {
        self.state().durability().ok_or(Error::NoDirectory)?.checkpoints.open()
    }
}

impl Checkpoints {
    /// Opens the newest checkpoint. Does not wait for one that is in progress.
    fn open(&self) -> Result<Option<Backup>, Error> {
        loop {
            let manifest = *lock(&self.manifest);
            if manifest.checkpoint == 0 {
                return Ok(None);
            }
            let opened = self.open_checkpoint(manifest);
            // A later checkpoint may have removed the file meanwhile.
            if opened.is_ok() || lock(&self.manifest).checkpoint == manifest.checkpoint {
                return opened.map(Some);
            }
        }
    }

    fn open_checkpoint(&self, manifest: Manifest) -> Result<Backup, Error> {
        let (number, version, pairs) = (manifest.checkpoint, manifest.version, manifest.pairs);
        let name = checkpoint_file(number);
        let failed = |source| LogError::Io { action: "open", file: name.clone(), source };
        let file = self.storage.open(&name).map_err(failed)?;
        let bytes = CheckpointReader::open(&*self.storage, number)?.progress().1;
        Ok(Backup { file, number, version, pairs, bytes })
    }
}

impl fmt::Debug for Backup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backup").field("number", &self.number).field("version", &self.version).finish()
    }
}

//! The manifest: the file from which a recovery starts. A new one replaces it by a renaming, so there is
//! always exactly one.

use std::io;

use crc32c::crc32c;
use honeycomb_layout as layout;
use honeycomb_layout::wal_manifest;

use crate::bytes::{NUMBER_MAX, put_u32, put_u64, u32_at, u64_at};
use crate::error::LogError;
use crate::names::{MANIFEST_FILE, NEW_MANIFEST_FILE};
use crate::storage::{Storage, read_all};

const MAGIC: &[u8; 8] = b"HONEYMAN";

/// Where a recovery starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manifest {
    /// The number of the checkpoint, from 1 on; 0 if there is none.
    pub checkpoint: u64,
    /// The version of the checkpoint.
    pub version: u64,
    /// The number of the first log file that may have later records.
    pub first_file: u64,
    /// The pairs of the checkpoint.
    pub pairs: u64,
}

impl Manifest {
    /// The manifest of a store without a checkpoint.
    pub(crate) const EMPTY: Self = Self { checkpoint: 0, version: 0, first_file: 1, pairs: 0 };

    /// Replaces the manifest: makes its checkpoint, whose bytes must be durable, and the log files after it
    /// the files of the store.
    ///
    /// The caller prevents the log from renaming files meanwhile: a sync of the directory that fails may
    /// forget their new names, and the next one of the log would report success.
    ///
    /// # Errors
    /// [`LogError::Full`] if there is no room: the earlier manifest is still valid. [`LogError::Io`]: either
    /// manifest may be valid.
    pub fn store(self, storage: &dyn Storage) -> Result<(), LogError> {
        self.store_from(NEW_MANIFEST_FILE, storage)
    }

    /// Like [`Manifest::store`]; the file `draft` becomes the manifest.
    pub(crate) fn store_from(self, draft: &str, storage: &dyn Storage) -> Result<(), LogError> {
        let bytes = self.encode();
        let mut file = storage.create(draft, 0).map_err(LogError::room("create", draft))?;
        file.write_at(0, &bytes).map_err(LogError::room("write", draft))?;
        file.sync().map_err(LogError::room("sync", draft))?;
        // The checkpoint has its name before a manifest names it.
        storage.sync_directory().map_err(LogError::io("sync the directory of", draft))?;
        storage.rename(draft, MANIFEST_FILE).map_err(LogError::io("rename", draft))?;
        storage.sync_directory().map_err(LogError::io("sync the directory of", MANIFEST_FILE))
    }

    /// Loads the manifest; `None` if there is none.
    pub(crate) fn load(storage: &dyn Storage) -> Result<Option<Self>, LogError> {
        match storage.open(MANIFEST_FILE).and_then(|file| read_all(&*file)) {
            Ok(bytes) => Self::decode(&bytes).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(LogError::io("read", MANIFEST_FILE)(error)),
        }
    }

    /// Returns the bytes of the manifest.
    #[must_use]
    pub fn encode(self) -> [u8; wal_manifest::SIZE] {
        let mut bytes = [0; wal_manifest::SIZE];
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        put_u64(&mut bytes, wal_manifest::CHECKPOINT_OFFSET, self.checkpoint);
        put_u64(&mut bytes, wal_manifest::VERSION_OFFSET, self.version);
        put_u64(&mut bytes, wal_manifest::FIRST_FILE_OFFSET, self.first_file);
        put_u64(&mut bytes, wal_manifest::PAIRS_OFFSET, self.pairs);
        put_u32(&mut bytes, wal_manifest::FORMAT_OFFSET, layout::WAL_FORMAT as u32);
        let crc = crc32c(&bytes[..wal_manifest::CRC_OFFSET]);
        put_u32(&mut bytes, wal_manifest::CRC_OFFSET, crc);
        bytes
    }

    /// Decodes a manifest.
    ///
    /// # Errors
    /// [`LogError::Corrupt`], [`LogError::Format`].
    pub fn decode(bytes: &[u8]) -> Result<Self, LogError> {
        let file = || MANIFEST_FILE.to_owned();
        let corrupt = |rule| LogError::Corrupt { file: file(), offset: 0, version: 0, rule };
        if bytes.len() != wal_manifest::SIZE {
            return Err(corrupt("the manifest has 64 bytes"));
        }
        if bytes[..MAGIC.len()] != *MAGIC {
            return Err(corrupt("the manifest begins with HONEYMAN"));
        }
        if crc32c(&bytes[..wal_manifest::CRC_OFFSET]) != u32_at(bytes, wal_manifest::CRC_OFFSET) {
            return Err(corrupt("the checksum does not match"));
        }
        let found = u32_at(bytes, wal_manifest::FORMAT_OFFSET);
        if found != layout::WAL_FORMAT as u32 {
            return Err(LogError::Format { file: file(), found, supported: layout::WAL_FORMAT as u32 });
        }
        if bytes[wal_manifest::PADDING_OFFSET..].iter().any(|&byte| byte != 0) {
            return Err(corrupt("the padding is zero"));
        }
        let manifest = Self {
            checkpoint: u64_at(bytes, wal_manifest::CHECKPOINT_OFFSET),
            version: u64_at(bytes, wal_manifest::VERSION_OFFSET),
            first_file: u64_at(bytes, wal_manifest::FIRST_FILE_OFFSET),
            pairs: u64_at(bytes, wal_manifest::PAIRS_OFFSET),
        };
        if manifest.checkpoint.max(manifest.version).max(manifest.first_file) > NUMBER_MAX {
            return Err(corrupt("the numbers and the version are below 2^63"));
        }
        Ok(manifest)
    }
}

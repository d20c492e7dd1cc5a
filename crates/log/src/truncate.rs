//! Truncation of a corrupt log: it ends before its first invalid record, so that a recovery is possible.

use std::io;

use honeycomb_layout::WAL_BLOCK_BYTES;

use crate::directory::Directory;
use crate::error::LogError;
use crate::file_header::{FileHeader, RECORDS_OFFSET, Salt, forget_size};
use crate::names::log_file;
use crate::storage::{Storage, StorageFile};

/// What a truncation has removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Truncated {
    /// Bytes after the last valid record in its file.
    pub bytes: u64,
    /// Later log files.
    pub files: u64,
}

impl Directory {
    /// Ends the log at an offset of a log file, which is the offset of a [`LogError::Corrupt`] of
    /// [`Directory::replay`]. All records from there on are lost.
    ///
    /// # Errors
    /// [`LogError::Missing`] if there is no such file; [`LogError::Io`].
    pub fn truncate(&self, storage: &dyn Storage, number: u64, offset: u64) -> Result<Truncated, LogError> {
        let name = log_file(number);
        let Some(position) = self.files().iter().position(|&file| file == number) else {
            return Err(LogError::Missing { file: name, reason: "it is the file to truncate" });
        };
        let later = &self.files()[position + 1..];
        // The last file first: a power cut in between leaves files without a gap.
        for &file in later.iter().rev() {
            remove(storage, file)?;
        }
        let mut removed = Truncated { bytes: 0, files: later.len() as u64 };
        if offset >= RECORDS_OFFSET {
            removed.bytes = zero_from(storage, &name, offset)?;
            change(storage, &name, forget_size)?;
        } else if position > 0 {
            remove(storage, number)?;
            removed.files += 1;
        } else {
            // The manifest needs this file, so it becomes an empty one.
            removed.bytes = zero_from(storage, &name, 0)?;
            let version = self.manifest().version;
            let (first_version, salt) = (version + 1, Salt::default());
            let header = FileHeader { salt, number, first_version, previous_end: 0, file_bytes: 0 };
            change(storage, &name, |file| file.write_at(0, &header.encode()))?;
        }
        Ok(removed)
    }
}

fn remove(storage: &dyn Storage, number: u64) -> Result<(), LogError> {
    let name = log_file(number);
    storage.remove(&name).map_err(LogError::io("remove", &name))?;
    storage.sync_directory().map_err(LogError::io("sync the directory of", &name))
}

/// Changes a file, and makes that durable.
fn change(
    storage: &dyn Storage,
    name: &str,
    write: impl FnOnce(&mut dyn StorageFile) -> io::Result<()>,
) -> Result<(), LogError> {
    let mut file = storage.open(name).map_err(LogError::io("open", name))?;
    write(&mut *file).map_err(LogError::io("write", name))?;
    file.sync().map_err(LogError::io("sync", name))
}

/// Overwrites a file with zeros from an offset on, and returns their number.
fn zero_from(storage: &dyn Storage, name: &str, offset: u64) -> Result<u64, LogError> {
    let mut file = storage.open(name).map_err(LogError::io("open", name))?;
    let length = file.length().map_err(LogError::io("read", name))?;
    let mut at = offset;
    while at < length {
        let next = (at + 1).next_multiple_of(WAL_BLOCK_BYTES as u64).min(length);
        let zeros = vec![0; (next - at) as usize];
        file.write_at(at, &zeros).map_err(LogError::io("write", name))?;
        at = next;
    }
    file.sync().map_err(LogError::io("sync", name))?;
    Ok(length.saturating_sub(offset))
}

//! The seam between this crate and a disk.
//!
//! Guarantees that an implementation gives:
//! 1. A write is durable after [`StorageFile::sync`] or [`StorageFile::write_durable_at`] has returned.
//!    Before that, a power cut may keep any subset of its sectors.
//! 2. The name of a file is durable after [`Storage::sync_directory`] has returned. Before that, a power cut
//!    may undo a creation, a removal or a renaming. A renaming never leaves a file without a name.
//! 3. After an error of a write or a sync, nothing is known about the bytes that were not durable before.

use std::io;

use crate::error::LogError;
use crate::names::log_file;

/// A folder of files.
pub trait Storage: Send + Sync {
    /// Returns the names of all files.
    ///
    /// # Errors
    /// Those of the disk.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Creates a file of `bytes` zero bytes, or empties the file of this name. It writes the bytes, so that
    /// later writes to them need no room and no new metadata.
    ///
    /// # Errors
    /// [`io::ErrorKind::StorageFull`] if there is no room; others of the disk.
    fn create(&self, name: &str, bytes: u64) -> io::Result<Box<dyn StorageFile>>;

    /// Opens a file.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]; others of the disk.
    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>>;

    /// Renames a file, and replaces a file that has the new name.
    ///
    /// # Errors
    /// Those of the disk.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Those of the disk.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes creations, removals and renamings durable.
    ///
    /// # Errors
    /// Those of the disk.
    fn sync_directory(&self) -> io::Result<()>;

    /// Returns whether whole blocks are written without a copy in the cache of the operating system, as far
    /// as this is known.
    fn is_direct(&self) -> bool {
        true
    }
}

/// An open file.
pub trait StorageFile: Send {
    /// Returns the length of the file in bytes.
    ///
    /// # Errors
    /// Those of the disk.
    fn length(&self) -> io::Result<u64>;

    /// Reads bytes from `offset` on and returns their number, which is less than the length of `bytes` only
    /// at the end of the file.
    ///
    /// # Errors
    /// Those of the disk.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize>;

    /// Writes bytes at `offset`.
    ///
    /// # Errors
    /// Those of the disk.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Writes bytes at `offset` and returns when they are durable. Earlier writes need not be.
    ///
    /// # Errors
    /// Those of the disk.
    fn write_durable_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes all earlier writes to the file durable.
    ///
    /// # Errors
    /// Those of the disk.
    fn sync(&mut self) -> io::Result<()>;
}

/// Reads a whole file.
pub(crate) fn read_all(file: &dyn StorageFile) -> io::Result<Vec<u8>> {
    read_up_to(file, u64::MAX)
}

/// Reads the log file with this number up to an offset, or all of it.
pub(crate) fn read_log_file(
    storage: &dyn Storage,
    number: u64,
    end: Option<u64>,
) -> Result<Vec<u8>, LogError> {
    let name = log_file(number);
    let file = storage.open(&name).map_err(LogError::io("open", &name))?;
    read_up_to(&*file, end.unwrap_or(u64::MAX)).map_err(LogError::io("read", &name))
}

/// Reads a file up to an offset, or up to its end.
pub(crate) fn read_up_to(file: &dyn StorageFile, end: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(file.length()?.min(end)).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    let read = file.read_at(0, &mut bytes)?;
    bytes.truncate(read);
    Ok(bytes)
}

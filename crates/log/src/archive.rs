//! The archive of a store: a folder with copies of its log files, from which and from an image a restore
//! builds the store at any later version.

use std::io;

use honeycomb_layout::wal_file;

use crate::bytes::put_u64;
use crate::error::LogError;
use crate::file_header::forget_size;
use crate::names::log_file;
use crate::storage::{Storage, StorageFile, read_up_to};
use crate::writer::ClosedFile;

/// A copy that is not complete.
const NEW_FILE: &str = "archive.new";
/// Bytes that are copied at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Copies a log file to the archive and returns when the copy is durable. A file that is in the archive
/// already stays as it is.
///
/// # Errors
/// [`LogError::Full`] if the archive has no room; [`LogError::OtherHistory`] if it has another file of this
/// name, such as after a restore to an earlier point in time; [`LogError::Io`].
pub fn archive(storage: &dyn Storage, archive: &dyn Storage, file: &ClosedFile) -> Result<(), LogError> {
    let name = log_file(file.number);
    let source = storage.open(&name).map_err(LogError::io("open", &name))?;
    match archive.open(&name) {
        Ok(existing) => {
            check_same(&*source, &*existing, file)?;
            return make_name_durable(archive, &name);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(LogError::io("open", &name)(error)),
    }
    let mut copy = archive.create(NEW_FILE, 0).map_err(LogError::room("create", NEW_FILE))?;
    copy_up_to(&*source, &mut *copy, file.end).map_err(LogError::room("archive", &name))?;
    // The copy ends with the records, so it does not have the size in its header.
    forget_size(&mut *copy).map_err(LogError::room("archive", &name))?;
    copy.sync().map_err(LogError::room("sync", NEW_FILE))?;
    archive.rename(NEW_FILE, &name).map_err(LogError::io("rename", NEW_FILE))?;
    make_name_durable(archive, &name)
}

/// Makes the name of a copy durable. After an error a later sync may forget it, so the next attempt copies
/// the file again.
fn make_name_durable(archive: &dyn Storage, name: &str) -> Result<(), LogError> {
    archive.sync_directory().map_err(|error| {
        _ = archive.remove(name);
        LogError::io("sync the directory of", name)(error)
    })
}

fn copy_up_to(source: &dyn StorageFile, copy: &mut dyn StorageFile, end: u64) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut offset = 0;
    while offset < end {
        let bytes = (end - offset).min(CHUNK_BYTES as u64) as usize;
        if source.read_at(offset, &mut chunk[..bytes])? < bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        copy.write_at(offset, &chunk[..bytes])?;
        offset += bytes as u64;
    }
    Ok(())
}

fn check_same(
    source: &dyn StorageFile,
    existing: &dyn StorageFile,
    file: &ClosedFile,
) -> Result<(), LogError> {
    let name = log_file(file.number);
    let mut source = read_up_to(source, file.end).map_err(LogError::io("read", &name))?;
    put_u64(&mut source, wal_file::FILE_BYTES_OFFSET, 0);
    let existing = read_up_to(existing, u64::MAX).map_err(LogError::io("read", &name))?;
    if source == existing { Ok(()) } else { Err(LogError::OtherHistory { file: name }) }
}

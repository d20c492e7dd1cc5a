//! A new manifest for the files of a store whose manifest is damaged or absent.
//!
//! The manifest states nothing that the other files do not have: which checkpoint is whole, and which log
//! file has the records after it. So the newest whole checkpoint whose later records are all in the log makes
//! the same store, also if the lost manifest named an earlier one.

use std::sync::Arc;

use crate::checkpoint_reader::CheckpointReader;
use crate::directory::{check_files, without_manifest};
use crate::error::LogError;
use crate::file_header::FileHeader;
use crate::manifest::Manifest;
use crate::names::{checkpoint_number, log_file, log_file_number};
use crate::storage::Storage;

impl Manifest {
    /// Stores a new manifest if that of the directory is damaged or absent, and returns it. Returns `None` if
    /// the manifest is valid, or if the directory has no files of a store. Reads all checkpoints. The records
    /// of the log are checked when the store is opened.
    ///
    /// # Errors
    /// [`LogError::Corrupt`] at a damaged checkpoint, and [`LogError::Missing`] at a log file without which
    /// records are lost, if no other checkpoint suffices; [`LogError::UnfinishedRestore`];
    /// [`LogError::Format`] if the manifest is of a later version; [`LogError::Full`], [`LogError::Io`].
    pub fn rebuild(storage: &Arc<dyn Storage>) -> Result<Option<Self>, LogError> {
        let names = storage.list().map_err(LogError::io("list", "the directory"))?.into_iter().collect();
        match Self::load(&**storage) {
            Ok(None) if without_manifest(&names).is_ok() => return Ok(None),
            Ok(None) => without_manifest(&names).or_else(only_missing)?,
            Ok(Some(_)) => return Ok(None),
            Err(LogError::Corrupt { .. }) => {}
            Err(error) => return Err(error),
        }
        let mut checkpoints: Vec<u64> = names.iter().filter_map(|name| checkpoint_number(name)).collect();
        let mut files: Vec<u64> = names.iter().filter_map(|name| log_file_number(name)).collect();
        checkpoints.sort_unstable();
        files.sort_unstable();
        let mut newest_error = None;
        // Without a checkpoint, a log from its first file on has everything.
        for &number in checkpoints.iter().rev().chain([&0]) {
            let checked = candidate(storage, number, &files).and_then(|manifest| {
                let later: Vec<u64> =
                    files.iter().copied().filter(|&file| file >= manifest.first_file).collect();
                check_files(&manifest, &later, &names).map(|()| manifest)
            });
            match checked {
                Ok(manifest) => {
                    manifest.store(&**storage)?;
                    return Ok(Some(manifest));
                }
                Err(error @ (LogError::Corrupt { .. } | LogError::Missing { .. })) => {
                    newest_error.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(newest_error.unwrap_or(LogError::UnfinishedRestore))
    }
}

/// Returns the manifest of a whole checkpoint; 0 is none.
fn candidate(storage: &Arc<dyn Storage>, number: u64, files: &[u64]) -> Result<Manifest, LogError> {
    let (version, pairs) = match number {
        0 => (0, 0),
        _ => {
            let mut reader = CheckpointReader::open(&**storage, number)?;
            (reader.version(), reader.read_to_end()?)
        }
    };
    let begins = |file: &&u64| match FileHeader::read(&**storage, **file) {
        Ok(header) => Ok(header.first_version <= version + 1),
        // A replay finds the damage, unless the file is not needed.
        Err(LogError::Corrupt { .. }) => Ok(false),
        Err(error) => Err(error),
    };
    for file in files.iter().rev() {
        if begins(&file)? {
            return Ok(Manifest { checkpoint: number, version, first_file: *file, pairs });
        }
    }
    let file = log_file(files.first().map_or(1, |first| first - 1));
    Err(LogError::Missing { file, reason: "no other file has the records after the checkpoint" })
}

/// Accepts the absence of a manifest beside other files of a store.
fn only_missing(error: LogError) -> Result<(), LogError> {
    if matches!(error, LogError::Missing { .. }) { Ok(()) } else { Err(error) }
}

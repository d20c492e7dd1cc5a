//! A new manifest for the files of a store whose manifest is damaged or absent.
//!
//! The manifest states nothing that the other files do not have: which checkpoint is whole, and which log
//! file has the records after it. So the newest whole checkpoint whose later records are all in the log makes
//! the same store, also if the lost manifest named an earlier one.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::checkpoint_reader::CheckpointReader;
use crate::directory::{names, needed_files, without_manifest};
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
        let names = names(&**storage)?;
        match Self::load(&**storage) {
            Ok(Some(_)) => return Ok(None),
            Ok(None) => match without_manifest(&names) {
                Ok(()) => return Ok(None),
                Err(LogError::Missing { .. }) => {}
                Err(error) => return Err(error),
            },
            Err(LogError::Corrupt { .. }) => {}
            Err(error) => return Err(error),
        }
        let manifest = newest(&**storage, &names)?;
        manifest.store(&**storage)?;
        Ok(Some(manifest))
    }
}

/// Returns the manifest of the newest checkpoint that suffices, or the error of the newest one. Without a
/// checkpoint, which counts as number 0, a log from its first file on has everything.
fn newest(storage: &dyn Storage, names: &BTreeSet<String>) -> Result<Manifest, LogError> {
    let is_damage = |error: &LogError| matches!(error, LogError::Corrupt { .. } | LogError::Missing { .. });
    let mut numbers = names.iter().rev().filter_map(|name| checkpoint_number(name)).chain([0]);
    let found = candidate(storage, names, numbers.next().unwrap_or(0));
    numbers.fold(found, |found, number| match found {
        Err(error) if is_damage(&error) => match candidate(storage, names, number) {
            Err(other) if is_damage(&other) => Err(error),
            found => found,
        },
        found => found,
    })
}

/// Returns the manifest of a checkpoint that is whole and whose later records are all in the log.
fn candidate(storage: &dyn Storage, names: &BTreeSet<String>, number: u64) -> Result<Manifest, LogError> {
    let (version, pairs) = match number {
        0 => (0, 0),
        _ => {
            let mut reader = CheckpointReader::open(storage, number)?;
            (reader.version(), reader.read_to_end()?)
        }
    };
    let first_file = first_file(storage, names, version)?;
    let manifest = Manifest { checkpoint: number, version, first_file, pairs };
    needed_files(&manifest, names).map(|_| manifest)
}

/// Returns the number of the last log file that begins no later than the version after a checkpoint.
fn first_file(storage: &dyn Storage, names: &BTreeSet<String>, version: u64) -> Result<u64, LogError> {
    let mut oldest = None;
    for number in names.iter().rev().filter_map(|name| log_file_number(name)) {
        match FileHeader::read(storage, number) {
            Ok(header) if header.first_version <= version + 1 => return Ok(number),
            // A replay finds the damage, unless the file is not needed.
            Ok(_) | Err(LogError::Corrupt { .. }) => oldest = Some(number),
            Err(error) => return Err(error),
        }
    }
    let file = log_file(oldest.map_or(1, |number| number - 1));
    Err(LogError::Missing { file, reason: "no other file has the records after the checkpoint" })
}

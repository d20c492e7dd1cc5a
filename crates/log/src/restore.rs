//! A restore: the files of a store from an image and from log files of an archive, up to a version or a time.
//!
//! The file `restore.new` exists, durably, before any other file of a restore. At the end it becomes the
//! manifest, by a renaming. So an interrupted restore leaves nothing that a server would start with, and the
//! next restore knows that it may remove the files. A restore that fails removes its files itself.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use honeycomb_layout::{WAL_BLOCK_BYTES, wal_file};

use crate::bytes::put_u64;
use crate::change::{Change, changes};
use crate::checkpoint::CheckpointWriter;
use crate::checkpoint_reader::{Block, CheckpointReader};
use crate::directory::{check_size, is_data, is_of_store, remove};
use crate::error::LogError;
use crate::file_header::{FileHeader, RECORDS_OFFSET};
use crate::manifest::Manifest;
use crate::names::{MANIFEST_FILE, RESTORE_FILE, log_file, log_file_number};
use crate::record::{Record, record_bytes};
use crate::storage::{Storage, read_log_file};
use crate::tail::{Tail, read_records};
use crate::until::Until;
use crate::writer::LogWriter;

/// What a restore has restored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Restored {
    /// The pairs of the image.
    pub pairs: u64,
    /// The version of the image.
    pub image_version: u64,
    /// The records after it.
    pub records: u64,
    /// The version of the last record, or of the image.
    pub version: u64,
    /// The bytes of records at the end of the log that were not durable at a power cut.
    pub cut_bytes: u64,
    /// Whether the image or the log has reached the requested version or time: false if the log has no record
    /// after the requested time, so that later changes before this time may be missing.
    pub is_reached: bool,
}

/// The number of the checkpoint in a restored directory.
const CHECKPOINT: u64 = 1;

/// Writes the files of a store into `target`, which has none: the pairs of an image, and the log files of
/// `logs` that have later records. If two folders have the same file, the first one counts. Without `logs`
/// the store is that of the image. Damage after the end of the restore does not matter.
///
/// # Errors
/// [`LogError::NotEmpty`], [`LogError::ImageTooNew`]; [`LogError::LogTooShort`] if the log ends before the
/// requested version; [`LogError::Missing`] if a log file is absent;
/// [`LogError::Corrupt`], [`LogError::Format`], [`LogError::Full`], [`LogError::Io`]. After an error `target`
/// has no files of a store, unless the disk does not remove them; then the next restore removes them.
pub fn restore<R: Read>(
    image: CheckpointReader<R>,
    logs: &[Arc<dyn Storage>],
    target: &Arc<dyn Storage>,
    until: Until,
) -> Result<Restored, LogError> {
    check_until(&image, until)?;
    clear_target(&**target)?;
    // The error of the restore is the one to report.
    write_files(image, logs, target, until).inspect_err(|_| _ = remove_files(&**target))
}

fn write_files<R: Read>(
    mut image: CheckpointReader<R>,
    logs: &[Arc<dyn Storage>],
    target: &Arc<dyn Storage>,
    until: Until,
) -> Result<Restored, LogError> {
    let version = image.version();
    mark(&**target)?;
    let pairs = copy_image(&mut image, &**target)?;
    let is_reached = matches!(until, Until::End) || until == Until::Version(version);
    let mut restored =
        Restored { pairs, image_version: version, records: 0, version, cut_bytes: 0, is_reached };
    let files = LogFiles::find(logs, version)?;
    let first_file = files.first();
    if files.0.is_empty() {
        // A store has a log file in any case. It gets no records, so it needs neither room nor a secret.
        LogWriter::start(target.clone(), (0, 0), Vec::new(), (first_file, version, 0))?;
    }
    files.copy(&**target, until, &mut restored)?;
    check_reached(&restored, until)?;
    let manifest = Manifest { checkpoint: CHECKPOINT, version, first_file, pairs };
    manifest.store_from(RESTORE_FILE, &**target)?;
    Ok(restored)
}

/// Checks that the directory has no store. Removes the files of a restore that was interrupted.
fn clear_target(target: &dyn Storage) -> Result<(), LogError> {
    let names = target.list().map_err(LogError::io("list", "the directory"))?;
    let has = |file| names.iter().any(|name| name == file);
    if has(RESTORE_FILE) && !has(MANIFEST_FILE) {
        return remove_files(target);
    }
    names.into_iter().find(|name| is_of_store(name)).map_or(Ok(()), |file| Err(LogError::NotEmpty { file }))
}

/// Marks a directory without files of a store: those that it has from now on are those of this restore.
fn mark(target: &dyn Storage) -> Result<(), LogError> {
    target.create(RESTORE_FILE, 0).map_err(LogError::room("create", RESTORE_FILE))?;
    target.sync_directory().map_err(LogError::io("sync the directory of", RESTORE_FILE))
}

/// Removes the files of a restore that has failed or was interrupted. The mark is durable until the other
/// files are gone for good, so a power cut at any time leaves a directory that the next restore accepts.
fn remove_files(target: &dyn Storage) -> Result<(), LogError> {
    let names = target.list().map_err(LogError::io("list", "the directory"))?;
    let sync = || target.sync_directory().map_err(LogError::io("sync the directory of", RESTORE_FILE));
    if names.iter().any(|name| name == MANIFEST_FILE) {
        target.rename(MANIFEST_FILE, RESTORE_FILE).map_err(LogError::io("rename", MANIFEST_FILE))?;
        sync()?;
    }
    names.iter().filter(|name| is_data(name)).try_for_each(|name| remove(target, name))?;
    sync()?;
    remove(target, RESTORE_FILE)?;
    sync()
}

fn check_until<R: Read>(image: &CheckpointReader<R>, until: Until) -> Result<(), LogError> {
    let (version, time) = (image.version(), image.time());
    let is_too_new = match until {
        Until::End => false,
        Until::Version(requested) => requested < version,
        Until::Time(requested) => requested < time,
    };
    if is_too_new { Err(LogError::ImageTooNew { version, time, requested: until }) } else { Ok(()) }
}

/// Checks that no record up to the requested version may be missing. A log that ends before a requested time
/// is accepted, because nobody knows the times of missing records.
fn check_reached(restored: &Restored, until: Until) -> Result<(), LogError> {
    match until {
        Until::Version(requested) if !restored.is_reached => {
            Err(LogError::LogTooShort { version: restored.version, requested })
        }
        _ => Ok(()),
    }
}

/// Copies an image block by block, so that each of them is checked.
fn copy_image<R: Read>(image: &mut CheckpointReader<R>, target: &dyn Storage) -> Result<u64, LogError> {
    let mut writer = CheckpointWriter::create(target, CHECKPOINT, image.version(), image.time())?;
    let mut copied = 0;
    loop {
        let invalid = match image.next_block()? {
            Block::Table { tree, name } => {
                writer.table(tree, name)?;
                continue;
            }
            Block::Unordered { tree, parameters, name } => match parameters.first_chunk() {
                Some(parameters) => {
                    writer.unordered_table(tree, name, parameters)?;
                    continue;
                }
                None => "an unordered table has parameters of 6 bytes",
            },
            Block::Pairs(pairs) => {
                let mut is_whole = true;
                for pair in pairs {
                    let Some((key, value)) = pair else {
                        is_whole = false;
                        break;
                    };
                    writer.push(key, value)?;
                    copied += 1;
                }
                if is_whole {
                    continue;
                }
                "a block has whole pairs"
            }
            Block::End { pairs } if pairs == copied => return writer.finish(),
            Block::End { .. } => "the last block states the number of pairs",
        };
        return Err(image.corrupt(invalid));
    }
}

/// The log files from the one with the first needed record on, without gaps, and their folders.
struct LogFiles<'s>(Vec<(u64, &'s dyn Storage)>);

impl<'s> LogFiles<'s> {
    fn find(logs: &'s [Arc<dyn Storage>], version: u64) -> Result<Self, LogError> {
        let mut all: BTreeMap<u64, &'s dyn Storage> = BTreeMap::new();
        for log in logs {
            for name in log.list().map_err(LogError::io("list", "the archive"))? {
                if let Some(number) = log_file_number(&name) {
                    all.entry(number).or_insert(&**log);
                }
            }
        }
        let mut first = None;
        for (&number, storage) in &all {
            match FileHeader::read(*storage, number) {
                Ok(header) if header.first_version <= version + 1 => first = Some(number),
                // Perhaps the restore ends before this file.
                Err(LogError::Corrupt { .. }) if first.is_some() => break,
                header => {
                    header?;
                    break;
                }
            }
        }
        let Some(first) = first else {
            return match all.keys().next() {
                Some(&number) => {
                    let file = log_file(number.saturating_sub(1));
                    Err(LogError::Missing { file, reason: "it has the first records after the image" })
                }
                None => Ok(Self(Vec::new())),
            };
        };
        let files: Vec<_> = all.range(first..).map(|(&number, &storage)| (number, storage)).collect();
        match (first..).zip(&files).find(|(expected, (number, _))| expected != number) {
            Some((missing, _)) => {
                Err(LogError::Missing { file: log_file(missing), reason: "a later log file needs it" })
            }
            None => Ok(Self(files)),
        }
    }

    fn first(&self) -> u64 {
        self.0.first().map_or(1, |(number, _)| *number)
    }

    /// Copies the records up to the end of the restore.
    fn copy(&self, target: &dyn Storage, until: Until, restored: &mut Restored) -> Result<(), LogError> {
        let mut version = 0;
        for (index, &(number, storage)) in self.0.iter().enumerate() {
            let next = self.0.get(index + 1).map(|&(number, storage)| FileHeader::read(storage, number));
            let next = next.transpose();
            let end = next.as_ref().ok().copied().flatten().map(|next| next.previous_end);
            let mut file = read_log_file(storage, number, end)?;
            let (kept, tail) = read_needed(&file, (number, end, version), until, restored)?;
            if let Some(tail) = tail {
                // The restore goes on, so it needs the next file if there is one.
                if next.map_err(|error| after(error, tail.version))?.is_none() {
                    check_size(&file, &FileHeader::decode(&file, &log_file(number), number)?, tail)?;
                    restored.cut_bytes = tail.cut_bytes;
                }
                version = tail.version;
            }
            file.truncate(kept as usize);
            store(target, number, file)?;
            if tail.is_none() {
                restored.is_reached = true;
                break;
            }
        }
        Ok(())
    }
}

/// Adds the last version before damage to the header of a log file.
fn after(error: LogError, version: u64) -> LogError {
    match error {
        LogError::Corrupt { file, offset, rule, .. } => LogError::Corrupt { file, offset, version, rule },
        other => other,
    }
}

/// Why the records of a log file are not read up to its end.
enum Stop {
    /// The restore ends.
    EndOfRestore,
    Failed(LogError),
}

impl From<LogError> for Stop {
    fn from(error: LogError) -> Self {
        Self::Failed(error)
    }
}

/// Reads the records of a log file, as [`read_records`] does, but none after the end of the restore. Returns
/// the offset after the last one, and the tail of the file unless the restore ends in it.
fn read_needed(
    file: &[u8],
    (number, end, version): (u64, Option<u64>, u64),
    until: Until,
    restored: &mut Restored,
) -> Result<(u64, Option<Tail>), LogError> {
    let mut kept = RECORDS_OFFSET;
    let read = read_records(file, number, end, version, |record| {
        if is_after(&record, until) {
            return Err(Stop::EndOfRestore);
        }
        kept = record.offset + record_bytes(record.changes.len()) as u64;
        restored.records += u64::from(record.version > restored.image_version);
        restored.version = restored.version.max(record.version);
        if until == Until::Version(record.version) { Err(Stop::EndOfRestore) } else { Ok(()) }
    });
    match read {
        Ok(tail) => Ok((kept, Some(tail))),
        Err(Stop::EndOfRestore) => Ok((kept, None)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

/// Whether a record is after the end of the restore.
fn is_after(record: &Record<'_>, until: Until) -> bool {
    match until {
        Until::End => false,
        Until::Version(version) => record.version > version,
        Until::Time(time) => changes(record.changes)
            .any(|change| matches!(change, Ok(Change::Time { milliseconds }) if milliseconds > time)),
    }
}

/// Writes a log file, filled with zeros to a whole block, which may be shorter than the original.
fn store(target: &dyn Storage, number: u64, mut bytes: Vec<u8>) -> Result<(), LogError> {
    let name = log_file(number);
    put_u64(&mut bytes, wal_file::FILE_BYTES_OFFSET, 0);
    bytes.resize(bytes.len().next_multiple_of(WAL_BLOCK_BYTES), 0);
    let mut file = target.create(&name, 0).map_err(LogError::room("create", &name))?;
    file.write_at(0, &bytes).map_err(LogError::room("write", &name))?;
    file.sync().map_err(LogError::room("sync", &name))
}

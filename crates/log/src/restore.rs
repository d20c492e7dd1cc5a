//! A restore: the files of a store from an image and from log files of an archive, up to a version or a time.
//!
//! The manifest is written last. Before that, the directory has no store, so an interrupted restore leaves
//! nothing that a server would start with. A restore that fails removes its files.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::Arc;

use honeycomb_layout::{WAL_BLOCK_BYTES, wal_file};

use crate::bytes::put_u64;
use crate::change::{Change, changes};
use crate::checkpoint::CheckpointWriter;
use crate::checkpoint_reader::{Block, CheckpointReader};
use crate::directory::{check_size, is_of_store};
use crate::error::LogError;
use crate::file_header::{FileHeader, RECORDS_OFFSET};
use crate::manifest::Manifest;
use crate::names::{log_file, log_file_number};
use crate::record::{Record, record_bytes};
use crate::storage::{Storage, read_log_file};
use crate::tail::read_records;
use crate::writer::LogWriter;

/// The end of a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// All records.
    End,
    /// The records up to this version.
    Version(u64),
    /// The records of groups that the log has taken up to this time, in milliseconds since 1970.
    Time(u64),
}

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
}

/// The number of the checkpoint in a restored directory.
const CHECKPOINT: u64 = 1;

/// Writes the files of a store into `target`, which has none: the pairs of an image, and the log files of
/// `logs` that have later records. If two folders have the same file, the first one counts. Without `logs`
/// the store is that of the image.
///
/// # Errors
/// [`LogError::NotEmpty`], [`LogError::ImageTooNew`]; [`LogError::Missing`] if a log file is absent;
/// [`LogError::Corrupt`], [`LogError::Format`], [`LogError::Full`], [`LogError::Io`]. After an error `target`
/// has no files of a store, unless the disk does not remove them.
pub fn restore<R: Read>(
    image: CheckpointReader<R>,
    logs: &[Arc<dyn Storage>],
    target: &Arc<dyn Storage>,
    until: Until,
) -> Result<Restored, LogError> {
    check_target(&**target)?;
    check_until(&image, until)?;
    write_files(image, logs, target, until).inspect_err(|_| remove_files(&**target))
}

fn write_files<R: Read>(
    mut image: CheckpointReader<R>,
    logs: &[Arc<dyn Storage>],
    target: &Arc<dyn Storage>,
    until: Until,
) -> Result<Restored, LogError> {
    let version = image.version();
    let pairs = copy_image(&mut image, &**target)?;
    let mut restored = Restored { pairs, image_version: version, records: 0, version, cut_bytes: 0 };
    let files = LogFiles::find(logs, version)?;
    let first_file = files.first();
    if files.0.is_empty() {
        // A store has a log file in any case. It gets no records, so it needs neither room nor a secret.
        LogWriter::start(target.clone(), (0, 0), Vec::new(), (first_file, version, 0))?;
    }
    files.copy(&**target, until, &mut restored)?;
    Manifest { checkpoint: CHECKPOINT, version, first_file, pairs }.store(&**target)?;
    Ok(restored)
}

fn check_target(target: &dyn Storage) -> Result<(), LogError> {
    let names = target.list().map_err(LogError::io("list", "the directory"))?;
    names.into_iter().find(|name| is_of_store(name)).map_or(Ok(()), |file| Err(LogError::NotEmpty { file }))
}

/// Removes what a failed restore has written: the directory had no file of a store before. Errors count for
/// nothing, because that of the restore is the one to report.
fn remove_files(target: &dyn Storage) {
    let names = target.list().unwrap_or_default();
    names.iter().filter(|name| is_of_store(name)).for_each(|name| _ = target.remove(name));
    _ = target.sync_directory();
}

fn check_until<R: Read>(image: &CheckpointReader<R>, until: Until) -> Result<(), LogError> {
    let (version, time) = (image.version(), image.time());
    match until {
        Until::Version(requested) if requested < version => {
            Err(LogError::ImageTooNew { version, time, requested })
        }
        Until::Time(requested) if requested < time => Err(LogError::ImageTooNew { version, time, requested }),
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
            if FileHeader::read(*storage, number)?.first_version > version + 1 {
                break;
            }
            first = Some(number);
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
            let end = next.transpose()?.map(|next| next.previous_end);
            let mut file = read_log_file(storage, number, end)?;
            let (mut cut, mut kept) = (None, RECORDS_OFFSET);
            let tail = read_records(&file, number, end, version, |record| {
                if cut.is_none() && is_after(&record, until) {
                    cut = Some(record.offset);
                }
                if cut.is_none() {
                    kept = record.offset + record_bytes(record.changes.len()) as u64;
                    restored.records += u64::from(record.version > restored.image_version);
                    restored.version = restored.version.max(record.version);
                }
                Ok::<(), LogError>(())
            })?;
            version = tail.version;
            if end.is_none() && cut.is_none() {
                check_size(&file, &FileHeader::decode(&file, &log_file(number), number)?, tail)?;
                restored.cut_bytes = tail.cut_bytes;
            }
            file.truncate(kept as usize);
            store(target, number, file)?;
            if cut.is_some() {
                break;
            }
        }
        Ok(())
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

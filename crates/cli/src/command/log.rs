//! `honeycomb log`: the log of a durable store. `list` and `dump` take no lock and write nothing, so they
//! also read the log of a running server, or of a directory that this process cannot write.

mod dump;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use honeycomb_log::{Directory, LogError, Manifest, Replayed, log_file};
use honeycomb_store::{DurabilityConfig, Error as StoreError, Storage, read_only_files};
use serde::Serialize;

use crate::arguments::{DumpArguments, LogArguments, LogCommand};
use crate::error::Error;
use crate::hint::remedy;
use crate::report::{self, Report, ReportText};
use crate::{Status, encoding};
use dump::Dump;

/// Attempts to read the log of a server that writes it, and the pause between them.
const ATTEMPTS: usize = 5;
const PAUSE: Duration = Duration::from_millis(100);

/// Runs the command.
///
/// # Errors
/// A server uses the directory, it has no log, or a file cannot be read or written.
pub(crate) fn run(arguments: &LogArguments) -> Result<Status, Error> {
    match &arguments.command {
        LogCommand::List(list) => self::list(&list.directory, list.json.json),
        LogCommand::Dump(dump) => self::dump(dump),
        LogCommand::Verify(verify) => self::verify(&verify.directory, verify.json.json),
        LogCommand::Truncate(truncate) => self::truncate(&truncate.directory, truncate.json.json),
        LogCommand::Rebuild(rebuild) => self::rebuild(&rebuild.directory, rebuild.json.json),
    }
}

/// A log file and its records.
#[derive(Serialize, Default)]
struct FileSummary {
    name: String,
    records: u64,
    first_version: Option<u64>,
    last_version: Option<u64>,
    bytes: u64,
}

/// All files, and the damage if there is any.
#[derive(Serialize)]
struct LogReport {
    #[serde(flatten)]
    contents: Option<Contents>,
    damage: Option<Damage>,
}

/// The files that the manifest names.
#[derive(Serialize)]
struct Contents {
    checkpoint: u64,
    checkpoint_version: u64,
    checkpoint_pairs: u64,
    files: Vec<FileSummary>,
    records: u64,
    last_version: u64,
    torn_bytes: u64,
}

/// The first invalid bytes of the log or of the checkpoint.
#[derive(Serialize)]
struct Damage {
    file: String,
    offset: u64,
    version: u64,
    problem: String,
}

/// The result of `truncate`.
#[derive(Serialize)]
struct TruncateReport {
    damage: Option<Damage>,
    removed_bytes: u64,
    removed_files: u64,
}

/// The result of `rebuild`.
#[derive(Serialize)]
struct RebuildReport {
    is_rebuilt: bool,
    checkpoint: u64,
    checkpoint_version: u64,
    checkpoint_pairs: u64,
    first_file: String,
}

fn list(path: &Path, json: bool) -> Result<Status, Error> {
    let read = || summary(&open_to_read(path)?);
    let report = retried(read, |report| report.damage.is_none())?;
    report::print(&report, json)?;
    Ok(Status::Success)
}

/// Repeats a read of the log until it is whole. A server may write the bytes, use files again and replace the
/// manifest while they are read. Real damage stays.
fn retried<T>(mut read: impl FnMut() -> Result<T, Error>, is_whole: impl Fn(&T) -> bool) -> Result<T, Error> {
    let mut result = read();
    for _ in 1..ATTEMPTS {
        let is_done = match &result {
            Ok(found) => is_whole(found),
            Err(error) => !matches!(error, Error::Log(_)),
        };
        if is_done {
            break;
        }
        thread::sleep(PAUSE);
        result = read();
    }
    result
}

fn verify(path: &Path, json: bool) -> Result<Status, Error> {
    let report = match open(path) {
        Ok((_, directory)) => verified(&directory)?,
        // A directory with an invalid manifest has no contents to report.
        Err(Error::Log(error)) => LogReport { contents: None, damage: Some(damage(error)?) },
        Err(error) => return Err(error),
    };
    report::print(&report, json)?;
    Ok(if report.damage.is_none() { Status::Success } else { Status::Negative })
}

/// Reads all records and the checkpoint.
fn verified(directory: &Directory) -> Result<LogReport, Error> {
    let mut report = summary(directory)?;
    let checkpoint = directory.checkpoint().and_then(|checkpoint| match checkpoint {
        Some(mut checkpoint) => checkpoint.read_to_end().map(drop),
        None => Ok(()),
    });
    if let Err(error) = checkpoint {
        report.damage = Some(damage(error)?);
    }
    Ok(report)
}

fn truncate(path: &Path, json: bool) -> Result<Status, Error> {
    let (storage, directory) = open(path)?;
    let mut report = TruncateReport { damage: None, removed_bytes: 0, removed_files: 0 };
    if let Some(damage) = summary(&directory)?.damage {
        let number = honeycomb_log::log_file_number(&damage.file);
        let number = number.ok_or_else(|| Error::Arguments(damage.problem.clone()))?;
        let removed = directory.truncate(&*storage, number, damage.offset)?;
        (report.removed_bytes, report.removed_files) = (removed.bytes, removed.files);
        report.damage = Some(damage);
    }
    report::print(&report, json)?;
    Ok(Status::Success)
}

fn rebuild(path: &Path, json: bool) -> Result<Status, Error> {
    let storage = lock(path)?;
    let rebuilt = Manifest::rebuild(&storage)?;
    let manifest = match rebuilt {
        Some(manifest) => manifest,
        None => Directory::inspect(storage)?.ok_or_else(|| no_log(path))?.manifest(),
    };
    let Manifest { checkpoint, version, pairs, first_file } = manifest;
    let report = RebuildReport {
        is_rebuilt: rebuilt.is_some(),
        checkpoint,
        checkpoint_version: version,
        checkpoint_pairs: pairs,
        first_file: log_file(first_file),
    };
    report::print(&report, json)?;
    Ok(Status::Success)
}

fn dump(arguments: &DumpArguments) -> Result<Status, Error> {
    let (next, left) = (arguments.from, arguments.limit.unwrap_or(u64::MAX));
    let mut dump = Dump { next, left, as_json: arguments.json.json };
    let read = || dump.read(&open_to_read(&arguments.directory)?, |text| report::write(text.as_bytes()));
    retried(read, |()| true)?;
    Ok(Status::Success)
}

/// Opens a directory to read it, also while a server uses it.
fn open_to_read(path: &Path) -> Result<Directory, Error> {
    let files = read_only_files(path).map_err(|error| match error {
        StoreError::Directory { path, source } => Error::file("open", &path)(source),
        other => other.into(),
    })?;
    Directory::inspect(files)?.ok_or_else(|| no_log(path))
}

/// Opens a directory and locks it.
fn open(path: &Path) -> Result<(Arc<dyn Storage>, Directory), Error> {
    let storage = lock(path)?;
    let directory = Directory::inspect(storage.clone())?.ok_or_else(|| no_log(path))?;
    Ok((storage, directory))
}

/// Locks a directory. One that is none of a store gets no file for the lock.
fn lock(path: &Path) -> Result<Arc<dyn Storage>, Error> {
    if let Err(error) = open_to_read(path)
        && !matches!(error, Error::Log(_))
    {
        return Err(error);
    }
    Ok(DurabilityConfig::directory(path)?.storage)
}

fn no_log(path: &Path) -> Error {
    Error::Arguments(format!("{} has no log", encoding::path(path)))
}

/// Reads all records. Damage ends the summary and is part of it.
fn summary(directory: &Directory) -> Result<LogReport, Error> {
    let Manifest { checkpoint, version, pairs, .. } = directory.manifest();
    let mut files: Vec<FileSummary> = Vec::new();
    for &number in directory.files() {
        files.push(FileSummary { name: log_file(number), ..FileSummary::default() });
    }
    let first = directory.files().first().copied().unwrap_or(0);
    let replayed = directory.replay(|number, record| {
        let file = &mut files[(number - first) as usize];
        file.records += 1;
        file.bytes += record.changes.len() as u64;
        file.first_version.get_or_insert(record.version);
        file.last_version = Some(record.version);
        Ok::<(), LogError>(())
    });
    let (replayed, damage) = match replayed {
        Ok((replayed, _)) => (replayed, None),
        Err(error) => (Replayed::default(), Some(damage(error)?)),
    };
    let last = files.iter().filter_map(|file| file.last_version).max();
    let contents = Contents {
        checkpoint,
        checkpoint_version: version,
        checkpoint_pairs: pairs,
        records: files.iter().map(|file| file.records).sum(),
        last_version: last.unwrap_or(version),
        torn_bytes: replayed.cut_bytes,
        files,
    };
    Ok(LogReport { contents: Some(contents), damage })
}

/// Returns the damage that an error describes, or the error if it describes none.
fn damage(error: LogError) -> Result<Damage, Error> {
    let problem = error.to_string();
    match error {
        LogError::Corrupt { file, offset, version, .. } => Ok(Damage { file, offset, version, problem }),
        other => Err(other.into()),
    }
}

impl Report for LogReport {
    fn write_text(&self, text: &mut ReportText) {
        self.contents.iter().for_each(|contents| contents.write_text(text));
        match (&self.damage, &self.contents) {
            (Some(Damage { file, problem, .. }), _) => {
                text.line(problem);
                text.line(remedy(file));
            }
            (None, Some(contents)) => {
                text.line(format_args!("valid up to version {}", contents.last_version))
            }
            (None, None) => {}
        }
    }
}

impl Contents {
    fn write_text(&self, text: &mut ReportText) {
        write_checkpoint(text, (self.checkpoint, self.checkpoint_version, self.checkpoint_pairs));
        for file in &self.files {
            text.line(&file.name);
            let (first, last) = (file.first_version.unwrap_or(0), file.last_version.unwrap_or(0));
            text.count("records", file.records, format_args!("of versions {first} to {last}"));
            text.bytes("changes", file.bytes, "");
        }
        if self.torn_bytes > 0 {
            text.bytes("torn tail", self.torn_bytes, "which the next start of the store removes");
        }
    }
}

impl Report for TruncateReport {
    fn write_text(&self, text: &mut ReportText) {
        let Some(damage) = &self.damage else { return text.line("the log is valid: nothing to remove") };
        text.line(&damage.problem);
        text.bytes("removed", self.removed_bytes, "after the last valid record of its file");
        text.count("removed files", self.removed_files, "");
    }
}

impl Report for RebuildReport {
    fn write_text(&self, text: &mut ReportText) {
        match self.is_rebuilt {
            true => text.line("the manifest was damaged or absent, and is new now"),
            false => text.line("the manifest is valid: nothing to rebuild"),
        }
        write_checkpoint(text, (self.checkpoint, self.checkpoint_version, self.checkpoint_pairs));
        text.line(format_args!("later records from {} on", self.first_file));
    }
}

fn write_checkpoint(text: &mut ReportText, (checkpoint, version, pairs): (u64, u64, u64)) {
    if checkpoint == 0 {
        return text.line("no checkpoint");
    }
    text.line(format_args!("checkpoint {checkpoint} of version {version}"));
    text.count("pairs", pairs, "");
}

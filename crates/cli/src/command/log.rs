//! `honeycomb log`: the log of a durable store. `list` and `dump` also read that of a running server.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use honeycomb_log::{
    Block, Change, CheckpointReader, Directory, LogError, Manifest, Record, Replayed, changes, log_file,
};
use honeycomb_store::{DurabilityConfig, Error as StoreError, Storage, read_only_files};
use serde::Serialize;
use serde_json::json;

use crate::arguments::{DumpArguments, LogArguments, LogCommand};
use crate::encoding::Encoding;
use crate::error::Error;
use crate::hint::remedy;
use crate::report::{self, Report, ReportText};
use crate::{Status, encoding};

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
    checkpoint: u64,
    checkpoint_version: u64,
    checkpoint_pairs: u64,
    files: Vec<FileSummary>,
    records: u64,
    last_version: u64,
    torn_bytes: u64,
    damage: Option<Damage>,
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

fn list(path: &Path, json: bool) -> Result<Status, Error> {
    let mut report = summary(&open_to_read(path)?);
    // A server may write the bytes and use files again while they are read. Real damage stays.
    for _ in 1..ATTEMPTS {
        if report.as_ref().is_ok_and(|report| report.damage.is_none()) {
            break;
        }
        thread::sleep(PAUSE);
        report = summary(&open_to_read(path)?);
    }
    report::print(&report?, json)?;
    Ok(Status::Success)
}

fn verify(path: &Path, json: bool) -> Result<Status, Error> {
    let (_, directory) = open(path)?;
    let mut report = summary(&directory)?;
    let checkpoint = directory.checkpoint().and_then(|checkpoint| match checkpoint {
        Some(mut checkpoint) => verify_checkpoint(&mut checkpoint),
        None => Ok(()),
    });
    if let Err(error) = checkpoint {
        report.damage = Some(damage(error)?);
    }
    report::print(&report, json)?;
    Ok(if report.damage.is_none() { Status::Success } else { Status::Negative })
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

fn dump(arguments: &DumpArguments) -> Result<Status, Error> {
    let directory = open_to_read(&arguments.directory)?;
    let mut left = arguments.limit.unwrap_or(u64::MAX);
    let mut failed = None;
    let replayed = directory.replay(|number, record| {
        if record.version >= arguments.from && left > 0 && failed.is_none() {
            left -= 1;
            failed = report::write(text_of(number, &record, arguments.json.json).as_bytes()).err();
        }
        Ok::<(), LogError>(())
    });
    failed.map_or(Ok(()), Err)?;
    replayed?;
    Ok(Status::Success)
}

/// Opens a directory to read it, also while a server uses it.
fn open_to_read(path: &Path) -> Result<Directory, Error> {
    match open(path) {
        Err(Error::Store(StoreError::DirectoryInUse { .. })) => {
            let directory = Directory::inspect(read_only_files(path)?)?;
            directory.ok_or_else(|| Error::Arguments(format!("{} has no log", encoding::path(path))))
        }
        opened => opened.map(|(_, directory)| directory),
    }
}

fn open(path: &Path) -> Result<(Arc<dyn Storage>, Directory), Error> {
    if !path.is_dir() {
        let source = std::io::ErrorKind::NotFound.into();
        return Err(Error::File { action: "open", path: path.to_owned(), source });
    }
    let storage = DurabilityConfig::directory(path)?.storage;
    let directory = Directory::inspect(storage.clone())?;
    let missing = || Error::Arguments(format!("{} has no log", encoding::path(path)));
    Ok((storage, directory.ok_or_else(missing)?))
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
    Ok(LogReport {
        checkpoint,
        checkpoint_version: version,
        checkpoint_pairs: pairs,
        records: files.iter().map(|file| file.records).sum(),
        last_version: last.unwrap_or(version),
        torn_bytes: replayed.cut_bytes,
        files,
        damage,
    })
}

/// Reads a whole checkpoint.
///
/// # Errors
/// It is invalid, or cannot be read.
pub(crate) fn verify_checkpoint(checkpoint: &mut CheckpointReader<impl Read>) -> Result<(), LogError> {
    let mut found = 0;
    loop {
        let invalid = match checkpoint.next_block()? {
            Block::Table { .. } | Block::Unordered { .. } => None,
            Block::Pairs(pairs) => {
                let counts = pairs.map(|pair| pair.map(|_| 1));
                match counts.sum::<Option<u64>>() {
                    Some(pairs) => {
                        found += pairs;
                        None
                    }
                    None => Some("a block has whole pairs"),
                }
            }
            Block::End { pairs } if pairs == found => return Ok(()),
            Block::End { .. } => Some("the last block states the number of pairs"),
        };
        if let Some(rule) = invalid {
            return Err(checkpoint.corrupt(rule));
        }
    }
}

/// Returns the damage that an error describes, or the error if it describes none.
fn damage(error: LogError) -> Result<Damage, Error> {
    let problem = error.to_string();
    match error {
        LogError::Corrupt { file, offset, version, .. } => Ok(Damage { file, offset, version, problem }),
        other => Err(other.into()),
    }
}

/// One line for a record with JSON, otherwise one for the record and one for each change.
fn text_of(number: u64, record: &Record<'_>, as_json: bool) -> String {
    let text = |bytes: &[u8]| Encoding::Escaped.encode(bytes);
    let bound = |bound: std::ops::Bound<&[u8]>| match bound {
        std::ops::Bound::Included(key) => format!("[{}", text(key)),
        std::ops::Bound::Excluded(key) => format!("({}", text(key)),
        std::ops::Bound::Unbounded => "-".to_owned(),
    };
    let describe = |change: Change<'_>| match change {
        Change::Put { tree, key, value } => {
            json!({"change": "put", "table": tree, "key": text(key), "value": text(value)})
        }
        Change::Old { tree, key: [], .. } => json!({"change": "no old value", "table": tree}),
        Change::Old { tree, key, value } => {
            json!({"change": "old value", "table": tree, "key": text(key), "value": text(value)})
        }
        Change::Delete { tree, key } => json!({"change": "delete", "table": tree, "key": text(key)}),
        Change::DeleteRange { tree, lower, upper } => {
            json!({"change": "delete range", "table": tree, "from": bound(lower), "to": bound(upper)})
        }
        Change::Create { tree, name } => json!({"change": "create", "table": tree, "name": name}),
        Change::CreateUnordered { tree, name, .. } => {
            json!({"change": "create unordered", "table": tree, "name": name})
        }
        Change::Drop { tree } => json!({"change": "drop", "table": tree}),
        Change::Restart => json!({"change": "restart"}),
        Change::Time { milliseconds } => json!({"change": "time", "milliseconds": milliseconds}),
    };
    let decoded = changes(record.changes).map(|change| match change {
        Ok(change) => describe(change),
        Err(rule) => json!({"change": "invalid", "rule": rule}),
    });
    let (version, file, offset) = (record.version, log_file(number), record.offset);
    if as_json {
        let changes: Vec<_> = decoded.collect();
        return json!({"version": version, "file": file, "offset": offset, "changes": changes}).to_string()
            + "\n";
    }
    let lines = decoded.map(|change| {
        let fields = ["change", "table", "name", "key", "value", "from", "to", "milliseconds", "rule"];
        let shown = fields.iter().filter_map(|field| change.get(field));
        let shown: Vec<String> =
            shown.map(|value| value.as_str().map_or(value.to_string(), str::to_owned)).collect();
        format!("  {}\n", shown.join(" "))
    });
    format!("version {version}, {file} at {offset}\n{}", lines.collect::<String>())
}

impl Report for LogReport {
    fn write_text(&self, text: &mut ReportText) {
        if self.checkpoint > 0 {
            text.line(format_args!("checkpoint {} of version {}", self.checkpoint, self.checkpoint_version));
            text.count("pairs", self.checkpoint_pairs, "");
        } else {
            text.line("no checkpoint");
        }
        for file in &self.files {
            text.line(&file.name);
            let (first, last) = (file.first_version.unwrap_or(0), file.last_version.unwrap_or(0));
            text.count("records", file.records, format_args!("of versions {first} to {last}"));
            text.bytes("changes", file.bytes, "");
        }
        if self.torn_bytes > 0 {
            text.bytes("torn tail", self.torn_bytes, "which the next start of the store removes");
        }
        match &self.damage {
            None => text.line(format_args!("valid up to version {}", self.last_version)),
            Some(Damage { file, problem, .. }) => {
                text.line(problem);
                text.line(remedy(file));
            }
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

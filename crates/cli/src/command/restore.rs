//! `honeycomb restore`: the directory of a durable store, from a backup and archived log files.

use std::fs::File;
use std::io::BufReader;

use honeycomb_log::{CheckpointReader, Restored, Until, restore};
use honeycomb_store::{DurabilityConfig, read_only_files};
use serde::Serialize;

use crate::arguments::RestoreArguments;
use crate::error::Error;
use crate::report::{self, Report, ReportText};
use crate::{Status, encoding};

/// The result of a restore.
#[derive(Serialize)]
struct RestoreReport {
    directory: String,
    pairs: u64,
    backup_version: u64,
    records: u64,
    version: u64,
    torn_bytes: u64,
    /// Whether the log has reached the requested time.
    is_reached: bool,
}

/// Runs the command.
///
/// # Errors
/// The backup, a log file or the directory cannot be read or written, or is invalid.
pub(crate) fn run(arguments: &RestoreArguments) -> Result<Status, Error> {
    let path = &arguments.file;
    let file = File::open(path).map_err(Error::file("open", path))?;
    let bytes = file.metadata().map_err(Error::file("read", path))?.len();
    let image = BufReader::with_capacity(1 << 20, file);
    let image = CheckpointReader::image(image, &encoding::path(path), bytes)?;
    let logs = arguments.logs.iter().map(read_only_files).collect::<Result<Vec<_>, _>>()?;
    let target = DurabilityConfig::directory(&arguments.directory)?.storage;
    let until = match (arguments.to_version, arguments.to_time) {
        (Some(version), _) => Until::Version(version),
        (None, Some(time)) => Until::Time(time),
        (None, None) => Until::End,
    };
    let restored = restore(image, &logs, &target, until)?;
    let Restored {
        pairs,
        image_version: backup_version,
        records,
        version,
        cut_bytes: torn_bytes,
        is_reached,
    } = restored;
    let directory = encoding::path(&arguments.directory);
    let report = RestoreReport { directory, pairs, backup_version, records, version, torn_bytes, is_reached };
    report::print(&report, arguments.json.json)?;
    Ok(Status::Success)
}

impl Report for RestoreReport {
    fn write_text(&self, text: &mut ReportText) {
        text.line(format_args!("restored {} to version {}", self.directory, self.version));
        text.count("pairs", self.pairs, format_args!("from the backup, of version {}", self.backup_version));
        text.count("records", self.records, "from log files");
        if self.torn_bytes > 0 {
            text.bytes("torn tail", self.torn_bytes, "of writes that were not acknowledged");
        }
        if !self.is_reached {
            text.line(
                "warning: the log has no record after the requested time, so changes before it may be \
                 missing; another directory (--log) may have later log files",
            );
        }
    }
}

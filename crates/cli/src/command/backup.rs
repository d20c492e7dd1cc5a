//! `honeycomb backup`: the store of a running server as a file.
//!
//! The file `FILE.part` has the bytes that were received so far. Its header names the checkpoint, so another
//! run continues it. A complete file is checked block by block and then gets its name.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_log::CheckpointReader;
use indicatif::HumanBytes;
use serde::Serialize;

use crate::arguments::BackupArguments;
use crate::error::Error;
use crate::progress::{Progress, Unit};
use crate::replace::replace;
use crate::report::{self, Report, ReportText};
use crate::{Status, encoding};

/// Maximum bytes of a request.
const PART_BYTES: u64 = 1 << 20;

/// The result of a backup.
#[derive(Serialize)]
struct BackupReport {
    file: String,
    version: u64,
    pairs: u64,
    bytes: u64,
    /// The bytes that an earlier run had received.
    resumed_bytes: u64,
}

/// A checkpoint of the server.
#[derive(Clone, Copy)]
struct Remote {
    number: u64,
    version: u64,
    pairs: u64,
    bytes: u64,
}

/// Runs the command.
///
/// # Errors
/// The server cannot be reached, is not durable, or fails; the file cannot be written; the received bytes are
/// invalid.
pub(crate) fn run(arguments: &BackupArguments) -> Result<Status, Error> {
    let mut server = Server::connect(arguments)?;
    let part = part_path(&arguments.file);
    let (remote, resumed_bytes) = match server.resumable(&part)? {
        Some((remote, received)) => (remote, received),
        None => (server.start()?, 0),
    };
    receive(&mut server, &part, remote, (resumed_bytes, arguments.rate))?;
    check(&part)?;
    replace(&part, &arguments.file)?;
    server.end(remote.number);
    let Remote { version, pairs, bytes, .. } = remote;
    let file = encoding::path(&arguments.file);
    report::print(&BackupReport { file, version, pairs, bytes, resumed_bytes }, arguments.json.json)?;
    Ok(Status::Success)
}

/// A connection to the server.
struct Server<'a> {
    connection: redis::Connection,
    arguments: &'a BackupArguments,
}

impl<'a> Server<'a> {
    fn connect(arguments: &'a BackupArguments) -> Result<Self, Error> {
        let failed = |source| Error::Remote { address: arguments.server, source };
        let client = redis::Client::open(format!("redis://{}/", arguments.server)).map_err(failed)?;
        let mut server = Self { connection: client.get_connection().map_err(failed)?, arguments };
        if let Some(password) = &arguments.password {
            server.execute::<()>(redis::cmd("AUTH").arg(password))?;
        }
        Ok(server)
    }

    fn execute<T: redis::FromRedisValue>(&mut self, command: &redis::Cmd) -> Result<T, Error> {
        let address = self.arguments.server;
        command.query(&mut self.connection).map_err(|source| Error::Remote { address, source })
    }

    fn describe(&mut self, command: &redis::Cmd) -> Result<Remote, Error> {
        let (number, version, pairs, bytes) = self.execute(command)?;
        Ok(Remote { number, version, pairs, bytes })
    }

    /// Requests a new checkpoint.
    fn start(&mut self) -> Result<Remote, Error> {
        self.describe(redis::cmd("RI.BACKUP").arg("START"))
    }

    /// Returns the checkpoint of an incomplete file and the bytes of the file, if the server still has it.
    fn resumable(&mut self, part: &Path) -> Result<Option<(Remote, u64)>, Error> {
        let Ok(file) = File::open(part) else { return Ok(None) };
        let bytes = file.metadata().map_err(Error::file("read", part))?.len();
        let Ok(header) = CheckpointReader::image(file, "", bytes) else { return Ok(None) };
        match self.describe(redis::cmd("RI.BACKUP").arg("INFO").arg(header.number())) {
            Ok(remote) if remote.version == header.version() && bytes <= remote.bytes => {
                Ok(Some((remote, bytes)))
            }
            // The server answers with an error if it does not have the checkpoint any more.
            Err(Error::Remote { source, .. }) if source.is_io_error() => {
                Err(Error::Remote { address: self.arguments.server, source })
            }
            _ => Ok(None),
        }
    }

    /// Frees the bytes of the checkpoint on the disk of the server. An earlier version of the server does
    /// that later, and so does this one without the request.
    fn end(&mut self, number: u64) {
        let _ = self.execute::<()>(redis::cmd("RI.BACKUP").arg("END").arg(number));
    }

    fn read(&mut self, number: u64, offset: u64, count: u64) -> Result<Vec<u8>, Error> {
        self.execute(redis::cmd("RI.BACKUP").arg("READ").arg(number).arg(offset).arg(count))
    }
}

/// Appends the bytes of the checkpoint from `from` on to the file, at `rate` bytes per second.
fn receive(
    server: &mut Server<'_>,
    part: &Path,
    remote: Remote,
    (from, rate): (u64, Option<u64>),
) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(from == 0).append(from > 0);
    let mut file = options.open(part).map_err(Error::file("create", part))?;
    let progress = Progress::new("receiving", Some(remote.bytes), Unit::Bytes);
    progress.advance(from);
    let (start, mut offset) = (Instant::now(), from);
    while offset < remote.bytes {
        let count = PART_BYTES.min(remote.bytes - offset).min(rate.unwrap_or(PART_BYTES)).max(1);
        let bytes = server.read(remote.number, offset, count)?;
        if bytes.is_empty() {
            let problem = format!("the server sent {offset} of {} bytes", remote.bytes);
            return Err(Error::Arguments(problem));
        }
        file.write_all(&bytes).map_err(Error::file("write", part))?;
        offset += bytes.len() as u64;
        progress.advance(bytes.len() as u64);
        if let Some(rate) = rate {
            let due = Duration::from_secs_f64((offset - from) as f64 / rate as f64);
            thread::sleep(due.saturating_sub(start.elapsed()));
        }
    }
    file.sync_all().map_err(Error::file("write", part))
}

/// Checks every block. The file of an invalid backup is removed, so that the next run begins anew.
fn check(part: &Path) -> Result<(), Error> {
    let file = File::open(part).map_err(Error::file("open", part))?;
    let bytes = file.metadata().map_err(Error::file("read", part))?.len();
    let image = CheckpointReader::image(BufReader::new(file), &encoding::path(part), bytes);
    let checked = image.and_then(|mut image| image.read_to_end());
    if checked.is_err() {
        _ = fs::remove_file(part);
    }
    checked.map(drop).map_err(Error::from)
}

fn part_path(path: &Path) -> PathBuf {
    let mut name: OsString = path.into();
    name.push(".part");
    name.into()
}

impl Report for BackupReport {
    fn write_text(&self, text: &mut ReportText) {
        text.line(format_args!("saved version {} in {}", self.version, self.file));
        text.count("pairs", self.pairs, HumanBytes(self.bytes));
        if self.resumed_bytes > 0 {
            text.bytes("resumed after", self.resumed_bytes, "of an earlier run");
        }
    }
}

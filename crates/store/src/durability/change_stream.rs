//! The change stream: every committed change of a table, in order, each exactly once, from any version that
//! the log holds.
//!
//! A stream has a position and no queue. It reads the newest records from memory and older ones from the log
//! files, so a slow reader costs no memory and delays nobody. When a file that it needs was recycled, it ends
//! with an error, so it never has a gap. It returns long versions in parts.

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::time::Duration;

use honeycomb_btree::Version;
use honeycomb_log::{Change, LogReader, Record, changes};

use super::change_position::ChangePosition;
use super::log_state::LogState;
use super::recent::Reading;
use crate::error::Error;
use crate::range::{self, Bounds};
use crate::store::Store;
use crate::store_state::StoreState;
use crate::table_handle::TableRef;

/// Bytes of changes at which a poll ends.
const POLL_BYTES: usize = 256 << 10;

/// The changes of a table from a version on; see [`Store::changes`].
pub struct ChangeStream {
    state: Arc<StoreState>,
    filter: Filter,
    /// All changes up to this version were returned.
    version: Version,
    /// The next version, if some of its changes were returned.
    part: Option<Part>,
    /// Reads the files, unless the next record is in memory.
    reader: Option<LogReader>,
    reading: Reading,
}

/// The part of a version that was returned.
#[derive(Debug, Clone, Copy)]
struct Part {
    version: Version,
    /// The number of its changes.
    changes: u64,
    /// Its bytes in the record of the version; `None` until the record was read.
    bytes: Option<usize>,
}

/// A change of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableChange {
    /// The version of the write. The changes of a batch have the same version.
    pub version: Version,
    /// The change.
    pub kind: TableChangeKind,
    /// The value of the key before the change.
    pub old: OldValue,
}

/// The value of a key before a put or a deletion. The log has it if the store logged old values at the time
/// of the write ([`DurabilityConfig::old_values`](crate::DurabilityConfig::old_values),
/// [`Store::set_old_values`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OldValue {
    /// The log does not have it, because the store did not log old values then. Deleted ranges have none in
    /// any case. A store that logs old values deletes a range of an ordered table pair by pair, at one
    /// version. Only a range of more than 64 MiB is one change, as a dropped table and a cleared unordered
    /// table are.
    Unknown,
    /// The key was absent.
    Absent,
    /// The key had this value.
    Value(Vec<u8>),
}

/// What a change does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableChangeKind {
    /// The key has this value now.
    Put {
        /// The key.
        key: Vec<u8>,
        /// The value.
        value: Vec<u8>,
    },
    /// The key is absent now.
    Delete {
        /// The key.
        key: Vec<u8>,
    },
    /// All keys of this range are absent now. It is a part of the range of the stream.
    DeleteRange {
        /// The lower bound.
        lower: Bound<Vec<u8>>,
        /// The upper bound.
        upper: Bound<Vec<u8>>,
    },
}

/// The changes that a stream returns.
struct Filter {
    name: String,
    /// The identifier of the table at the position of the stream; `None` before the first record.
    tree: Option<Option<u64>>,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
}

impl Store {
    /// Returns a stream of the changes of keys in a range of a table of either kind, from a position on:
    /// that after the version of a [`Snapshot`](crate::Snapshot), for example. A write appears in the stream
    /// when its record is in the log, and under [`SyncPolicy::Always`](crate::SyncPolicy::Always) when it is
    /// durable. Under the other policies a power cut can take back changes that the stream has returned.
    /// Their versions are not used again, and a stream from one of them ends with [`Error::VersionLost`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use honeycomb_store::{Config, DurabilityConfig, Store, TableChangeKind};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let directory = folder.path();
    /// let durability = Some(DurabilityConfig::directory(directory)?);
    /// let store = Store::open(Config { memory_bytes: 16 << 20, durability, ..Config::default() })?;
    /// let table = store.table("users")?;
    /// let mut stream = store.changes(&table, "a".."c", store.read_version())?;
    /// table.put(b"bob", b"1")?;
    /// table.put(b"cyd", b"2")?;
    /// let changes = stream.wait(Duration::from_secs(10))?;
    /// assert_eq!(changes[0].kind, TableChangeKind::Put { key: b"bob".into(), value: b"1".into() });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NoDirectory`] if the store is in memory only; [`Error::ForeignTable`];
    /// [`Error::VersionTooNew`] if the store has not reached the version of the position.
    pub fn changes<'t, 'k, K: AsRef<[u8]> + ?Sized + 'k>(
        &self,
        table: impl Into<TableRef<'t>>,
        range: impl RangeBounds<&'k K>,
        after: impl Into<ChangePosition>,
    ) -> Result<ChangeStream, Error> {
        let (table, after) = (table.into(), after.into());
        table.check_store(self.state())?;
        let log = self.state().log().ok_or(Error::NoDirectory)?;
        let (after, part) = (after.version(), Part::at(after));
        let (version, newest) =
            (part.map_or(after, |part| part.version), self.state().forest.newest_version());
        if version > newest {
            return Err(Error::VersionTooNew { version, newest });
        }
        let (lower, upper) = range::bounds(&range);
        let (lower, upper) = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        // A checkpoint may forget the identifiers of the version before the first poll, although the records
        // are in memory. A poll returns the error if they are not known now.
        let is_noted = after <= log.written_version();
        let tree = if is_noted { id_at(log, table.name(), (after, part)).ok() } else { None };
        let filter = Filter { name: table.name().to_owned(), tree, lower, upper };
        let reading = log.recent.read(after);
        Ok(ChangeStream { state: self.state().clone(), filter, version: after, part, reader: None, reading })
    }
}

impl ChangeStream {
    /// Returns the next changes without waiting: 256 KiB or up to one change more. The result is empty if the
    /// stream has reached the end of the log, or if the changes so far are of other keys. The last version
    /// may continue in the next call, as [`ChangeStream::position`] states.
    ///
    /// # Errors
    /// [`Error::VersionTooOld`] if the log does not hold the next version any more: the reader was too slow,
    /// or the stream began too early. [`Error::VersionLost`] if the stream began at a version that the store
    /// has lost. [`Error::NoSuchChange`] if the stream began within a version that has fewer changes.
    /// [`Error::Log`] if a log file cannot be read.
    pub fn poll(&mut self) -> Result<Vec<TableChange>, Error> {
        let state = self.state.clone();
        let log = state.log().ok_or(Error::NoDirectory)?;
        let last = log.written_version();
        let mut found = Found::default();
        if last > self.version {
            self.find_table(log)?;
            let before = self.position();
            let read = match self.read_memory(log, &mut found) {
                Some(read) => {
                    self.reader = None;
                    read
                }
                None => self.read_files(log, last, &mut found),
            };
            self.reading.advance(self.version);
            // The stream is after the changes that were found before an error, so they come first. The next
            // call returns the error, if it is still there.
            if self.position() == before {
                read?;
            }
        }
        Ok(found.changes)
    }

    /// Returns the next changes, like [`ChangeStream::poll`], and waits for them if there are none. Returns
    /// none after the timeout.
    ///
    /// # Errors
    /// Those of [`ChangeStream::poll`].
    pub fn wait(&mut self, timeout: Duration) -> Result<Vec<TableChange>, Error> {
        let state = self.state.clone();
        let log = state.log().ok_or(Error::NoDirectory)?;
        let start = log.clock.now();
        loop {
            let before = self.position();
            let changes = self.poll()?;
            let left = timeout.saturating_sub(log.clock.now().saturating_sub(start));
            if !changes.is_empty() || left.is_zero() {
                return Ok(changes);
            }
            if self.position() == before {
                log.wait_written(self.version, left);
            }
        }
    }

    /// Returns the version up to which the stream has returned all changes.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the position after the changes that the stream has returned, from which another stream goes
    /// on.
    #[must_use]
    pub fn position(&self) -> ChangePosition {
        let within = |Part { version, changes, .. }| ChangePosition::Within { version, changes };
        self.part.map_or(self.version.into(), within)
    }

    /// Returns the bytes of memory in use. A stream that is behind has read a part of a log file: 256 KiB, or
    /// one longer record.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let length = |bound: &Bound<Vec<u8>>| match bound {
            Bound::Included(key) | Bound::Excluded(key) => key.len(),
            Bound::Unbounded => 0,
        };
        let bounds = length(&self.filter.lower) + length(&self.filter.upper);
        size_of::<Self>() + bounds + self.reader.as_ref().map_or(0, LogReader::memory_bytes)
    }

    fn find_table(&mut self, log: &LogState) -> Result<(), Error> {
        if self.filter.tree.is_none() {
            self.filter.tree = Some(id_at(log, &self.filter.name, (self.version, self.part))?);
        }
        Ok(())
    }

    /// Returns `None` if the next record is not in memory.
    fn read_memory(&mut self, log: &LogState, found: &mut Found) -> Option<Result<(), Error>> {
        let Self { filter, version, part, .. } = self;
        let mut read = Ok(());
        let is_there = log.recent.after(*version, |record| {
            read = filter.apply((version, part), record.version, &record.changes, found);
            read.is_ok() && found.bytes < POLL_BYTES
        });
        is_there.then_some(read)
    }

    fn read_files(&mut self, log: &LogState, last: Version, found: &mut Found) -> Result<(), Error> {
        let too_old = |version| Error::VersionTooOld { version };
        if self.reader.is_none() {
            let (number, storage) = {
                let writer = log.lock_writer();
                (writer.first_file_after(self.version), writer.storage())
            };
            self.reader = LogReader::open(storage, number, self.version)?;
        }
        let Self { filter, version, part, reader, .. } = self;
        let reader = reader.as_mut().ok_or(too_old(*version))?;
        while *version < last && found.bytes < POLL_BYTES {
            let begun = part.map_or(0, |part| part.version);
            match reader.changes_again(begun) {
                Some(changes) => filter.apply((version, part), begun, changes, found)?,
                None => {
                    let too_old = too_old(*version);
                    let mut apply = |record: Record<'_>| {
                        filter.apply((version, part), record.version, record.changes, found)
                    };
                    reader.next(last, &mut apply)?.ok_or(too_old)??;
                }
            }
        }
        Ok(())
    }
}

/// Returns the identifier of a table at a version, unless that or the one in part is lost or too old.
fn id_at(log: &LogState, name: &str, (version, part): (Version, Option<Part>)) -> Result<Option<u64>, Error> {
    if let Some(part) = part {
        log.table_ids.at(name, part.version)?;
    }
    log.table_ids.at(name, version)
}

impl Part {
    /// Returns the part of a version before a position within it.
    fn at(position: ChangePosition) -> Option<Self> {
        match position {
            ChangePosition::After(_) => None,
            ChangePosition::Within { version, changes } => Some(Self { version, changes, bytes: None }),
        }
    }
}

/// The changes of a poll.
#[derive(Default)]
struct Found {
    changes: Vec<TableChange>,
    /// Bytes of all records that were read.
    bytes: usize,
}

impl OldValue {
    /// Decodes the change in front of another one, if it is an old value.
    fn of(before: Option<(&[u8], &[u8])>) -> Self {
        match before {
            None => Self::Unknown,
            Some(([], _)) => Self::Absent,
            Some((_, value)) => Self::Value(value.to_vec()),
        }
    }
}

impl Filter {
    /// Appends the changes of a record after the returned part, until the poll has enough, and moves the
    /// position behind them.
    fn apply(
        &mut self,
        (all, part): (&mut Version, &mut Option<Part>),
        version: Version,
        record: &[u8],
        found: &mut Found,
    ) -> Result<(), Error> {
        let begun = part.unwrap_or(Part { version, changes: 0, bytes: Some(0) });
        let no_such = Error::NoSuchChange { version: begun.version, changes: begun.changes };
        if begun.version != version {
            return Err(no_such);
        }
        // Without their bytes, the changes of the part are decoded once more.
        let (mut number, mut before) = (begun.bytes.map_or(0, |_| begun.changes), None);
        let mut rest = changes(&record[begun.bytes.unwrap_or(0)..]);
        while found.bytes < POLL_BYTES || number < begun.changes || before.is_some() {
            let bytes = rest.bytes_left();
            let Some(Ok(change)) = rest.next() else { break };
            number += 1;
            let kind = self.of(change);
            if number <= begun.changes {
                continue;
            }
            found.bytes += bytes - rest.bytes_left();
            // It precedes the change of the same key.
            if let Change::Old { key, value, .. } = change {
                before = Some((key, value));
                continue;
            }
            let old = OldValue::of(before.take());
            found.changes.extend(kind.map(|kind| TableChange { version, kind, old }));
        }
        if number < begun.changes {
            return Err(no_such);
        }
        let is_whole = rest.bytes_left() == 0;
        let bytes = Some(record.len() - rest.bytes_left());
        *part = (!is_whole).then_some(Part { version, changes: number, bytes });
        if is_whole {
            *all = version;
        }
        Ok(())
    }

    /// Returns a change if it is one of the table and of the range.
    fn of(&mut self, change: Change<'_>) -> Option<TableChangeKind> {
        let is_it = |tree: u64| self.tree == Some(Some(tree));
        match change {
            Change::Put { tree, key, value } if is_it(tree) && self.contains(key) => {
                Some(TableChangeKind::Put { key: key.to_vec(), value: value.to_vec() })
            }
            Change::Delete { tree, key } if is_it(tree) && self.contains(key) => {
                Some(TableChangeKind::Delete { key: key.to_vec() })
            }
            Change::DeleteRange { tree, lower, upper } if is_it(tree) => self.clip((lower, upper)),
            Change::Create { tree, name } | Change::CreateUnordered { tree, name, .. }
                if name == self.name =>
            {
                self.tree = Some(Some(tree));
                None
            }
            Change::Drop { tree } if is_it(tree) => {
                self.tree = Some(None);
                self.clip((Bound::Unbounded, Bound::Unbounded))
            }
            Change::Restart => {
                self.tree = Some(None);
                None
            }
            _ => None,
        }
    }

    fn contains(&self, key: &[u8]) -> bool {
        range::contains(self.bounds(), key)
    }

    fn clip(&self, bounds: Bounds<'_>) -> Option<TableChangeKind> {
        let (lower, upper) = range::intersection(self.bounds(), bounds)?;
        Some(TableChangeKind::DeleteRange {
            lower: lower.map(<[u8]>::to_vec),
            upper: upper.map(<[u8]>::to_vec),
        })
    }

    fn bounds(&self) -> Bounds<'_> {
        (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice))
    }
}

impl fmt::Debug for ChangeStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeStream")
            .field("table", &self.filter.name)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

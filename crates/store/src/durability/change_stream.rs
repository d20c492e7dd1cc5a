//! The change stream: every committed change of a table, in order, each exactly once, from any version that
//! the log holds.
//!
//! A stream has a position and no queue. It reads the newest records from memory and older ones from the log
//! files, so a slow reader costs no memory and delays nobody. When a file that it needs was recycled, it ends
//! with an error, so it never has a gap.

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::time::Duration;

use honeycomb_btree::Version;
use honeycomb_log::{Change, LogReader, changes};

use super::log_state::LogState;
use super::recent::Reading;
use crate::error::Error;
use crate::range::{self, Bounds};
use crate::store::Store;
use crate::store_state::StoreState;
use crate::table_handle::TableRef;

/// Bytes of keys and values at which a poll ends.
const POLL_BYTES: usize = 256 << 10;

/// The changes of a table from a version on; see [`Store::changes`].
pub struct ChangeStream {
    state: Arc<StoreState>,
    filter: Filter,
    /// All changes up to this version were returned.
    version: Version,
    /// Reads the files, unless the next record is in memory.
    reader: Option<LogReader>,
    reading: Reading,
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
    /// Returns a stream of the changes of keys in a range of a table of either kind, of versions above
    /// `after`: the version of a [`Snapshot`](crate::Snapshot), for example. A write appears in the stream
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
    /// [`Error::VersionTooNew`] if the store has not reached the version `after`.
    pub fn changes<'t, 'k, K: AsRef<[u8]> + ?Sized + 'k>(
        &self,
        table: impl Into<TableRef<'t>>,
        range: impl RangeBounds<&'k K>,
        after: Version,
    ) -> Result<ChangeStream, Error> {
        let table = table.into();
        table.check_store(self.state())?;
        let log = self.state().log().ok_or(Error::NoDirectory)?;
        let newest = self.state().forest.newest_version();
        if after > newest {
            return Err(Error::VersionTooNew { version: after, newest });
        }
        let (lower, upper) = range::bounds(&range);
        let (lower, upper) = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        // A checkpoint may forget the identifiers of the version before the first poll, although the records
        // are in memory. A poll returns the error if they are not known now.
        let is_noted = after <= log.written_version();
        let tree = if is_noted { log.table_ids.at(table.name(), after).ok() } else { None };
        let filter = Filter { name: table.name().to_owned(), tree, lower, upper };
        let reading = log.recent.read(after);
        Ok(ChangeStream { state: self.state().clone(), filter, version: after, reader: None, reading })
    }
}

impl ChangeStream {
    /// Returns the next changes without waiting: whole versions, of 256 KiB or a little more. There are none
    /// if the stream has reached the end of the log, or if the versions so far have no change of its range.
    ///
    /// # Errors
    /// [`Error::VersionTooOld`] if the log does not hold the next version any more: the reader was too slow,
    /// or the stream began too early. [`Error::VersionLost`] if the stream began at a version that the store
    /// has lost. [`Error::Log`] if a log file cannot be read.
    pub fn poll(&mut self) -> Result<Vec<TableChange>, Error> {
        let state = self.state.clone();
        let log = state.log().ok_or(Error::NoDirectory)?;
        let last = log.written_version();
        let mut found = Found::default();
        if last > self.version {
            self.find_table(log)?;
            if self.read_memory(log, &mut found) {
                self.reader = None;
            } else {
                let before = self.version;
                let read = self.read_files(log, last, &mut found);
                // The stream is after the changes that were found before an error, so they come first. The
                // next call returns the error, if it is still there.
                if self.version == before {
                    read?;
                }
            }
            self.reading.advance(self.version);
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
            let before = self.version;
            let changes = self.poll()?;
            let left = timeout.saturating_sub(log.clock.now().saturating_sub(start));
            if !changes.is_empty() || left.is_zero() {
                return Ok(changes);
            }
            if self.version == before {
                log.wait_written(self.version, left);
            }
        }
    }

    /// Returns the version up to which the stream has returned all changes.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
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
            self.filter.tree = Some(log.table_ids.at(&self.filter.name, self.version)?);
        }
        Ok(())
    }

    fn read_memory(&mut self, log: &LogState, found: &mut Found) -> bool {
        let Self { filter, version, .. } = self;
        log.recent.after(*version, |record| {
            filter.apply(record.version, &record.changes, found);
            *version = record.version;
            found.bytes < POLL_BYTES
        })
    }

    fn read_files(&mut self, log: &LogState, last: Version, found: &mut Found) -> Result<(), Error> {
        let too_old = Error::VersionTooOld { version: self.version };
        if self.reader.is_none() {
            let (number, storage) = {
                let writer = log.lock_writer();
                (writer.first_file_after(self.version), writer.storage())
            };
            self.reader = LogReader::open(storage, number, self.version)?;
        }
        let Some(reader) = &mut self.reader else { return Err(too_old) };
        while self.version < last && found.bytes < POLL_BYTES {
            let filter = &mut self.filter;
            let next = reader.next(last, |record| {
                filter.apply(record.version, record.changes, found);
                record.version
            })?;
            self.version = next.ok_or(Error::VersionTooOld { version: self.version })?;
        }
        Ok(())
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
    fn apply(&mut self, version: Version, record: &[u8], found: &mut Found) {
        found.bytes += record.len();
        let mut before = None;
        for change in changes(record).flatten() {
            // It precedes the change of the same key.
            if let Change::Old { key, value, .. } = change {
                before = Some((key, value));
                continue;
            }
            let before = before.take();
            if let Some(kind) = self.of(change) {
                found.changes.push(TableChange { version, kind, old: OldValue::of(before) });
            }
        }
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

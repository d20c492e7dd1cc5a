//! Counts of the log and of checkpoints.

use std::time::Duration;

use honeycomb_log::LogWriter;
use honeycomb_memory::sync::{AtomicU64, Ordering};
use serde::Serialize;

/// Upper bounds of the buckets of the histogram of write times, in microseconds. The last bucket has none.
pub const WRITE_MICROSECONDS: [u64; 11] =
    [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 200_000, 1_000_000];

/// Statistics of durability.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DurabilityStatistics {
    /// All writes up to this version are durable.
    pub durable_version: u64,
    /// Records that were written since the store was opened.
    pub records: u64,
    /// Groups: writes to the log.
    pub groups: u64,
    /// Groups and syncs that made records durable.
    pub syncs: u64,
    /// Bytes of the records.
    pub bytes: u64,
    /// Bytes of records since the last checkpoint, also before the store was opened.
    pub bytes_since_checkpoint: u64,
    /// Records since the last checkpoint, also before the store was opened.
    pub records_since_checkpoint: u64,
    /// Bytes of records that wait for the log, at most.
    pub queued_bytes: u64,
    /// Log files.
    pub files: usize,
    /// Groups by the time of their write; see [`WRITE_MICROSECONDS`].
    pub write_times: [u64; WRITE_MICROSECONDS.len() + 1],
    /// The sum of the times of all writes.
    pub write_time: Duration,
    /// The groups whose write made records durable, with the time of their sync, by this time; see
    /// [`WRITE_MICROSECONDS`].
    pub sync_times: [u64; WRITE_MICROSECONDS.len() + 1],
    /// The sum of the times of these writes.
    pub sync_time: Duration,
    /// The version of the last checkpoint; 0: there is none.
    pub checkpoint_version: u64,
    /// The time since the last checkpoint, or since the store was opened.
    pub checkpoint_age: Duration,
    /// Checkpoints that were begun since the store was opened.
    pub begun_checkpoints: u64,
    /// Checkpoints since the store was opened.
    pub checkpoints: u64,
    /// Failed checkpoints since the store was opened.
    pub failed_checkpoints: u64,
    /// The number of the newest checkpoint that did not fail, counted in the order of their begins since the
    /// store was opened; 0: there is none.
    pub newest_checkpoint: u64,
    /// Whether a checkpoint is in progress.
    pub is_checkpoint_running: bool,
    /// The error of the last checkpoint, if it failed.
    pub checkpoint_error: Option<String>,
    /// Whether the log is written directly. A file system that rejects that makes it slower.
    pub is_direct: bool,
    /// Streams of changes.
    pub change_streams: usize,
    /// The versions by which the slowest stream is behind the log.
    pub change_stream_lag: u64,
    /// Log files that are in the archive since the store was opened.
    pub archived_files: u64,
    /// The error of the last attempt to archive a log file, if it failed. The store tries again, and keeps
    /// the file until then.
    pub archive_error: Option<String>,
    /// Whether writes are refused because the disk is full.
    pub is_full: bool,
    /// The reason that the store is read-only, if it is.
    pub failure: Option<String>,
}

/// The result of a recovery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Recovery {
    /// Pairs of the checkpoint.
    pub pairs: u64,
    /// Records of the log after it.
    pub records: u64,
    /// The version of the last record.
    pub version: u64,
    /// Bytes of records at the end of the log that were not durable at a power cut. No acknowledged write is
    /// among them.
    pub cut_bytes: u64,
}

/// An end of the log, counted from the checkpoint that the recovery has loaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LogPosition {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

impl LogPosition {
    /// The growth since an earlier position.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { records: self.records - earlier.records, bytes: self.bytes - earlier.bytes }
    }
}

/// Counters of the log thread. Relaxed: no other data depends on them.
#[derive(Default)]
pub(crate) struct LogCounters {
    /// The records of the log that the recovery has replayed.
    replayed: LogPosition,
    records: AtomicU64,
    groups: AtomicU64,
    syncs: AtomicU64,
    bytes: AtomicU64,
    files: AtomicU64,
    writes: Times,
    /// Those that sync.
    syncing: Times,
}

/// A histogram of times.
#[derive(Default)]
struct Times {
    nanoseconds: AtomicU64,
    buckets: [AtomicU64; WRITE_MICROSECONDS.len() + 1],
}

impl Times {
    fn add(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        let bucket = WRITE_MICROSECONDS.iter().position(|&most| time.as_micros() <= u128::from(most));
        self.buckets[bucket.unwrap_or(WRITE_MICROSECONDS.len())].fetch_add(1, Ordering::Relaxed);
    }

    /// The sum, and the counts by the times.
    fn load(&self) -> (Duration, [u64; WRITE_MICROSECONDS.len() + 1]) {
        let sum = Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed));
        (sum, std::array::from_fn(|bucket| self.buckets[bucket].load(Ordering::Relaxed)))
    }
}

impl LogCounters {
    pub(crate) fn after(replayed: LogPosition) -> Self {
        Self { replayed, ..Self::default() }
    }

    /// The end of the log. It never goes back, although another thread may count meanwhile.
    pub(crate) fn position(&self) -> LogPosition {
        LogPosition {
            records: self.replayed.records + self.records.load(Ordering::Relaxed),
            bytes: self.replayed.bytes + self.bytes.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn record(&self, writer: &LogWriter, records: u64, time: Duration, syncs: bool) {
        let add = |counter: &AtomicU64, more| counter.fetch_add(more, Ordering::Relaxed);
        add(&self.records, records);
        add(&self.groups, 1);
        add(&self.syncs, u64::from(syncs));
        self.writes.add(time);
        if syncs {
            self.syncing.add(time);
        }
        self.bytes.store(writer.written_bytes(), Ordering::Relaxed);
        self.set_files(writer.files());
    }

    pub(crate) fn set_files(&self, files: usize) {
        self.files.store(files as u64, Ordering::Relaxed);
    }

    /// The number of log files.
    pub(crate) fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed).max(1)
    }

    pub(crate) fn fill(&self, statistics: &mut DurabilityStatistics) {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        statistics.records = load(&self.records);
        statistics.groups = load(&self.groups);
        statistics.syncs = load(&self.syncs);
        statistics.bytes = load(&self.bytes);
        statistics.files = self.files() as usize;
        (statistics.write_time, statistics.write_times) = self.writes.load();
        (statistics.sync_time, statistics.sync_times) = self.syncing.load();
    }
}

//! The newest records of the log in memory, for readers of changes that keep up. Readers that do not keep up
//! continue with the files, so the memory is bounded whatever they do.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_btree::Version;
use honeycomb_memory::sync::{AtomicU64, AtomicUsize, Ordering};

/// Most bytes of changes in memory.
const BYTES_MAX: usize = 16 << 20;

/// A record in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecentRecord {
    pub(crate) version: Version,
    pub(crate) changes: Box<[u8]>,
}

/// The newest records. There are none while nobody reads changes.
#[derive(Default)]
pub(crate) struct Recent {
    readers: AtomicUsize,
    positions: Mutex<Vec<Arc<AtomicU64>>>,
    records: Mutex<Records>,
}

#[derive(Default)]
struct Records {
    /// All records after this version, up to that of the last record of the log, are here.
    start: Version,
    newest: VecDeque<RecentRecord>,
    bytes: usize,
}

/// The registration of a reader. Dropping it ends the registration.
pub(crate) struct Reading {
    recent: Arc<Recent>,
    position: Arc<AtomicU64>,
}

impl Recent {
    /// Registers a reader that has read all records up to a version.
    pub(crate) fn read(self: &Arc<Self>, version: Version) -> Reading {
        let position = Arc::new(AtomicU64::new(version));
        self.lock_positions().push(position.clone());
        self.readers.fetch_add(1, Ordering::Relaxed);
        Reading { recent: self.clone(), position }
    }

    /// The version up to which all readers have read all records.
    pub(crate) fn slowest(&self) -> Option<Version> {
        self.lock_positions().iter().map(|position| position.load(Ordering::Relaxed)).min()
    }

    /// The number of readers.
    pub(crate) fn readers(&self) -> usize {
        self.readers.load(Ordering::Relaxed)
    }

    /// Adds records that are in the files now. `last` is the version of the last record before them.
    pub(crate) fn add(&self, last: Version, records: Vec<RecentRecord>) {
        let mut kept = self.lock();
        if kept.newest.back().map_or(kept.start, |record| record.version) != last {
            *kept = Records { start: last, ..Records::default() };
        }
        for record in records {
            kept.bytes += record.changes.len();
            kept.newest.push_back(record);
        }
        while kept.bytes > BYTES_MAX
            && let Some(oldest) = kept.newest.pop_front()
        {
            kept.bytes -= oldest.changes.len();
            kept.start = oldest.version;
        }
    }

    /// Passes the records after a version to `use_record` until it returns false. Returns false, without a
    /// record, if the next one is not here: newer records may be in the files, because nobody read them.
    pub(crate) fn after(&self, version: Version, mut use_record: impl FnMut(&RecentRecord) -> bool) -> bool {
        let kept = self.lock();
        let newest = kept.newest.back().map_or(0, |record| record.version);
        if version < kept.start || newest <= version {
            return false;
        }
        let first = kept.newest.partition_point(|record| record.version <= version);
        let _stopped = kept.newest.range(first..).all(&mut use_record);
        true
    }

    fn lock_positions(&self) -> MutexGuard<'_, Vec<Arc<AtomicU64>>> {
        self.positions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reading {
    /// States that the reader has read all records up to a version.
    pub(crate) fn advance(&self, version: Version) {
        self.position.store(version, Ordering::Relaxed);
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.recent.lock_positions().retain(|other| !Arc::ptr_eq(other, &self.position));
        if self.recent.readers.fetch_sub(1, Ordering::Relaxed) == 1 {
            *self.recent.lock() = Records::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use honeycomb_log::Changes;

    use super::*;

    fn record(version: u64, bytes: usize) -> RecentRecord {
        let mut changes = Changes::default();
        changes.put(1, b"key", &vec![0; bytes]);
        RecentRecord { version, changes: changes.bytes().into() }
    }

    fn versions(recent: &Recent, after: u64) -> Option<Vec<u64>> {
        let mut found = Vec::new();
        let is_here = recent.after(after, |record| {
            found.push(record.version);
            true
        });
        is_here.then_some(found)
    }

    #[test]
    fn records_stay_up_to_a_limit_and_without_gaps() {
        let recent = Arc::new(Recent::default());
        let reading = recent.read(5);
        recent.add(5, vec![record(7, 10), record(8, 10)]);
        assert_eq!(versions(&recent, 4), None);
        assert_eq!(versions(&recent, 5), Some(vec![7, 8]));
        assert_eq!((versions(&recent, 7), versions(&recent, 8)), (Some(vec![8]), None));
        recent.add(8, vec![record(9, BYTES_MAX)]);
        assert_eq!(versions(&recent, 8), None);
        recent.add(9, vec![record(12, 10)]);
        assert_eq!((versions(&recent, 8), versions(&recent, 9)), (None, Some(vec![12])));
        // Records that were written while nobody read are a gap.
        recent.add(20, vec![record(21, 10)]);
        assert_eq!((versions(&recent, 12), versions(&recent, 20)), (None, Some(vec![21])));
        drop(reading);
        assert_eq!((recent.readers(), versions(&recent, 20)), (0, None));
    }

    /// The thread of the log adds records a little after the last reader has ended, and then none.
    #[test]
    fn records_that_nobody_read_are_only_in_the_files() {
        let recent = Arc::new(Recent::default());
        recent.add(5, vec![record(7, 10)]);
        let _reading = recent.read(5);
        assert_eq!((versions(&recent, 6), versions(&recent, 7)), (Some(vec![7]), None));
    }
}

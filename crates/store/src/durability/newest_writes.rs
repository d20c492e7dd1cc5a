//! The versions of the newest writes, by key: whether a pair that a reader has seen is durable.
//!
//! 1. A writer raises the slot of each of its keys to its version before it releases the version, relaxed. It
//!    does so only under the policy `always`; a change to it raises the version that counts for all keys.
//! 2. A reader that has acquired a read version loads the slots of its keys afterwards. The release of the
//!    version orders the stores before that load, so a slot has at least the version of the newest write that
//!    the reader can have seen.
//!
//! Keys share slots, so a slot may have the version of another key: a reader then waits longer than
//! necessary.

use honeycomb_btree::Version;
use honeycomb_log::{Change, Changes, changes};
use honeycomb_memory::sync::{AtomicU64, Ordering};

/// Slots: many times as many as keys that are written during one write of the log.
const SLOTS: usize = 1 << 14;
/// A record with more bytes counts as a write of all keys.
const RECORD_BYTES_MAX: usize = 16 << 10;

pub(crate) struct NewestWrites {
    slots: Box<[AtomicU64]>,
    /// The version of the newest write that may concern any key.
    all: AtomicU64,
}

impl NewestWrites {
    pub(crate) fn new() -> Self {
        Self { slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(), all: AtomicU64::new(0) }
    }

    /// Notes the changes of a version that is not released yet.
    pub(crate) fn note(&self, version: Version, record: &Changes) {
        if record.bytes().len() > RECORD_BYTES_MAX {
            return self.note_all(version);
        }
        for change in changes(record.bytes()) {
            let newest = match change {
                Ok(Change::Put { tree, key, .. } | Change::Delete { tree, key }) => self.slot(tree, key),
                Ok(Change::Old { .. }) => continue,
                _ => &self.all,
            };
            newest.fetch_max(version, Ordering::Relaxed);
        }
    }

    /// Notes a write that may concern any key.
    pub(crate) fn note_all(&self, version: Version) {
        self.all.fetch_max(version, Ordering::Relaxed);
    }

    /// Returns a version that is at or above that of the newest write to a key, among the versions that the
    /// caller has seen as read versions.
    pub(crate) fn of(&self, tree: u64, key: &[u8]) -> Version {
        self.slot(tree, key).load(Ordering::Relaxed).max(self.all.load(Ordering::Relaxed))
    }

    fn slot(&self, tree: u64, key: &[u8]) -> &AtomicU64 {
        &self.slots[crc32c::crc32c_append(tree as u32, key) as usize % SLOTS]
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::*;

    fn record(fill: impl FnOnce(&mut Changes)) -> Changes {
        let mut record = Changes::default();
        fill(&mut record);
        record
    }

    #[test]
    fn a_write_raises_its_own_keys_and_a_range_all() {
        let newest = NewestWrites::new();
        let keys: Vec<_> = (0..100_u32).map(u32::to_be_bytes).collect();
        let raised = |least: u64| keys.iter().filter(|key| newest.of(1, *key) >= least).count();
        newest.note(5, &record(|record| record.put(1, &keys[7], b"value")));
        newest.note(3, &record(|record| record.delete(1, &keys[7])));
        assert_eq!(newest.of(1, &keys[7]), 5, "an earlier version changes nothing");
        assert!(raised(5) < 10, "few keys share a slot: {}", raised(5));
        newest.note(8, &record(|record| record.delete_range(2, Bound::Unbounded, Bound::Unbounded)));
        assert_eq!((raised(8), raised(9)), (100, 0));
    }

    #[test]
    fn a_long_record_raises_all_keys() {
        let newest = NewestWrites::new();
        let header = record(|record| record.put(1, b"a", b"")).bytes().len();
        let with_bytes = |bytes| record(|record| record.put(1, b"a", &vec![0; bytes - header]));
        newest.note(5, &with_bytes(RECORD_BYTES_MAX));
        assert_eq!((newest.of(1, b"a"), newest.of(1, b"b")), (5, 0));
        newest.note(6, &with_bytes(RECORD_BYTES_MAX + 1));
        assert_eq!(newest.of(1, b"b"), 6);
    }
}

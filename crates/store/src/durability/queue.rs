//! The records that wait for the log: short ones in a ring with a slot for each version, which writers fill
//! without locks and without memory of their own; long ones beside it, each behind a lock.
//!
//! Writers never wait for each other here. A slot is still occupied only if the log is behind by the size of
//! the ring; then its next writer waits for the log.
//!
//! 1. A writer stores a long record into `long[slot of v]` before it puts the mark of v into the ring, and
//!    only when the slot of v in the ring is free.
//! 2. The thread that takes records removes it after it has found the mark, and keeps its memory for a later
//!    one in `spare`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_btree::Version;
use honeycomb_log::Changes;
use honeycomb_memory::sync::{AtomicU64, Ordering};
use honeycomb_memory::{RECORD_RING, RING_RECORD_BYTES_MAX, RecordRing};

pub(crate) struct Queue {
    ring: RecordRing,
    long: Box<[Mutex<Changes>]>,
    long_bytes: AtomicU64,
    /// Empty records, whose memory later long records use. A thread that finds it locked does without it.
    spare: Mutex<Vec<Changes>>,
}

/// Maximum number of spare records, and of the bytes of their memory each.
const SPARES_MAX: usize = 256;
const SPARE_BYTES_MAX: usize = 16 << 10;

impl Queue {
    /// The queue of the records after a version.
    pub(crate) fn new(version: Version) -> Self {
        let long = (0..RECORD_RING).map(|_| Mutex::default()).collect();
        let (ring, long_bytes) = (RecordRing::new(version), AtomicU64::new(0));
        Self { ring, long, long_bytes, spare: Mutex::default() }
    }

    /// Takes the record of a version that is not released yet, and leaves no changes.
    #[inline]
    pub(crate) fn put(&self, version: Version, changes: &mut Changes) {
        self.ring.wait_for_slot(version);
        if changes.bytes().len() > RING_RECORD_BYTES_MAX {
            return self.put_long(version, changes);
        }
        self.ring.put(version, Some(changes.bytes()));
        changes.clear();
    }

    #[inline(never)]
    fn put_long(&self, version: Version, changes: &mut Changes) {
        // Another thread has the lock for a moment only, but a writer waits for no other one.
        let spare = self.spare.try_lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default();
        let record = std::mem::replace(changes, spare);
        // Relaxed: the number only limits the memory.
        self.long_bytes.fetch_add(record.bytes().len() as u64, Ordering::Relaxed);
        *self.lock(version) = record;
        self.ring.put(version, None);
    }

    /// Removes a long record.
    fn remove(&self, record: &mut Changes) {
        self.long_bytes.fetch_sub(record.bytes().len() as u64, Ordering::Relaxed);
        let mut record = std::mem::take(record);
        record.clear();
        if record.capacity() <= SPARE_BYTES_MAX
            && let Ok(mut spare) = self.spare.try_lock()
            && spare.len() < SPARES_MAX
        {
            spare.push(record);
        }
    }

    /// Passes the records after those that were taken, up to a read version, to `use_record`. A record with
    /// which it fails is the first one of the next call. One thread at a time calls this.
    pub(crate) fn take<E>(
        &self,
        read_version: Version,
        mut use_record: impl FnMut(Version, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.ring.take(read_version, |version, record| match record {
            Some(record) => use_record(version, record),
            None => {
                let mut long = self.lock(version);
                use_record(version, long.bytes())?;
                self.remove(&mut long);
                Ok(())
            }
        })
    }

    /// The version up to which all records were taken.
    pub(crate) fn taken(&self) -> Version {
        self.ring.taken()
    }

    /// The bytes of the long records that were not taken. The memory of the others is limited by the ring.
    pub(crate) fn long_bytes(&self) -> u64 {
        self.long_bytes.load(Ordering::Relaxed)
    }

    /// The bytes of all records up to a version that were not taken: at most these, because some versions
    /// have none.
    pub(crate) fn bytes(&self, version: Version) -> u64 {
        self.long_bytes() + version.saturating_sub(self.taken()) * RING_RECORD_BYTES_MAX as u64
    }

    fn lock(&self, version: Version) -> MutexGuard<'_, Changes> {
        locked(&self.long[RecordRing::slot(version)])
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(version: Version, bytes: usize) -> Changes {
        let mut changes = Changes::default();
        changes.put(version, b"key", &vec![7; bytes]);
        changes
    }

    fn take(queue: &Queue, up_to: Version) -> Vec<(Version, Vec<u8>)> {
        let mut taken = Vec::new();
        let all = queue.take(up_to, |version, record| {
            taken.push((version, record.to_vec()));
            Ok::<(), ()>(())
        });
        assert_eq!(all, Ok(()));
        taken
    }

    #[test]
    fn records_of_all_lengths_leave_in_the_order_of_their_versions() {
        let queue = Queue::new(9);
        let versions = [10, 12, 14, 16, 18, 20, 22];
        let lengths = [0, 1, 90, 101, 102, 500, 100_000];
        let record = |index: usize| changes(versions[index], lengths[index]);
        for index in [3, 0, 6, 2, 1, 5, 4] {
            let mut changes = record(index);
            queue.put(versions[index], &mut changes);
            assert!(changes.is_empty());
        }
        let expected = |index: usize| (versions[index], record(index).bytes().to_vec());
        assert_eq!(take(&queue, 14), [0, 1, 2].map(expected));
        let long_bytes: usize = [4, 5, 6].map(|index| record(index).bytes().len()).iter().sum();
        assert_eq!(queue.long_bytes(), long_bytes as u64);
        assert_eq!(take(&queue, 30), [3, 4, 5, 6].map(expected));
        assert_eq!((queue.bytes(30), queue.taken()), (0, 30));
    }

    #[test]
    fn later_records_use_the_memory_of_earlier_ones() {
        let queue = Queue::new(0);
        let lengths = [1000, 3000, SPARE_BYTES_MAX];
        lengths
            .iter()
            .zip(1..)
            .for_each(|(bytes, version)| queue.put(version, &mut changes(version, *bytes)));
        assert_eq!(take(&queue, 3).len(), 3);
        let mut last = changes(4, 1000);
        let empty = [4, 5, 6].map(|version| {
            queue.put(version, &mut last);
            let (is_empty, capacity) = (last.is_empty(), last.capacity());
            last = changes(version, 1000);
            (is_empty, capacity > 0)
        });
        assert_eq!(empty, [(true, true), (true, true), (true, false)], "the longest one was freed");
    }

    #[test]
    fn a_long_record_that_was_not_used_is_the_next_one() {
        let queue = Queue::new(0);
        queue.put(1, &mut changes(1, 1000));
        assert_eq!(queue.take(1, |_, _| Err(())), Err(()));
        assert_eq!(take(&queue, 1), [(1, changes(1, 1000).bytes().to_vec())]);
    }
}

//! The records that wait for the log: a ring with a slot for each version.
//!
//! A writer puts its record into the slot of its version before it releases the version. So a thread that has
//! read the read version finds the record of every version up to it, and an empty slot means that the version
//! has no record. Writers never wait for each other here. A slot is still occupied only if the log is behind
//! by the size of the ring; then its next writer waits for the log.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use honeycomb_log::{Changes, Pending};
use honeycomb_memory::sync::{AtomicU64, Ordering, thread};

/// Slots of the ring: many times as many as versions can be unreleased at one time.
const SLOTS: usize = 1 << 16;

/// Bytes of memory that a record occupies in addition to its changes, approximately.
const RECORD_BYTES: u64 = 64;

pub(crate) struct Queue {
    slots: Box<[Mutex<Option<Pending>>]>,
    bytes: AtomicU64,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self { slots: (0..SLOTS).map(|_| Mutex::default()).collect(), bytes: AtomicU64::new(0) }
    }

    /// Adds the record of a version that is not released yet.
    pub(crate) fn put(&self, version: u64, changes: Changes) {
        // Relaxed: the number only limits the memory.
        self.bytes.fetch_add(RECORD_BYTES + changes.bytes().len() as u64, Ordering::Relaxed);
        let mut record = Some(Pending { version, changes });
        while record.is_some() {
            let mut slot = self.slot(version);
            if slot.is_none() {
                *slot = record.take();
            } else {
                drop(slot);
                thread::yield_now();
            }
        }
    }

    /// Moves the records of the versions after `after` up to `up_to`, which is at most the read version, to
    /// the end of `records`. One thread at a time calls this.
    pub(crate) fn take(&self, after: u64, up_to: u64, records: &mut VecDeque<Pending>) {
        let mut bytes = 0;
        for version in after + 1..=up_to {
            if let Some(record) = self.slot(version).take() {
                bytes += RECORD_BYTES + record.changes.bytes().len() as u64;
                records.push_back(record);
            }
        }
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The bytes of all records that were not taken.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn slot(&self, version: u64) -> std::sync::MutexGuard<'_, Option<Pending>> {
        self.slots[version as usize % SLOTS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_leave_in_the_order_of_their_versions() {
        let (queue, mut taken) = (Queue::new(), VecDeque::new());
        let changes = |version: u64| {
            let mut changes = Changes::default();
            changes.put(version, b"key", b"");
            changes
        };
        [12, 10, 13].into_iter().for_each(|version| queue.put(version, changes(version)));
        queue.take(9, 12, &mut taken);
        assert_eq!(taken.iter().map(|record| record.version).collect::<Vec<_>>(), [10, 12]);
        queue.take(12, 20, &mut taken);
        assert_eq!(taken.pop_back(), Some(Pending { version: 13, changes: changes(13) }));
        assert_eq!(queue.bytes(), 0);
    }
}

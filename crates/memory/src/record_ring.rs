//! Records that writers pass to one thread in the order of their versions, without locks.
//!
//! A writer puts the record of a version into the slot of the version before it releases the version. So a
//! thread that has acquired a read version finds the records of all versions up to it. A slot with another
//! version means that this version has no record.
//!
//! Access to the fields:
//! 1. `slots[v % RECORD_RING]`: the owner of version v stores the words and the tag, relaxed, after it has
//!    taken v and before it releases v. The thread that takes records loads them, relaxed, after it has
//!    acquired a read version of v or more. The release of v orders both.
//! 2. `taken`: the thread that takes records stores t, release, after it has loaded the slots of all versions
//!    up to t. A writer loads it, acquire, and stores to the slot of version v only when it is at least
//!    `v - RECORD_RING`.
//!
//! One thread at a time takes records. A lock that the caller holds orders these threads.

use crate::sync::{AtomicU64, Ordering, Padded, thread};

/// Slots of the ring: many times as many as versions can be unreleased at one time.
#[cfg(not(loom))]
pub const RECORD_RING: usize = 1 << 16;
#[cfg(loom)]
pub const RECORD_RING: usize = 2;

#[cfg(not(loom))]
const WORDS: usize = 15;
#[cfg(loom)]
const WORDS: usize = 1;

/// Maximum length of a record in bytes.
pub const RING_RECORD_BYTES_MAX: usize = WORDS * size_of::<u64>();

/// The length in the tag of a record that is elsewhere.
const ELSEWHERE: u64 = LENGTH_MASK;
/// A tag is a version, without its highest bits, and a length.
const LENGTH_BITS: u32 = 8;
const LENGTH_MASK: u64 = (1 << LENGTH_BITS) - 1;

/// A ring with a slot for each version.
pub struct RecordRing {
    slots: Box<[Slot]>,
    taken: Padded<AtomicU64>,
}

/// Two cache lines, which the processor reads together.
#[repr(align(128))]
#[derive(Default)]
struct Slot {
    tag: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl RecordRing {
    /// Creates a ring for the records of the versions after `version`.
    #[must_use]
    pub fn new(version: u64) -> Self {
        let slots = (0..RECORD_RING).map(|_| Slot::default()).collect();
        Self { slots, taken: Padded(AtomicU64::new(version)) }
    }

    /// The index of the slot of a version.
    #[must_use]
    pub fn slot(version: u64) -> usize {
        version as usize % RECORD_RING
    }

    /// The version up to which all records were taken.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken.0.load(Ordering::Acquire)
    }

    /// Waits until the slot of a version is free. The caller has taken this version.
    #[inline]
    pub fn wait_for_slot(&self, version: u64) {
        while version.saturating_sub(self.taken()) > RECORD_RING as u64 {
            thread::yield_now();
        }
    }

    /// Puts the record of a version that the caller has taken and not yet released. Its slot is free. `None`:
    /// the record is elsewhere.
    ///
    /// # Panics
    /// If the record is longer than [`RING_RECORD_BYTES_MAX`].
    #[inline]
    pub fn put(&self, version: u64, record: Option<&[u8]>) {
        let slot = &self.slots[Self::slot(version)];
        let length = record.map_or(ELSEWHERE, |record| record.len() as u64);
        let (whole, rest) = record.unwrap_or_default().as_chunks();
        for (word, bytes) in slot.words[..whole.len()].iter().zip(whole) {
            word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
        }
        if !rest.is_empty() {
            let mut bytes = [0; size_of::<u64>()];
            bytes[..rest.len()].copy_from_slice(rest);
            slot.words[whole.len()].store(u64::from_le_bytes(bytes), Ordering::Relaxed);
        }
        slot.tag.store(version << LENGTH_BITS | length, Ordering::Relaxed);
    }

    /// Passes the records of all versions after the last taken one, up to a read version that the caller has
    /// acquired, to `use_record`; `None` for a record that is elsewhere. A record with which it fails is the
    /// first one of the next call.
    ///
    /// # Errors
    /// Those of `use_record`.
    pub fn take<E>(
        &self,
        read_version: u64,
        mut use_record: impl FnMut(u64, Option<&[u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (start, mut used) = (self.taken.0.load(Ordering::Relaxed), Ok(()));
        let mut taken = start;
        while taken < read_version && used.is_ok() {
            used = self.slots[Self::slot(taken + 1)].use_record(taken + 1, &mut use_record);
            taken += u64::from(used.is_ok());
        }
        if taken > start {
            self.taken.0.store(taken, Ordering::Release);
        }
        used
    }
}

impl Slot {
    fn use_record<E>(
        &self,
        version: u64,
        use_record: impl FnOnce(u64, Option<&[u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        let tag = self.tag.load(Ordering::Relaxed);
        let length = (tag & LENGTH_MASK) as usize;
        if tag != version << LENGTH_BITS | length as u64 {
            return Ok(());
        }
        if length as u64 == ELSEWHERE {
            return use_record(version, None);
        }
        let mut bytes = [0; RING_RECORD_BYTES_MAX];
        for (bytes, word) in bytes.chunks_mut(size_of::<u64>()).zip(&self.words).take(length.div_ceil(8)) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        use_record(version, Some(&bytes[..length]))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn take(ring: &RecordRing, up_to: u64) -> Vec<(u64, Option<Vec<u8>>)> {
        let mut records = Vec::new();
        let taken = ring.take(up_to, |version, record| {
            records.push((version, record.map(<[u8]>::to_vec)));
            Ok::<(), ()>(())
        });
        assert_eq!(taken, Ok(()));
        records
    }

    #[test]
    fn records_leave_in_the_order_of_their_versions() {
        let ring = RecordRing::new(9);
        let bytes: Vec<u8> = (1..=RING_RECORD_BYTES_MAX as u8).collect();
        ring.put(12, Some(&bytes));
        ring.put(10, Some(&bytes[..13]));
        ring.put(13, None);
        assert_eq!(take(&ring, 12), [(10, Some(bytes[..13].to_vec())), (12, Some(bytes.clone()))]);
        assert_eq!(take(&ring, 20), [(13, None)]);
        assert_eq!((take(&ring, 20), ring.taken()), (Vec::new(), 20));
        // The slot of an earlier round.
        let next = 10 + RECORD_RING as u64;
        ring.put(next, Some(&[]));
        assert_eq!(take(&ring, next + 5), [(next, Some(Vec::new()))]);
    }

    #[test]
    fn a_record_that_was_not_used_is_the_next_one() {
        let ring = RecordRing::new(0);
        (1..=3).for_each(|version| ring.put(version, Some(&[version as u8])));
        let stopped = ring.take(3, |version, _| if version == 2 { Err(version) } else { Ok(()) });
        assert_eq!((stopped, ring.taken()), (Err(2), 1));
        assert_eq!(take(&ring, 3), [(2, Some(vec![2])), (3, Some(vec![3]))]);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;

    use super::*;
    use crate::versions::Versions;

    struct Shared {
        versions: Versions,
        ring: RecordRing,
    }

    /// Takes a version and puts a record that depends on it, as a writer does.
    fn write(shared: &Shared) {
        let version = shared.versions.next();
        shared.ring.wait_for_slot(version);
        shared.ring.put(version, Some(&[version as u8]));
        shared.versions.release(version, |_| ());
    }

    /// Takes the records of all versions that are visible, and checks that there is one for each.
    fn take(shared: &Shared) {
        let (visible, mut next) = (shared.versions.read_version(), shared.ring.taken() + 1);
        let taken = shared.ring.take(visible, |version, record| {
            assert_eq!((version, record), (next, Some(&[version as u8][..])));
            next += 1;
            Ok::<(), ()>(())
        });
        assert_eq!((taken, next), (Ok(()), visible + 1));
    }

    fn shared() -> Arc<Shared> {
        Arc::new(Shared { versions: Versions::new(0), ring: RecordRing::new(0) })
    }

    /// Every visible version has its record. Fails if a writer puts it after the release.
    #[test]
    fn loom_a_visible_version_has_its_record() {
        loom::model(|| {
            let shared = shared();
            let other = shared.clone();
            let writer = loom::thread::spawn(move || write(&other));
            write(&shared);
            take(&shared);
            writer.join().unwrap();
            take(&shared);
        });
    }

    /// No writer overwrites a record that was not taken. Fails if a writer does not wait for its slot.
    #[test]
    fn loom_no_record_is_overwritten() {
        loom::model(|| {
            let shared = shared();
            let other = shared.clone();
            let writer = loom::thread::spawn(move || (0..3).for_each(|_| write(&other)));
            take(&shared);
            while shared.ring.taken() < 3 {
                thread::yield_now();
                take(&shared);
            }
            writer.join().unwrap();
        });
    }
}

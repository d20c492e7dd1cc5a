//! The lock-and-size word: who may write to a published node, and what of it readers may read.
//!
//! 1. Unlocked: anybody may lock it by compare-and-swap from the word it has seen; so a word that was seen
//!    and locked is the word as it was seen, with nothing published in between (2^31 publications would have
//!    to be).
//! 2. Locked: only the holder stores it. It may write the bytes past the published size, and publishes them
//!    with the new size, the next sequence number and the lock bit clear in one release store.
//! 3. Anybody loads it with acquire, and then reads no further than the size in it.
//! 4. In a buffer that was replaced the lock bit stays set.

use honeycomb_layout::{LOG_ENTRIES_MAX, lock_and_size as layout};

use crate::arena::{MappedWord, Word};
use crate::sync::Ordering;

/// What is in a lock-and-size word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockAndSize(u64);

impl LockAndSize {
    /// The word of a new node: unlocked, sequence number 0.
    ///
    /// # Panics
    /// If `size` or `log_count` is wider than its field.
    #[must_use]
    #[inline]
    pub fn new(size: usize, log_count: usize) -> Self {
        Self(0).with(size, log_count)
    }

    /// Whether a writer holds the node, or it was replaced.
    #[must_use]
    #[inline]
    pub fn locked(self) -> bool {
        layout::lock(self.0) != 0
    }

    /// How often the node was published, modulo 2^31.
    #[must_use]
    #[inline]
    pub fn sequence(self) -> u64 {
        layout::sequence_number(self.0)
    }

    /// Bytes of the node in use, from its start to the end of its log block.
    #[must_use]
    #[inline]
    pub fn size(self) -> usize {
        layout::size(self.0) as usize
    }

    /// Entries in the log block.
    #[must_use]
    #[inline]
    pub fn log_count(self) -> usize {
        layout::log_count(self.0) as usize
    }

    #[inline]
    fn with(self, size: usize, log_count: usize) -> Self {
        assert!(size as u64 <= layout::SIZE_MASK, "a node of {size} bytes");
        assert!(log_count <= LOG_ENTRIES_MAX, "{log_count} log entries");
        Self(layout::with_log_count(layout::with_size(self.0, size as u64), log_count as u64))
    }

    #[inline]
    fn next(self, size: usize, log_count: usize) -> Self {
        let sequence = (self.sequence() + 1) & layout::SEQUENCE_NUMBER_MASK;
        Self(layout::with_sequence_number(self.0, sequence)).with(size, log_count)
    }
}

impl From<u64> for LockAndSize {
    #[inline]
    fn from(word: u64) -> Self {
        Self(word)
    }
}

impl From<LockAndSize> for u64 {
    #[inline]
    fn from(word: LockAndSize) -> Self {
        word.0
    }
}

/// The lock-and-size word of a published node.
#[derive(Debug)]
pub(crate) struct LockWord<'a, W = MappedWord>(pub(crate) &'a W);

impl<W: Word> LockWord<'_, W> {
    #[inline]
    pub(crate) fn load(&self) -> LockAndSize {
        LockAndSize(self.0.load(Ordering::Acquire))
    }

    /// Locks the word if it is still what was seen, and that was unlocked.
    #[inline]
    pub(crate) fn try_lock(&self, seen: LockAndSize) -> bool {
        let locked = layout::with_lock(seen.0, 1);
        !seen.locked()
            && self.0.compare_exchange(seen.0, locked, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Of the holder, who saw `seen`: publishes a size and a log count, and unlocks.
    #[inline]
    pub(crate) fn publish(&self, seen: LockAndSize, size: usize, log_count: usize) {
        self.0.store(seen.next(size, log_count).0, Ordering::Release);
    }

    /// Of the holder, who saw `seen`: unlocks, with nothing published. What it wrote past the published size
    /// is ordered before what the next holder writes there.
    #[inline]
    pub(crate) fn unlock(&self, seen: LockAndSize) {
        self.0.store(seen.0, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::*;
    use crate::sync::{Arc, AtomicU64};

    /// A node: its lock-and-size word, and one cell for all bytes from 64 on. Published from size 72 on.
    struct Shared {
        word: AtomicU64,
        tail: UnsafeCell<u32>,
    }

    impl Shared {
        fn new() -> Arc<Self> {
            let word = AtomicU64::new(LockAndSize::new(64, 0).into());
            Arc::new(Self { word, tail: UnsafeCell::new(0) })
        }

        fn word(&self) -> LockWord<'_, AtomicU64> {
            LockWord(&self.word)
        }

        /// Locks the node unless it is locked; then adds to the tail, which loom watches for a second holder.
        fn write(&self, finish: impl FnOnce(&LockWord<'_, AtomicU64>, LockAndSize)) -> bool {
            let word = self.word();
            let seen = word.load();
            let locked = word.try_lock(seen);
            if locked {
                // SAFETY: the lock is held; loom checks that nobody else is here.
                self.tail.with_mut(|tail| unsafe { *tail += 1 });
                finish(&word, seen);
            }
            locked
        }
    }

    fn run(first: impl Fn(&Shared) -> bool, second: impl Fn(&Shared) -> bool + Copy + Send + 'static) {
        let shared = Shared::new();
        let other = thread::spawn({
            let shared = shared.clone();
            move || second(&shared)
        });
        let writes = u32::from(first(&shared)) + u32::from(other.join().unwrap());
        // SAFETY: the other thread is gone.
        let tail = shared.tail.with(|tail| unsafe { *tail });
        assert!(writes > 0 && writes == tail);
        assert!(!shared.word().load().locked());
    }

    /// Fails if `try_lock` or the store in `unlock` is weakened to Relaxed.
    #[test]
    fn loom_one_holder_at_a_time() {
        let write = |shared: &Shared| shared.write(|word, seen| word.unlock(seen));
        loom::model(move || run(write, write));
    }

    /// Fails if the store in `publish` is weakened to Relaxed, or if `try_lock` takes a locked word.
    #[test]
    fn loom_a_holder_sees_what_the_one_before_published() {
        let write = |shared: &Shared| shared.write(|word, seen| word.publish(seen, seen.size() + 8, 0));
        loom::model(move || run(write, write));
    }

    /// Fails if the store in `publish` or the load in `load` is weakened to Relaxed.
    #[test]
    fn loom_who_sees_a_size_sees_the_bytes() {
        loom::model(|| {
            let shared = Shared::new();
            let reader = thread::spawn({
                let shared = shared.clone();
                move || {
                    if shared.word().load().size() == 72 {
                        // SAFETY: the bytes up to 72 are published; loom checks that nobody writes them.
                        assert_eq!(shared.tail.with(|tail| unsafe { *tail }), 1);
                    }
                }
            });
            assert!(shared.write(|word, seen| word.publish(seen, 72, 1)));
            reader.join().unwrap();
        });
    }
}

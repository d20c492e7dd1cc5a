//! The lock-and-size word: it grants the right to write to a published node, and limits the bytes that
//! readers may read.
//!
//! 1. Unlocked: any thread may lock the node by compare-and-swap from the word that it has loaded. If the
//!    compare-and-swap succeeds, no writer has published since that load, because the sequence number counts
//!    publications modulo 2^31.
//! 2. Locked: only the lock holder stores the word. It may write the bytes past the published size. It
//!    publishes them with one release store of the new size and the next sequence number, with a clear lock
//!    bit.
//! 3. Any thread loads the word with acquire, and then reads no byte past the size in it.
//! 4. The lock bit of a replaced buffer stays set.

use honeycomb_layout::{LOG_ENTRIES_MAX, lock_and_size as layout};

use crate::arena::{MappedWord, Word};
use crate::sync::Ordering;

/// The value of a lock-and-size word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockAndSize(u64);

impl LockAndSize {
    /// Creates the word of a new node: unlocked, with sequence number 0.
    ///
    /// # Panics
    /// If `size` or `log_count` is wider than its field.
    #[must_use]
    #[inline]
    pub fn new(size: usize, log_count: usize) -> Self {
        Self(0).with(size, log_count)
    }

    /// Whether a writer has locked the node, or has replaced it.
    #[must_use]
    #[inline]
    pub fn locked(self) -> bool {
        layout::lock(self.0) != 0
    }

    /// Number of publications of the node, modulo 2^31.
    #[must_use]
    #[inline]
    pub fn sequence(self) -> u64 {
        layout::sequence_number(self.0)
    }

    /// Published size in bytes: from the start of the node to the end of its log block.
    #[must_use]
    #[inline]
    pub fn size(self) -> usize {
        layout::size(self.0) as usize
    }

    /// Number of entries in the log block.
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

    /// Locks the node if its word is still `seen` and `seen` is unlocked. Returns whether it has locked it.
    #[inline]
    pub(crate) fn try_lock(&self, seen: LockAndSize) -> bool {
        let locked = layout::with_lock(seen.0, 1);
        !seen.locked()
            && self.0.compare_exchange(seen.0, locked, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Publishes a size and a number of log entries, and unlocks the node. Only the lock holder, which locked
    /// the node at `seen`, may call it.
    #[inline]
    pub(crate) fn publish(&self, seen: LockAndSize, size: usize, log_count: usize) {
        self.0.store(seen.next(size, log_count).0, Ordering::Release);
    }

    /// Unlocks the node and publishes nothing. Only the lock holder, which locked the node at `seen`, may
    /// call it. The release orders its writes past the published size before the writes of the next holder.
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

    /// A node: its lock-and-size word, and one cell for all bytes from offset 64 on, which a size of 72 or
    /// more publishes.
    struct SharedNode {
        word: AtomicU64,
        tail: UnsafeCell<u32>,
    }

    impl SharedNode {
        fn new() -> Arc<Self> {
            let word = AtomicU64::new(LockAndSize::new(64, 0).into());
            Arc::new(Self { word, tail: UnsafeCell::new(0) })
        }

        fn word(&self) -> LockWord<'_, AtomicU64> {
            LockWord(&self.word)
        }

        /// Locks the node unless it is locked, and then writes to the tail. loom detects a second holder
        /// there.
        fn write(&self, finish: impl FnOnce(&LockWord<'_, AtomicU64>, LockAndSize)) -> bool {
            let word = self.word();
            let seen = word.load();
            let locked = word.try_lock(seen);
            if locked {
                // SAFETY: this thread holds the lock; loom checks that it is the only holder.
                self.tail.with_mut(|tail| unsafe { *tail += 1 });
                finish(&word, seen);
            }
            locked
        }
    }

    fn run(
        first: impl Fn(&SharedNode) -> bool,
        second: impl Fn(&SharedNode) -> bool + Copy + Send + 'static,
    ) {
        let shared = SharedNode::new();
        let other = thread::spawn({
            let shared = shared.clone();
            move || second(&shared)
        });
        let writes = u32::from(first(&shared)) + u32::from(other.join().unwrap());
        // SAFETY: the other thread has ended.
        let tail = shared.tail.with(|tail| unsafe { *tail });
        assert!(writes > 0 && writes == tail);
        assert!(!shared.word().load().locked());
    }

    /// Fails if `try_lock` or the store in `unlock` is weakened to Relaxed.
    #[test]
    fn loom_one_holder_at_a_time() {
        let write = |shared: &SharedNode| shared.write(|word, seen| word.unlock(seen));
        loom::model(move || run(write, write));
    }

    /// Fails if the store in `publish` is weakened to Relaxed, or if `try_lock` locks a locked word.
    #[test]
    fn loom_a_holder_sees_the_publication_of_the_previous_one() {
        let write = |shared: &SharedNode| shared.write(|word, seen| word.publish(seen, seen.size() + 8, 0));
        loom::model(move || run(write, write));
    }

    /// Fails if the store in `publish` or the load in `load` is weakened to Relaxed.
    #[test]
    fn loom_a_reader_of_a_size_sees_the_bytes() {
        loom::model(|| {
            let shared = SharedNode::new();
            let reader = thread::spawn({
                let shared = shared.clone();
                move || {
                    if shared.word().load().size() == 72 {
                        // SAFETY: the bytes below 72 are published; loom checks that no thread writes them.
                        assert_eq!(shared.tail.with(|tail| unsafe { *tail }), 1);
                    }
                }
            });
            assert!(shared.write(|word, seen| word.publish(seen, 72, 1)));
            reader.join().unwrap();
        });
    }
}

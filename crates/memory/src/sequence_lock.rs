//! Sequence locks: a writer excludes other writers, and a reader notices that a writer has interfered.
//!
//! 1. An even number: unlocked. Any thread may lock it: a compare-and-swap to the next number, with
//!    acquire, and then a release fence. The fence orders the number before every word that the holder
//!    stores.
//! 2. An odd number: only the holder may store the words that the lock protects, relaxed. It unlocks by a
//!    release store of the next even number.
//! 3. A reader loads the number with acquire until it is even, loads words, relaxed, has an acquire fence,
//!    and loads the number again. If it is unchanged, then all these words are of one moment: if one of
//!    them were stored by a later holder, the fences would make the number of that holder visible.
//! 4. A reader may lock it by a compare-and-swap from the number of its beginning, instead of loading the
//!    number again. If it succeeds, no other thread has held the lock since the beginning. A later holder
//!    acquires the release of this one, so these loads cannot return what the later holder stores.
//!
//! A reader waits while a writer holds the lock. A holder executes a bounded number of instructions, so a
//! reader waits no longer than that, except if the system has stopped the holder: then it waits until the
//! system continues it.

use crate::sync::{AtomicU64, Ordering, fence, hint, thread};

/// A sequence lock.
#[derive(Debug, Default)]
pub struct SequenceLock(AtomicU64);

/// The right to store the words that a sequence lock protects. Dropping it unlocks.
#[derive(Debug)]
#[must_use = "the lock is free again when it is dropped"]
pub struct SequenceGuard<'l> {
    lock: &'l SequenceLock,
    /// The odd number of this holder.
    number: u64,
}

/// Attempts before a waiting thread yields its processor: the holder may need it.
const SPINS: u32 = 64;

impl SequenceLock {
    /// Locks it. Waits while another thread holds it.
    #[inline]
    pub fn lock(&self) -> SequenceGuard<'_> {
        let mut spins = 0;
        loop {
            let number = self.0.load(Ordering::Relaxed);
            let free = number.is_multiple_of(2);
            if free
                && self.0.compare_exchange(number, number + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                fence(Ordering::Release);
                return SequenceGuard { lock: self, number: number + 1 };
            }
            wait(&mut spins);
        }
    }

    /// Locks it for a thread that has begun to read, if its number is still the one of the beginning. Then
    /// all words that the thread has loaded since are of one moment, and no other thread stores them.
    #[inline]
    pub fn lock_if_unchanged(&self, number: u64) -> Option<SequenceGuard<'_>> {
        self.0.compare_exchange(number, number + 1, Ordering::Acquire, Ordering::Relaxed).ok()?;
        fence(Ordering::Release);
        Some(SequenceGuard { lock: self, number: number + 1 })
    }

    /// Begins to read: returns the number for [`unchanged`](Self::unchanged). Waits while a writer holds the
    /// lock.
    #[must_use]
    #[inline]
    pub fn begin(&self) -> u64 {
        let mut spins = 0;
        loop {
            let number = self.0.load(Ordering::Acquire);
            if number.is_multiple_of(2) {
                return number;
            }
            wait(&mut spins);
        }
    }

    /// Whether all words that the caller has loaded since [`begin`](Self::begin) are of one moment.
    #[must_use]
    #[inline]
    pub fn unchanged(&self, number: u64) -> bool {
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed) == number
    }
}

/// Locks those of some locks that have these numbers, which may repeat. Returns the numbers in ascending
/// order without repetitions, and the guards. All callers lock in this order, so they cannot deadlock.
///
/// # Panics
/// If a number has no lock.
pub fn lock_all<'l>(
    lock: impl Fn(usize) -> &'l SequenceLock,
    mut numbers: Vec<usize>,
) -> (Vec<usize>, Vec<SequenceGuard<'l>>) {
    numbers.sort_unstable();
    numbers.dedup();
    let guards = numbers.iter().map(|number| lock(*number).lock()).collect();
    (numbers, guards)
}

#[cold]
fn wait(spins: &mut u32) {
    *spins += 1;
    if cfg!(loom) || *spins > SPINS {
        thread::yield_now();
    } else {
        hint::spin_loop();
    }
}

impl Drop for SequenceGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.lock.0.store(self.number + 1, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::thread;

    use super::*;
    use crate::sync::{Arc, Mutex};

    /// Two words that a writer changes together.
    #[derive(Default)]
    struct Shared {
        lock: SequenceLock,
        words: [AtomicU64; 2],
    }

    impl Shared {
        fn increment(&self) {
            let _guard = self.lock.lock();
            for word in &self.words {
                word.store(word.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            }
        }

        /// Increments the words that it has loaded before it has the lock.
        fn upgrade(&self) -> bool {
            let number = self.lock.begin();
            let words = [0, 1].map(|index: usize| self.words[index].load(Ordering::Relaxed));
            let Some(_guard) = self.lock.lock_if_unchanged(number) else { return false };
            assert_eq!(words[0], words[1], "words of two moments");
            self.words.iter().for_each(|word| word.store(words[0] + 1, Ordering::Relaxed));
            true
        }

        fn read(&self) -> Option<u64> {
            let number = self.lock.begin();
            let words = [0, 1].map(|index: usize| self.words[index].load(Ordering::Relaxed));
            self.lock.unchanged(number).then(|| {
                assert_eq!(words[0], words[1], "words of two moments");
                words[0]
            })
        }
    }

    fn spawn<T: 'static>(shared: &Arc<Shared>, run: fn(&Shared) -> T) -> thread::JoinHandle<T> {
        let shared = shared.clone();
        thread::spawn(move || run(&shared))
    }

    /// Fails if either fence is removed, or if the load in `begin` or the store in `drop` is relaxed.
    #[test]
    fn loom_a_reader_detects_a_writer() {
        loom::model(|| {
            let shared = Arc::new(Shared::default());
            let writer = spawn(&shared, Shared::increment);
            shared.read();
            writer.join().unwrap();
            assert_eq!(shared.read(), Some(1));
        });
    }

    /// Fails if the load in `begin` is relaxed, or if `lock_if_unchanged` does not compare the number.
    #[test]
    fn loom_a_reader_locks_what_it_has_read() {
        loom::model(|| {
            let shared = Arc::new(Shared::default());
            let writer = spawn(&shared, Shared::upgrade);
            let count = u64::from(shared.upgrade());
            let count = count + u64::from(writer.join().unwrap());
            assert!(count >= 1, "one of them succeeds");
            assert_eq!(shared.read(), Some(count));
        });
    }

    /// Two batches lock the same stripes and then a leaf; another writer has the leaf, and waits for no
    /// stripe. Fails if `lock_all` does not sort.
    #[test]
    fn loom_stripes_before_leaves_cannot_deadlock() {
        loom::model(|| {
            let shared = Arc::new((Shared::default(), SequenceLock::default(), Mutex::new(0)));
            let batch = |shared: &(Shared, SequenceLock, Mutex<u64>), numbers: [usize; 2]| {
                let (first, second, leaf) = shared;
                let lock = |number| if number == 0 { &first.lock } else { second };
                let (_, _guards) = lock_all(lock, numbers.to_vec());
                *leaf.lock().unwrap() += 1;
                first.words[0].store(first.words[0].load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            };
            let other = thread::spawn({
                let shared = shared.clone();
                move || batch(&shared, [1, 0])
            });
            batch(&shared, [0, 1]);
            other.join().unwrap();
            assert_eq!((*shared.2.lock().unwrap(), shared.0.words[0].load(Ordering::Relaxed)), (2, 2));
        });
    }

    /// Fails if the compare-and-swap in `lock` or the store in `drop` is relaxed.
    #[test]
    fn loom_writers_exclude_each_other() {
        loom::model(|| {
            let shared = Arc::new(Shared::default());
            let writer = spawn(&shared, Shared::increment);
            shared.increment();
            writer.join().unwrap();
            assert_eq!(shared.read(), Some(2));
        });
    }
}

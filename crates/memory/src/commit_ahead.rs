//! The pages of the arena that are committed before they are allocated.
//!
//! The system commits a page when it is first accessed, and clears it then. For a huge page of a virtual
//! machine this can take milliseconds, while the writer that has allocated the page holds locks and its
//! client waits. So a thread commits pages ahead of the allocator.
//!
//! 1. `allocated` is the end of all units that have ever been allocated. It only grows.
//! 2. Only the thread that commits changes `committed`. The units between both are committed and unused.
//! 3. The thread sleeps while enough units are. A thread that allocates wakes it when half of them are used.
//!    No wake-up is lost: a thread that is woken between its last look and its sleep does not sleep.

use std::ops::Range;
use std::sync::OnceLock;
use std::thread::Thread;

use honeycomb_layout as layout;

use crate::sync::{AtomicUsize, Ordering};

/// Units of a step: a huge page.
pub(crate) const STEP: usize = (2 << 20) / layout::ALLOCATION_UNIT_BYTES;
/// Maximum number of steps ahead.
const STEPS_MAX: usize = 8;
/// The part of the arena that is committed ahead, unless it exceeds the maximum.
const PART: usize = 32;

#[derive(Debug)]
pub(crate) struct CommitAhead {
    /// Units of the arena.
    units: usize,
    allocated: AtomicUsize,
    committed: AtomicUsize,
    thread: OnceLock<Thread>,
}

impl CommitAhead {
    pub(crate) fn new(units: usize) -> Self {
        let (allocated, committed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { units, allocated, committed, thread: OnceLock::new() }
    }

    /// Units that should be committed and unused. Zero if the arena is too small.
    pub(crate) fn ahead(&self) -> usize {
        (self.units / PART / STEP).min(STEPS_MAX) * STEP
    }

    /// The end of the committed units.
    pub(crate) fn committed(&self) -> usize {
        self.committed.load(Ordering::Relaxed)
    }

    /// States that the units before `end` have been allocated.
    #[inline]
    pub(crate) fn note_allocated(&self, end: usize) {
        if end > self.allocated.load(Ordering::Relaxed) {
            self.allocated.fetch_max(end, Ordering::Relaxed);
            self.wake(end);
        }
    }

    fn wake(&self, allocated: usize) {
        if allocated + self.ahead() / 2 > self.committed()
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// Registers the thread that commits. Returns false if there is one already.
    pub(crate) fn register(&self, thread: Thread) -> bool {
        self.thread.set(thread).is_ok()
    }

    /// Returns the next units to commit, or `None` if enough are committed. Those at its begin may be in use.
    pub(crate) fn next(&self) -> Option<Range<usize>> {
        let (allocated, committed) = (self.allocated.load(Ordering::Relaxed), self.committed());
        if committed >= (allocated + self.ahead()).min(self.units) {
            return None;
        }
        let begin = committed.max(allocated) / STEP * STEP;
        Some(begin..(begin + STEP).min(self.units))
    }

    /// States that units are committed, which [`CommitAhead::next`] has returned.
    pub(crate) fn note_committed(&self, units: &Range<usize>) {
        assert!(units.end > self.committed(), "units are committed once");
        self.committed.store(units.end, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Returns the ends of all steps until enough is committed.
    fn commit_all(ahead: &CommitAhead) -> Vec<usize> {
        let next = || ahead.next().inspect(|units| ahead.note_committed(units));
        std::iter::from_fn(next).map(|units| units.end).collect()
    }

    #[test]
    fn a_part_of_the_arena_is_committed_ahead() {
        for (steps, expected) in [(0, 0), (31, 0), (32, 1), (63, 1), (64, 2), (256, 8), (10_000, 8)] {
            assert_eq!(CommitAhead::new(steps * STEP + 1).ahead(), expected * STEP, "{steps} steps");
        }
    }

    #[test]
    fn steps_stay_ahead_of_the_allocated_units() {
        let ahead = CommitAhead::new(64 * STEP);
        assert_eq!(commit_all(&ahead), [STEP, 2 * STEP]);
        assert_eq!(ahead.next(), None);
        ahead.note_allocated(1);
        assert_eq!(commit_all(&ahead), [3 * STEP]);
        ahead.note_allocated(STEP);
        assert_eq!(ahead.next(), None);
        // The units up to here are committed, because the allocator was faster.
        ahead.note_allocated(9 * STEP + 5);
        assert_eq!(commit_all(&ahead), [10 * STEP, 11 * STEP, 12 * STEP]);
    }

    #[test]
    fn steps_end_with_the_arena() {
        let ahead = CommitAhead::new(64 * STEP + 7);
        ahead.note_allocated(63 * STEP);
        assert_eq!(commit_all(&ahead), [64 * STEP, 64 * STEP + 7]);
        ahead.note_allocated(64 * STEP + 7);
        assert_eq!(ahead.next(), None);
    }
}

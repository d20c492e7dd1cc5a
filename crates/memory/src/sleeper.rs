//! A flag that a thread sleeps until other threads have work for it, without a lock on the way of those.
//!
//! 1. The thread that sleeps calls [`Sleeper::prepare`], looks for work for the last time, and sleeps if
//!    there is none.
//! 2. Another thread makes work visible and calls [`Sleeper::must_wake`]. If it returns true, it wakes the
//!    thread.
//!
//! Each side has a full fence between its store and its load, so one of both sees the other: the thread finds
//! the work, or it is woken.

use crate::sync::{AtomicBool, Ordering, fence};

/// Whether a thread sleeps.
#[derive(Debug)]
pub struct Sleeper(AtomicBool);

impl Default for Sleeper {
    fn default() -> Self {
        Self(AtomicBool::new(false))
    }
}

impl Sleeper {
    /// States that the thread is about to sleep. It must look for work after this call.
    pub fn prepare(&self) {
        self.0.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// States that the thread does not sleep.
    pub fn end(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Returns whether the caller, which has made work visible, must wake the thread. Only one caller gets
    /// true.
    #[must_use]
    #[inline]
    pub fn must_wake(&self) -> bool {
        fence(Ordering::SeqCst);
        self.must_wake_after_fence()
    }

    /// Like [`Sleeper::must_wake`], for a caller with a full fence between the store that has made the work
    /// visible and this call.
    #[must_use]
    #[inline]
    pub fn must_wake_after_fence(&self) -> bool {
        self.0.load(Ordering::Relaxed) && self.0.swap(false, Ordering::AcqRel)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_caller_wakes_a_thread_that_sleeps() {
        let sleeper = Sleeper::default();
        assert!(!sleeper.must_wake());
        sleeper.prepare();
        assert!(sleeper.must_wake());
        assert!(!sleeper.must_wake());
        sleeper.prepare();
        sleeper.end();
        assert!(!sleeper.must_wake());
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;

    use super::*;
    use crate::sync::{AtomicUsize, fence_after_exchange};

    /// The same for a writer whose work is visible by an exchange.
    #[test]
    fn loom_no_wake_up_is_lost_after_an_exchange() {
        loom::model(|| {
            let shared = Arc::new((Sleeper::default(), AtomicUsize::new(0)));
            let other = shared.clone();
            let writer = loom::thread::spawn(move || {
                other.1.fetch_add(1, Ordering::AcqRel);
                fence_after_exchange();
                other.0.must_wake_after_fence()
            });
            shared.0.prepare();
            let finds_work = shared.1.load(Ordering::Acquire) == 1;
            let is_woken = writer.join().unwrap();
            assert!(finds_work || is_woken);
        });
    }

    /// A thread finds the work, or it is woken. Fails without either fence.
    #[test]
    fn loom_no_wake_up_is_lost() {
        loom::model(|| {
            let shared = Arc::new((Sleeper::default(), AtomicUsize::new(0)));
            let other = shared.clone();
            let writer = loom::thread::spawn(move || {
                other.1.store(1, Ordering::Relaxed);
                other.0.must_wake()
            });
            shared.0.prepare();
            let finds_work = shared.1.load(Ordering::Relaxed) == 1;
            let is_woken = writer.join().unwrap();
            assert!(finds_work || is_woken);
        });
    }
}

//! Leases: long-lived pins that can be revoked, so that a reader that sleeps does not hold back reclaiming
//! for ever.
//!
//! 1. `state`: a bit that says revoked, and the number of users. Users enter by compare-and-swap while it is
//!    not revoked and leave by fetch-and-sub; revoking sets the bit by fetch-and-or.
//! 2. The lease's slot is in flight from the start. It is released once: by whoever revokes when there are no
//!    users, else by the last user to leave. The state word decides which of the two it is, and orders what
//!    the users read before the release.

use std::mem::ManuallyDrop;

use crate::epochs::{Epochs, Pin};
use crate::error::MemoryError;
use crate::sync::{Arc, AtomicU64, Ordering};

/// A long-lived pin. Nothing that was reachable when it was taken is reclaimed before it is revoked and out
/// of use. Dropping it revokes it.
#[derive(Debug)]
pub struct Lease {
    epochs: Arc<Epochs>,
    slot: usize,
    sequence: u64,
    state: AtomicU64,
}

/// A use of a lease that was not revoked when it began. While it lives, it is as good as a [`Pin`].
#[derive(Debug)]
#[must_use = "a use ends when it is dropped"]
pub struct LeaseUse<'l> {
    lease: &'l Lease,
    /// Not dropped: it is the lease's to end.
    pin: ManuallyDrop<Pin<'l>>,
}

const REVOKED: u64 = 1;
const USER: u64 = 2;

impl Lease {
    pub(crate) fn new(epochs: Arc<Epochs>) -> Result<Self, MemoryError> {
        let taken = epochs.take_lease();
        let (slot, sequence) = taken.ok_or(MemoryError::TooManyLeases { max: epochs.lease_count() })?;
        Ok(Self { epochs, slot, sequence, state: AtomicU64::new(0) })
    }

    /// Begins a use; none if the lease was revoked.
    #[must_use]
    pub fn enter(&self) -> Option<LeaseUse<'_>> {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & REVOKED == 0 {
            let next = state + USER;
            // Relaxed: what the lease guards, it has guarded since it was taken.
            match self.state.compare_exchange_weak(state, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => {
                    let pin = self.epochs.lease_pin(self.slot, self.sequence);
                    return Some(LeaseUse { lease: self, pin: ManuallyDrop::new(pin) });
                }
                Err(now) => state = now,
            }
        }
        None
    }

    /// Ends the lease for everybody who has not entered yet. It holds back reclaiming until those who have
    /// left.
    pub fn revoke(&self) {
        if self.state.fetch_or(REVOKED, Ordering::Acquire) == 0 {
            self.release();
        }
    }

    /// Whether the lease was revoked.
    #[must_use]
    pub fn is_revoked(&self) -> bool {
        self.state.load(Ordering::Relaxed) & REVOKED != 0
    }

    fn release(&self) {
        drop(self.epochs.lease_pin(self.slot, self.sequence));
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.revoke();
    }
}

impl<'l> LeaseUse<'l> {
    /// Stands for the operation in flight.
    #[inline]
    pub fn pin(&self) -> &Pin<'l> {
        &self.pin
    }
}

impl Drop for LeaseUse<'_> {
    fn drop(&mut self) {
        if self.lease.state.fetch_sub(USER, Ordering::AcqRel) == USER | REVOKED {
            self.lease.release();
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::thread;

    use super::*;
    use crate::epochs::models::Shared;

    /// A user in another thread against who revokes and reuses what the lease guarded as soon as it may.
    #[derive(Clone, Copy, PartialEq)]
    enum Revoker {
        Outside,
        /// Is a user itself, and may be the last one out.
        User,
    }

    fn run(revoker: Revoker) {
        let shared = Shared::new(1, 1, 0);
        let lease = Arc::new(Lease::new(shared.epochs.clone()).unwrap());
        let own_use = (revoker == Revoker::User).then(|| lease.enter().unwrap());
        let user = thread::spawn({
            let (shared, lease) = (shared.clone(), lease.clone());
            move || lease.enter().is_some_and(|_user| shared.read())
        });
        let stamp = shared.replace();
        lease.revoke();
        assert!(own_use.is_none() || !shared.reuse(&stamp), "a use holds it back");
        drop(own_use);
        let reused = shared.reuse(&stamp);
        user.join().unwrap();
        assert!(reused || shared.reuse(&stamp), "the lease is revoked and out of use");
        assert!(lease.enter().is_none());
        assert!(Lease::new(shared.epochs.clone()).is_ok(), "the slot is idle again");
    }

    /// Fails if the exchange in `enter` is replaced by a store, if the fetch-and-sub of who leaves is
    /// weakened to Acquire, or the fetch-and-or of who revokes to Relaxed.
    #[test]
    fn loom_nothing_is_reused_under_a_user() {
        loom::model(|| run(Revoker::Outside));
    }

    /// The last user out releases the slot for all of them. Fails if the fetch-and-sub is weakened to
    /// Release.
    #[test]
    fn loom_nothing_is_reused_under_one_of_two_users() {
        loom::model(|| run(Revoker::User));
    }
}

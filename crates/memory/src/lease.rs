//! Leases: long-lived pins that can be revoked, so that an idle reader cannot prevent reclaiming forever.
//!
//! 1. `state` contains the revoked bit and the number of users. A user enters by compare-and-swap while the
//!    bit is clear, and leaves by fetch-and-sub. Revoking sets the bit by fetch-and-or.
//! 2. The slot of the lease is in flight from the beginning. It is released once: by the thread that revokes
//!    the lease if it has no users, otherwise by the last user that leaves. The state word decides which of
//!    them it is, and orders the reads of all users before the release.

use std::mem::ManuallyDrop;

use crate::epochs::{Epochs, Pin};
use crate::error::MemoryError;
use crate::sync::{Arc, AtomicU64, Ordering};

/// A long-lived pin. Memory that was reachable at its creation is not reclaimed before the lease is revoked
/// and its last use has ended. Dropping the lease revokes it.
#[derive(Debug)]
pub struct Lease {
    epochs: Arc<Epochs>,
    slot: usize,
    sequence: u64,
    state: AtomicU64,
}

/// A use of a lease. It has the effect of a [`Pin`], even if the lease is revoked during the use.
#[derive(Debug)]
#[must_use = "a use ends when it is dropped"]
pub struct LeaseUse<'l> {
    lease: &'l Lease,
    /// Not dropped, because the lease ends the operation.
    pin: ManuallyDrop<Pin<'l>>,
}

const REVOKED: u64 = 1;
const USER: u64 = 2;

impl Lease {
    pub(crate) fn new(epochs: Arc<Epochs>) -> Result<Self, MemoryError> {
        let acquired = epochs.acquire_lease();
        let (slot, sequence) = acquired.ok_or(MemoryError::TooManyLeases { max: epochs.lease_count() })?;
        Ok(Self { epochs, slot, sequence, state: AtomicU64::new(0) })
    }

    /// Begins a use. Returns `None` if the lease is revoked.
    #[must_use]
    pub fn enter(&self) -> Option<LeaseUse<'_>> {
        let mut state = self.state.load(Ordering::Relaxed);
        while state & REVOKED == 0 {
            let next = state + USER;
            // Relaxed: the lease has guarded its memory since its creation.
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

    /// Revokes the lease: no further use can begin. Uses in progress still prevent reclaiming until they end.
    pub fn revoke(&self) {
        if self.state.fetch_or(REVOKED, Ordering::Acquire) == 0 {
            self.release();
        }
    }

    /// Whether the lease is revoked.
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
    /// The operation in flight.
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
    use crate::epochs::models::GuardedBuffer;

    /// The thread that revokes the lease, and reuses the buffer as soon as it can. Another thread is a user.
    #[derive(Clone, Copy, PartialEq)]
    enum Revoker {
        Outside,
        /// The thread is also a user, and can be the last user that leaves.
        User,
    }

    fn run(revoker: Revoker) {
        let shared = GuardedBuffer::new(1, 1, 0);
        let lease = Arc::new(Lease::new(shared.epochs.clone()).unwrap());
        let own_use = (revoker == Revoker::User).then(|| lease.enter().unwrap());
        let user = thread::spawn({
            let (shared, lease) = (shared.clone(), lease.clone());
            move || lease.enter().is_some_and(|_user| shared.read())
        });
        let stamp = shared.replace();
        lease.revoke();
        assert!(own_use.is_none() || !shared.reuse(&stamp), "a use prevents the reuse");
        drop(own_use);
        let reused = shared.reuse(&stamp);
        user.join().unwrap();
        assert!(reused || shared.reuse(&stamp), "the lease is revoked and has no users");
        assert!(lease.enter().is_none());
        assert!(Lease::new(shared.epochs.clone()).is_ok(), "the slot is idle again");
    }

    /// Fails if the exchange in `enter` is replaced by a store, if the fetch-and-sub of a leaving user is
    /// weakened to Acquire, or if the fetch-and-or in `revoke` is weakened to Relaxed.
    #[test]
    fn loom_nothing_is_reused_under_a_user() {
        loom::model(|| run(Revoker::Outside));
    }

    /// The last user that leaves releases the slot. Fails if the fetch-and-sub is weakened to Release.
    #[test]
    fn loom_nothing_is_reused_under_one_of_two_users() {
        loom::model(|| run(Revoker::User));
    }
}

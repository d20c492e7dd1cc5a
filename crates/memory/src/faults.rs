//! Injected allocation failures, so that tests can exhaust the memory at every allocation.
//!
//! 1. `seen`: every allocation increments it by fetch-and-add, and thereby gets a number of its own.
//! 2. `fail_at`: tests store it. The allocation with that number fails, so only once.

use crate::sync::{Arc, AtomicU64, Ordering};

/// Counts allocations of nodes, LIDs and values, and makes one of them fail. Clones share the count. By
/// default no allocation fails.
#[derive(Debug, Clone)]
pub struct Faults(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    seen: AtomicU64,
    fail_at: AtomicU64,
}

const NEVER: u64 = u64::MAX;

impl Default for Faults {
    fn default() -> Self {
        Self(Arc::new(Counts { seen: AtomicU64::new(0), fail_at: AtomicU64::new(NEVER) }))
    }
}

impl Faults {
    /// Creates a counter that makes the `n`th allocation, counted from 0, fail once.
    #[must_use]
    pub fn fail_at(n: u64) -> Self {
        let faults = Self::default();
        faults.set(n);
        faults
    }

    /// Makes the `n`th allocation after this call, counted from 0, fail once.
    pub fn set(&self, n: u64) {
        self.0.fail_at.store(self.seen().saturating_add(n), Ordering::Relaxed);
    }

    /// Lets all further allocations succeed.
    pub fn clear(&self) {
        self.0.fail_at.store(NEVER, Ordering::Relaxed);
    }

    /// Number of allocations so far, including failed ones.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.0.seen.load(Ordering::Relaxed)
    }

    /// Counts an allocation. Returns whether it must fail.
    pub(crate) fn hit(&self) -> bool {
        let number = self.0.seen.fetch_add(1, Ordering::Relaxed);
        number == self.0.fail_at.load(Ordering::Relaxed)
    }
}

//! Allocations that fail on purpose, so that tests can meet exhaustion at every place.
//!
//! 1. `seen`: any allocation, by fetch-and-add; the number it gets is its own.
//! 2. `fail_at`: tests store it; the allocation of that number fails, so once.

use crate::sync::{Arc, AtomicU64, Ordering};

/// Counts allocations of nodes, LIDs and values, and makes one of them fail. Clones share the count. The
/// default never fails one.
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
    /// The `n`th allocation from now, counted from 0, fails once.
    #[must_use]
    pub fn fail_at(n: u64) -> Self {
        let faults = Self::default();
        faults.set(n);
        faults
    }

    /// The `n`th allocation from now, counted from 0, fails once.
    pub fn set(&self, n: u64) {
        self.0.fail_at.store(self.seen().saturating_add(n), Ordering::Relaxed);
    }

    /// No allocation fails from now on.
    pub fn clear(&self) {
        self.0.fail_at.store(NEVER, Ordering::Relaxed);
    }

    /// Allocations counted so far, those that failed included.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.0.seen.load(Ordering::Relaxed)
    }

    /// Counts an allocation; true if it is to fail.
    pub(crate) fn hit(&self) -> bool {
        let number = self.0.seen.fetch_add(1, Ordering::Relaxed);
        number == self.0.fail_at.load(Ordering::Relaxed)
    }
}

//! Leases of the scans that were set aside: only so many, or one busy reader could leave none for snapshots.

use honeycomb_memory::sync::{Arc, AtomicUsize, Ordering};
use honeycomb_memory::{Lease, LeaseUse, Memory};

/// Leases of a memory that scans of many pairs may take at one time. A further scan is done in one go.
pub const LONG_SCAN_LEASES: usize = 32;

/// How many are taken.
#[derive(Default)]
pub(crate) struct OwnLeases(Arc<AtomicUsize>);

/// A lease that counts.
pub(crate) struct OwnLease {
    lease: Lease,
    taken: Arc<AtomicUsize>,
}

impl OwnLeases {
    /// A lease, if there is one left.
    pub(crate) fn take(&self, memory: &Memory) -> Option<OwnLease> {
        // Relaxed: it is only a count.
        let one_more = |taken| (taken < LONG_SCAN_LEASES).then_some(taken + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        let lease = memory.lease();
        if lease.is_err() {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
        Some(OwnLease { lease: lease.ok()?, taken: self.0.clone() })
    }
}

impl OwnLease {
    pub(crate) fn enter(&self) -> Option<LeaseUse<'_>> {
        self.lease.enter()
    }
}

impl Drop for OwnLease {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use honeycomb_memory::MemoryConfig;

    use super::*;

    #[test]
    fn some_are_left_for_others() {
        let config = MemoryConfig { arena_bytes: 1 << 20, huge_pages: false, ..MemoryConfig::default() };
        let memory = Memory::new(MemoryConfig { leases: LONG_SCAN_LEASES + 1, ..config.clone() }).unwrap();
        let leases = OwnLeases::default();
        let taken: Vec<OwnLease> = std::iter::from_fn(|| leases.take(&memory)).collect();
        assert_eq!(taken.len(), LONG_SCAN_LEASES);
        let other = memory.lease().unwrap();
        drop(taken);
        assert!(leases.take(&memory).is_some());
        drop(other);
        let memory = Memory::new(MemoryConfig { leases: 1, ..config }).unwrap();
        let first = leases.take(&memory);
        assert!(first.is_some() && leases.take(&memory).is_none(), "the memory has no more");
        drop(first);
        assert!(leases.take(&memory).is_some(), "what was not had does not count");
    }
}

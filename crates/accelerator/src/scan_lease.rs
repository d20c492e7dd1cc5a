//! The leases of long scans. Their number is limited, so that busy readers leave leases for snapshots.

use honeycomb_memory::sync::{Arc, AtomicUsize, Ordering};
use honeycomb_memory::{Lease, LeaseUse, Memory};

/// Maximum number of leases that the long scans of a backend hold at one time. A backend executes a further
/// long scan in one quantum.
pub const LONG_SCAN_LEASES: usize = 32;

/// The number of leases in use by long scans.
#[derive(Default)]
pub(crate) struct ScanLeases(Arc<AtomicUsize>);

/// The lease of a long scan.
pub(crate) struct ScanLease {
    lease: Lease,
    in_use: Arc<AtomicUsize>,
}

impl ScanLeases {
    /// Acquires a lease. Returns `None` if the limit is reached or the memory has no free lease.
    pub(crate) fn acquire(&self, memory: &Memory) -> Option<ScanLease> {
        // Relaxed: the counter orders no other access.
        let one_more = |in_use| (in_use < LONG_SCAN_LEASES).then_some(in_use + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).ok()?;
        let lease = memory.lease();
        if lease.is_err() {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
        Some(ScanLease { lease: lease.ok()?, in_use: self.0.clone() })
    }
}

impl ScanLease {
    pub(crate) fn enter(&self) -> Option<LeaseUse<'_>> {
        self.lease.enter()
    }
}

impl Drop for ScanLease {
    fn drop(&mut self) {
        self.in_use.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use honeycomb_memory::MemoryConfig;

    use super::*;

    #[test]
    fn scans_leave_leases_for_others() {
        let config = MemoryConfig { arena_bytes: 1 << 20, huge_pages: false, ..MemoryConfig::default() };
        let memory = Memory::new(MemoryConfig { leases: LONG_SCAN_LEASES + 1, ..config.clone() }).unwrap();
        let leases = ScanLeases::default();
        let acquired: Vec<ScanLease> = std::iter::from_fn(|| leases.acquire(&memory)).collect();
        assert_eq!(acquired.len(), LONG_SCAN_LEASES);
        let other = memory.lease().unwrap();
        drop(acquired);
        assert!(leases.acquire(&memory).is_some());
        drop(other);
        let memory = Memory::new(MemoryConfig { leases: 1, ..config }).unwrap();
        let first = leases.acquire(&memory);
        assert!(first.is_some() && leases.acquire(&memory).is_none(), "the memory has one lease only");
        drop(first);
        assert!(leases.acquire(&memory).is_some(), "a failed acquisition does not count");
    }
}

//! The pinned versions: the versions that requests may name. A lease guards each of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_btree::Version;
use honeycomb_memory::{Lease, LeaseUse};

#[derive(Default)]
pub(crate) struct PinnedVersions(Mutex<BTreeMap<Version, Vec<Arc<Lease>>>>);

impl PinnedVersions {
    pub(crate) fn pin(&self, version: Version, lease: &Arc<Lease>) {
        self.lock().entry(version).or_default().push(lease.clone());
    }

    pub(crate) fn unpin(&self, version: Version, lease: &Arc<Lease>) {
        let mut pinned = self.lock();
        if let Some(leases) = pinned.get_mut(&version) {
            leases.retain(|other| !Arc::ptr_eq(other, lease));
            if leases.is_empty() {
                pinned.remove(&version);
            }
        }
    }

    /// Calls `read` under a lease that guards a version. Returns `None`, without the call, if every lease of
    /// the version is revoked or the version is not pinned.
    pub(crate) fn read<T>(&self, version: Version, read: impl FnOnce(&LeaseUse<'_>) -> T) -> Option<T> {
        loop {
            let lease = self.lease(version)?;
            // If the lease was revoked after the search, another lease may still guard the version.
            if let Some(in_use) = lease.enter() {
                return Some(read(&in_use));
            }
        }
    }

    fn lease(&self, version: Version) -> Option<Arc<Lease>> {
        self.lock().get(&version)?.iter().find(|lease| !lease.is_revoked()).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Version, Vec<Arc<Lease>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

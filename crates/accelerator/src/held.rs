//! The versions that requests may name: those that a lease guards.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_btree::Version;
use honeycomb_memory::{Lease, LeaseUse};

#[derive(Default)]
pub(crate) struct Held(Mutex<BTreeMap<Version, Vec<Arc<Lease>>>>);

impl Held {
    pub(crate) fn hold(&self, version: Version, lease: &Arc<Lease>) {
        self.lock().entry(version).or_default().push(lease.clone());
    }

    pub(crate) fn let_go(&self, version: Version, lease: &Arc<Lease>) {
        let mut held = self.lock();
        if let Some(leases) = held.get_mut(&version) {
            leases.retain(|other| !Arc::ptr_eq(other, lease));
            if leases.is_empty() {
                held.remove(&version);
            }
        }
    }

    /// Reads under a lease that guards a version; none if none does that was not revoked.
    pub(crate) fn under<T>(&self, version: Version, read: impl FnOnce(&LeaseUse<'_>) -> T) -> Option<T> {
        loop {
            let lease = self.lease(version)?;
            // If it was revoked meanwhile, another one may guard the version still.
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

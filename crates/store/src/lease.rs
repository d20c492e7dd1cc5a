//! The leases of snapshots, and the conditions that end them.
//!
//! A lease ends when its time is over, when writes have replaced more bytes than its limit, when a write
//! finds no room and this lease pins the most, or when it is released. Its end revokes it, so no read can
//! enter it any more, and removes it from the table of leases. A read that has entered it keeps its memory
//! until the read ends.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use honeycomb_accelerator::Accelerator;
use honeycomb_btree::{Forest, Version};
use honeycomb_memory::sync::{AtomicBool, AtomicU64, Ordering};
use honeycomb_memory::{Lease, LeaseUse, Memory, MemoryError};

use crate::clock::Clock;
use crate::config::{Config, LeaseLimits};
use crate::error::Error;

/// A lease with its version and its limits.
pub(crate) struct ActiveLease {
    memory_lease: Arc<Lease>,
    pub(crate) token: u64,
    pub(crate) version: Version,
    limits: LeaseLimits,
    /// The total of retired bytes when the lease was acquired. The lease pins what was retired since.
    retired_before: u64,
    acquired: Duration,
    /// The time when the lease was acquired or last renewed, in nanoseconds of the clock.
    renewed: AtomicU64,
    /// Whether a caller has the token, so that the lease outlives its handles.
    outlives_handles: AtomicBool,
}

/// All leases that have not ended.
pub(crate) struct Leases {
    clock: Arc<dyn Clock>,
    accelerator: Arc<dyn Accelerator>,
    max: usize,
    table: Mutex<LeaseTable>,
}

#[derive(Default)]
struct LeaseTable {
    by_token: BTreeMap<u64, Arc<ActiveLease>>,
    next_token: u64,
    /// The token of the newest checkpoint. There is at most one checkpoint at a time.
    checkpoint: Option<u64>,
}

/// A lease that ends when this is dropped.
pub(crate) struct HeldLease<'l> {
    leases: &'l Leases,
    lease: Arc<ActiveLease>,
}

/// The totals of all leases.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct LeaseTotals {
    pub(crate) count: usize,
    pub(crate) oldest: Duration,
    pub(crate) pinned_bytes: u64,
}

impl Leases {
    pub(crate) fn new(config: &Config, accelerator: Arc<dyn Accelerator>) -> Self {
        Self { clock: config.clock.clone(), accelerator, max: config.snapshots_max, table: Mutex::default() }
    }

    /// Acquires a lease on the current state.
    pub(crate) fn acquire(&self, forest: &Forest, limits: LeaseLimits) -> Result<Arc<ActiveLease>, Error> {
        self.end_overdue(forest.memory());
        let table = self.lock();
        if table.callers() == self.max {
            return Err(Error::TooManySnapshots { max: self.max });
        }
        self.acquire_in(table, forest, limits)
    }

    /// Acquires the lease of a checkpoint, which has a place of its own: callers that use all others must not
    /// keep the log from being recycled.
    pub(crate) fn acquire_for_checkpoint(
        &self,
        forest: &Forest,
        limits: LeaseLimits,
    ) -> Result<Arc<ActiveLease>, Error> {
        let mut table = self.lock();
        table.checkpoint = Some(table.next_token);
        self.acquire_in(table, forest, limits)
    }

    fn acquire_in(
        &self,
        mut table: MutexGuard<'_, LeaseTable>,
        forest: &Forest,
        limits: LeaseLimits,
    ) -> Result<Arc<ActiveLease>, Error> {
        let retired_before = forest.memory().retired_bytes_total();
        let memory_lease = Arc::new(forest.memory().lease().map_err(|error| self.too_many(error))?);
        // The version is read after the lease was acquired, so everything that this version needs is retired
        // later and the lease pins it.
        let version = forest.read_version();
        let token = table.next_token;
        table.next_token += 1;
        let acquired = self.clock.now();
        let (renewed, outlives_handles) = (AtomicU64::new(nanoseconds(acquired)), AtomicBool::new(false));
        let new = Arc::new(ActiveLease {
            memory_lease,
            token,
            version,
            limits,
            retired_before,
            acquired,
            renewed,
            outlives_handles,
        });
        self.accelerator.pin_version(version, &new.memory_lease);
        table.by_token.insert(token, new.clone());
        Ok(new)
    }

    /// The time of the clock of leases.
    pub(crate) fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Returns the lease with a token that somebody has. The other leases are those of iterators, range
    /// functions and checkpoints.
    pub(crate) fn find(&self, token: u64) -> Result<Arc<ActiveLease>, Error> {
        let table = self.lock();
        match table.by_token.get(&token) {
            Some(lease) if lease.outlives_handles() => Ok(lease.clone()),
            None if token < table.next_token => Err(Error::SnapshotTooOld),
            _ => Err(Error::UnknownSnapshot { token }),
        }
    }

    /// Enters a lease, unless it has ended or exceeds its limits.
    pub(crate) fn enter<'l>(&self, lease: &'l ActiveLease, memory: &Memory) -> Result<LeaseUse<'l>, Error> {
        if lease.is_overdue(self.clock.now(), memory.retired_bytes_total()) {
            self.end(lease);
        }
        lease.memory_lease.enter().ok_or(Error::SnapshotTooOld)
    }

    /// Restarts the time limit of a lease.
    pub(crate) fn renew(&self, lease: &ActiveLease, memory: &Memory) -> Result<(), Error> {
        let _in_use = self.enter(lease, memory)?;
        // Relaxed: no other data depends on the time.
        lease.renewed.store(nanoseconds(self.clock.now()), Ordering::Relaxed);
        Ok(())
    }

    /// Acquires a lease that ends with the returned guard, also when the caller panics.
    pub(crate) fn hold(&self, forest: &Forest, limits: LeaseLimits) -> Result<HeldLease<'_>, Error> {
        Ok(HeldLease { leases: self, lease: self.acquire(forest, limits)? })
    }

    /// Ends one lease.
    pub(crate) fn end(&self, lease: &ActiveLease) {
        self.revoke(lease);
        self.lock().by_token.remove(&lease.token);
    }

    /// Ends all leases that exceed their limits, and returns their number.
    pub(crate) fn end_overdue(&self, memory: &Memory) -> usize {
        let mut table = self.lock();
        if table.by_token.is_empty() {
            return 0;
        }
        let (now, retired) = (self.clock.now(), memory.retired_bytes_total());
        let before = table.by_token.len();
        table.by_token.retain(|_, lease| {
            let overdue = lease.is_overdue(now, retired);
            if overdue {
                self.revoke(lease);
            }
            !overdue
        });
        before - table.by_token.len()
    }

    /// Ends leases to make room for a write: those that exceed their limits, otherwise the one that pins the
    /// most. Returns false if no lease pins anything.
    pub(crate) fn end_for_room(&self, memory: &Memory) -> bool {
        if self.end_overdue(memory) > 0 {
            return true;
        }
        let mut table = self.lock();
        // Tokens ascend, so the first lease is the oldest one, and it pins everything that any other lease
        // pins.
        let Some(oldest) = table.by_token.first_entry() else { return false };
        let pins = oldest.get().pinned_bytes(memory.retired_bytes_total()) > 0;
        if pins {
            self.revoke(&oldest.remove());
        }
        pins
    }

    pub(crate) fn totals(&self, memory: &Memory) -> LeaseTotals {
        let table = self.lock();
        let Some(oldest) = table.by_token.values().next() else { return LeaseTotals::default() };
        LeaseTotals {
            count: table.by_token.len(),
            oldest: self.clock.now().saturating_sub(oldest.acquired),
            pinned_bytes: oldest.pinned_bytes(memory.retired_bytes_total()),
        }
    }

    fn revoke(&self, lease: &ActiveLease) {
        lease.memory_lease.revoke();
        self.accelerator.unpin_version(lease.version, &lease.memory_lease);
    }

    fn too_many(&self, error: MemoryError) -> Error {
        match error {
            MemoryError::TooManyLeases { .. } => Error::TooManySnapshots { max: self.max },
            other => other.into(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, LeaseTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for HeldLease<'_> {
    type Target = ActiveLease;

    fn deref(&self) -> &ActiveLease {
        &self.lease
    }
}

impl Drop for HeldLease<'_> {
    fn drop(&mut self) {
        self.leases.end(&self.lease);
    }
}

impl LeaseTable {
    /// Returns the number of leases without that of a checkpoint.
    fn callers(&self) -> usize {
        let has_checkpoint = self.checkpoint.is_some_and(|token| self.by_token.contains_key(&token));
        self.by_token.len() - usize::from(has_checkpoint)
    }
}

impl ActiveLease {
    fn is_overdue(&self, now: Duration, retired: u64) -> bool {
        let age = now.saturating_sub(Duration::from_nanos(self.renewed.load(Ordering::Relaxed)));
        age > self.limits.time || self.pinned_bytes(retired) > self.limits.bytes
    }

    fn pinned_bytes(&self, retired: u64) -> u64 {
        retired.saturating_sub(self.retired_before)
    }

    /// Makes the lease outlive its handles.
    pub(crate) fn outlive_handles(&self) {
        // Relaxed: the reference count of the handles orders this before the drop of the last one.
        self.outlives_handles.store(true, Ordering::Relaxed);
    }

    pub(crate) fn outlives_handles(&self) -> bool {
        self.outlives_handles.load(Ordering::Relaxed)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

//! The leases of a store's snapshots, and when they end.
//!
//! A lease ends when it is older than its time, when writes have replaced more bytes than it may pin, when a
//! write finds no room and this lease pins the most, or when it is released. Then it is revoked, so nobody
//! enters it any more, and forgotten here; a use of it that is under way keeps its memory until it is over.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use honeycomb_accelerator::Accelerator;
use honeycomb_btree::{Forest, Version};
use honeycomb_memory::sync::{AtomicBool, AtomicU64, Ordering};
use honeycomb_memory::{Lease, LeaseUse, Memory, MemoryError};

use crate::clock::Clock;
use crate::config::{Config, LeaseLimits};
use crate::error::Error;

/// A lease and what it was given for.
pub(crate) struct Held {
    lease: Arc<Lease>,
    pub(crate) token: u64,
    pub(crate) version: Version,
    limits: LeaseLimits,
    /// The memory's count of retired bytes when the lease was taken: what was added since is what it pins.
    retired_before: u64,
    taken: Duration,
    /// When the lease was taken or last renewed, in nanoseconds of the clock.
    renewed: AtomicU64,
    /// Whether somebody has the token, so that the lease outlives its handles.
    kept: AtomicBool,
}

/// All leases that have not ended.
pub(crate) struct Leases {
    clock: Arc<dyn Clock>,
    accelerator: Arc<dyn Accelerator>,
    max: usize,
    held: Mutex<HeldByToken>,
}

#[derive(Default)]
struct HeldByToken {
    by_token: BTreeMap<u64, Arc<Held>>,
    next_token: u64,
}

/// What the leases of a store come to.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct LeaseTotals {
    pub(crate) count: usize,
    pub(crate) oldest: Duration,
    pub(crate) pinned_bytes: u64,
}

impl Leases {
    pub(crate) fn new(config: &Config, accelerator: Arc<dyn Accelerator>) -> Self {
        Self { clock: config.clock.clone(), accelerator, max: config.snapshots_max, held: Mutex::default() }
    }

    /// A new lease on what is visible now.
    pub(crate) fn take(&self, forest: &Forest, limits: LeaseLimits) -> Result<Arc<Held>, Error> {
        self.end_overdue(forest.memory());
        let mut held = self.lock();
        let retired_before = forest.memory().retired_bytes_total();
        if held.by_token.len() == self.max {
            return Err(Error::TooManySnapshots { max: self.max });
        }
        let lease = Arc::new(forest.memory().lease().map_err(|error| self.too_many(error))?);
        // After the lease: what this version needs is retired later, so the lease pins it.
        let version = forest.read_version();
        let token = held.next_token;
        held.next_token += 1;
        let taken = self.clock.now();
        let (renewed, kept) = (AtomicU64::new(nanoseconds(taken)), AtomicBool::new(false));
        let new = Arc::new(Held { lease, token, version, limits, retired_before, taken, renewed, kept });
        self.accelerator.pin_version(version, &new.lease);
        held.by_token.insert(token, new.clone());
        Ok(new)
    }

    /// The lease of a token.
    pub(crate) fn find(&self, token: u64) -> Result<Arc<Held>, Error> {
        let held = self.lock();
        match held.by_token.get(&token) {
            Some(found) => Ok(found.clone()),
            None if token < held.next_token => Err(Error::SnapshotTooOld),
            None => Err(Error::UnknownSnapshot { token }),
        }
    }

    /// Begins a use of a lease, if it has not ended and need not end now.
    pub(crate) fn enter<'l>(&self, held: &'l Held, memory: &Memory) -> Result<LeaseUse<'l>, Error> {
        if held.is_overdue(self.clock.now(), memory.retired_bytes_total()) {
            self.end(held);
        }
        held.lease.enter().ok_or(Error::SnapshotTooOld)
    }

    /// Lets the time of a lease begin again.
    pub(crate) fn renew(&self, held: &Held, memory: &Memory) -> Result<(), Error> {
        let _in_use = self.enter(held, memory)?;
        // Relaxed: the time is the only thing it tells.
        held.renewed.store(nanoseconds(self.clock.now()), Ordering::Relaxed);
        Ok(())
    }

    /// Ends one lease.
    pub(crate) fn end(&self, held: &Held) {
        self.revoke(held);
        self.lock().by_token.remove(&held.token);
    }

    /// Ends all that are over their limits: how many.
    pub(crate) fn end_overdue(&self, memory: &Memory) -> usize {
        let mut held = self.lock();
        if held.by_token.is_empty() {
            return 0;
        }
        let (now, retired) = (self.clock.now(), memory.retired_bytes_total());
        let before = held.by_token.len();
        held.by_token.retain(|_, lease| {
            let overdue = lease.is_overdue(now, retired);
            if overdue {
                self.revoke(lease);
            }
            !overdue
        });
        before - held.by_token.len()
    }

    /// Ends leases to make room for a write: those over their limits, else the one that pins the most. False
    /// if none pins anything.
    pub(crate) fn give_way(&self, memory: &Memory) -> bool {
        if self.end_overdue(memory) > 0 {
            return true;
        }
        let mut held = self.lock();
        // Tokens count up, so the first lease is the oldest: it pins all that any other does.
        let Some(oldest) = held.by_token.first_entry() else { return false };
        let pins = oldest.get().pinned_bytes(memory.retired_bytes_total()) > 0;
        if pins {
            self.revoke(&oldest.remove());
        }
        pins
    }

    pub(crate) fn totals(&self, memory: &Memory) -> LeaseTotals {
        let held = self.lock();
        let Some(oldest) = held.by_token.values().next() else { return LeaseTotals::default() };
        LeaseTotals {
            count: held.by_token.len(),
            oldest: self.clock.now().saturating_sub(oldest.taken),
            pinned_bytes: oldest.pinned_bytes(memory.retired_bytes_total()),
        }
    }

    fn revoke(&self, held: &Held) {
        held.lease.revoke();
        self.accelerator.unpin_version(held.version, &held.lease);
    }

    fn too_many(&self, error: MemoryError) -> Error {
        match error {
            MemoryError::TooManyLeases { .. } => Error::TooManySnapshots { max: self.max },
            other => other.into(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HeldByToken> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn is_overdue(&self, now: Duration, retired: u64) -> bool {
        let age = now.saturating_sub(Duration::from_nanos(self.renewed.load(Ordering::Relaxed)));
        age > self.limits.time || self.pinned_bytes(retired) > self.limits.bytes
    }

    fn pinned_bytes(&self, retired: u64) -> u64 {
        retired.saturating_sub(self.retired_before)
    }

    /// Says that the lease is to outlive its handles.
    pub(crate) fn keep(&self) {
        // Relaxed: whoever drops the last handle is ordered after by that handle's count.
        self.kept.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

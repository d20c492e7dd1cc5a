//! Growth and shrinking: one bucket at a time, while other threads read and write.
//!
//! A write that finds more slots of its stripe in use than the table allows adds up to two buckets. Each
//! takes its pairs from one other bucket of the same stripe, so the work of a step is that of one chain. If
//! there is no memory, or another thread is resizing the table, the step does nothing: chains become longer
//! instead.
//!
//! A removal that finds a quarter of this share in use removes up to four buckets: the last bucket returns
//! its pairs to the bucket that they came from. A table keeps the buckets that it was created with. A page
//! of buckets is free when the table has lost half of the page before it, so that a table whose size varies
//! little does not free and allocate pages.

use std::sync::TryLockError;

use honeycomb_layout::BUCKET_SLOTS;
use honeycomb_memory::sync::{MutexGuard, Ordering};

use crate::access::Access;
use crate::chains::NewChains;
use crate::directory::{number_of, retired, split_of_next};
use crate::error::Error;
use crate::index::Index;

/// Buckets that one write adds at most. One would suffice if all stripes were equally full.
const ADDED_MAX: usize = 2;
/// Buckets that one removal removes at most. A removed pair of six slots calls for four of them: with the
/// default share a bucket has 1.5 used slots when the table shrinks.
const REMOVED_MAX: usize = 4;
/// The table shrinks at the share of used slots at which it grows, divided by this.
const SHRINK_DIVISOR: u64 = 4;
/// Stripes whose used slots represent those of all in the decision to shrink.
const SAMPLED_STRIPES: usize = 16;

impl Index {
    /// Adds buckets if too many slots are in use. The caller has locked no stripe.
    #[inline]
    pub(crate) fn grow_if_full(&self, access: Access<'_>, stripe: usize) {
        if self.is_full(&self.stripes[stripe]) {
            self.repeat(ADDED_MAX, || self.add_bucket(access));
        }
    }

    /// Removes buckets if few slots are in use. The caller has locked no stripe.
    #[inline]
    pub(crate) fn shrink_if_sparse(&self, access: Access<'_>, stripe: usize) {
        if self.is_sparse(stripe, 1) && self.is_sparse(stripe, SAMPLED_STRIPES) {
            self.repeat(REMOVED_MAX, || self.remove_bucket(access));
        }
    }

    /// Whether few slots of some stripes, from one on, are in use.
    #[inline]
    fn is_sparse(&self, first: usize, stripes: usize) -> bool {
        let Some(percent) = self.config.fill_percent else { return false };
        let (count, all) = (self.directory.count(), self.stripes.len());
        if count <= self.config.buckets as u64 {
            return false;
        }
        let used_of = |at: usize| self.stripes[(first + at) & (all - 1)].used_slots.load(Ordering::Relaxed);
        let used: u64 = (0..stripes).map(used_of).sum();
        let slots = count * BUCKET_SLOTS as u64 * stripes as u64 / all as u64;
        used * 100 * SHRINK_DIVISOR < slots * percent as u64
    }

    /// Executes steps under the growth lock, until one fails.
    #[cold]
    fn repeat(&self, steps: usize, step: impl Fn() -> Result<(), Error>) {
        let Some(_growth) = self.try_lock_growth() else { return };
        // Without memory for it, the table stays as it is.
        let _stopped = (0..steps).try_for_each(|_| step());
    }

    fn try_lock_growth(&self) -> Option<MutexGuard<'_, ()>> {
        match self.growth.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Removes the last bucket, unless the table was created with it. The caller holds the growth lock.
    fn remove_bucket(&self, access: Access<'_>) -> Result<(), Error> {
        let count = self.directory.count();
        if count <= self.config.buckets as u64 {
            return Ok(());
        }
        let (last, into) = (count - 1, split_of_next(count - 1));
        let guard = self.stripe(into).lock.lock();
        let firsts = [into, last].map(|number| self.directory.address(number));
        let mut new = NewChains::default();
        for first in firsts {
            self.take_chain(access, first, &mut new, |_| 0);
        }
        self.store_chains(access, into, [firsts[0]], &mut new)?;
        let page = self.directory.remove();
        drop(guard);
        access.memory.retire(page.and_then(retired));
        Ok(())
    }

    /// Adds the next bucket. The caller holds the growth lock.
    fn add_bucket(&self, access: Access<'_>) -> Result<(), Error> {
        self.directory.reserve_next(access.memory)?;
        let next = self.directory.count();
        let from = split_of_next(next);
        let _guard = self.stripe(from).lock.lock();
        let (low, high) = (self.directory.address(from), self.directory.address(next));
        let mut new = NewChains::default();
        self.take_chain(access, low, &mut new, |hash| usize::from(number_of(hash, next + 1) == next));
        self.store_chains(access, from, [low, high], &mut new)?;
        self.directory.add();
        Ok(())
    }
}

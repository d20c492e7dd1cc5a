//! The parts of a table, and the stripes that coordinate threads.
//!
//! The lowest bits of the hash of a key choose its *stripe*. All versions of the directory place the keys
//! of a bucket in one stripe, because a table has at least as many buckets as stripes.
//!
//! 1. The buckets and slabs of a stripe: the holder of its lock stores them, and any thread with a pin
//!    loads them. A reader discards what it has loaded unless the lock is unchanged (see `read`).
//! 2. `pairs` and `used_slots` of a stripe: only the holder of its lock stores them.
//! 3. The holder of the growth lock may lock stripes, and the holder of a stripe may lock caches and pool of
//!    the slabs. A thread that locks several stripes locks them in ascending order. Slabs are allocated and
//!    freed only by holders of a stripe or of the growth lock.

use std::ops::Deref;
use std::sync::{Arc, PoisonError};

use honeycomb_layout::{BUCKET_SLOTS, KEY_BYTES_MAX, KEY_BYTES_MIN};
use honeycomb_memory::sync::{AtomicU64, Mutex, MutexGuard, Ordering};
use honeycomb_memory::{Memory, Retired, SequenceLock};

use crate::access::Access;
use crate::bucket::{Bucket, Stored};
use crate::config::TableConfig;
use crate::directory::Directory;
use crate::error::Error;
use crate::functions::Functions;
use crate::record::SlabValue;
use crate::recorder::Recording;
use crate::slabs::Slabs;

/// A table without its memory.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) directory: Directory,
    pub(crate) stripes: Stripes,
    pub(crate) slabs: Slabs,
    pub(crate) functions: Arc<Functions>,
    pub(crate) config: TableConfig,
    pub(crate) growth: Mutex<()>,
    pub(crate) recording: Recording,
}

/// The keys whose hashes have equal lowest bits.
#[derive(Debug, Default)]
#[repr(align(32))]
pub(crate) struct Stripe {
    pub(crate) lock: SequenceLock,
    pub(crate) pairs: AtomicU64,
    pub(crate) used_slots: AtomicU64,
}

/// Maximum number of stripes.
const STRIPES_MAX: usize = 1024;

/// The stripes of a table: the first ones of an array. So a reader compares no number with their number.
#[derive(Debug)]
pub(crate) struct Stripes {
    all: Box<[Stripe; STRIPES_MAX]>,
    /// Their number, a power of two, minus one.
    mask: usize,
}

impl Stripes {
    fn new(count: usize) -> Self {
        let all: Box<[Stripe]> = (0..STRIPES_MAX).map(|_| Stripe::default()).collect();
        Self { all: all.try_into().expect("the array has this length"), mask: count - 1 }
    }
}

impl Deref for Stripes {
    type Target = [Stripe];

    #[inline]
    fn deref(&self) -> &[Stripe] {
        &self.all[..=self.mask]
    }
}

/// Checks the length of a key.
#[inline]
pub(crate) fn check_key(key: &[u8]) -> Result<(), Error> {
    if (KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&key.len()) {
        return Ok(());
    }
    Err(Error::KeyLength { bytes: key.len(), min: KEY_BYTES_MIN, max: KEY_BYTES_MAX })
}

impl Index {
    pub(crate) fn new(
        memory: &Memory,
        config: TableConfig,
        functions: Arc<Functions>,
    ) -> Result<Self, Error> {
        config.check()?;
        Ok(Self {
            directory: Directory::new(memory, config.buckets)?,
            stripes: Stripes::new(config.buckets.min(STRIPES_MAX)),
            slabs: Slabs::new(),
            functions,
            config,
            growth: Mutex::new(()),
            recording: Recording::default(),
        })
    }

    #[inline(always)]
    pub(crate) fn stripe(&self, hash: u64) -> &Stripe {
        &self.stripes.all[self.stripe_number(hash)]
    }

    #[inline(always)]
    pub(crate) fn stripe_number(&self, hash: u64) -> usize {
        hash as usize & (self.stripes.mask % STRIPES_MAX)
    }

    /// Whether the share of used slots of a stripe calls for more buckets.
    #[inline]
    pub(crate) fn is_full(&self, stripe: &Stripe) -> bool {
        let Some(percent) = self.config.fill_percent else { return false };
        let slots = self.directory.count() * BUCKET_SLOTS as u64;
        let used = stripe.used_slots.load(Ordering::Relaxed) * self.stripes.len() as u64;
        used * 100 > slots * percent as u64
    }

    /// Visits the buckets of a chain, with their addresses. The caller has locked the stripe.
    pub(crate) fn chain(access: Access<'_>, first: u32) -> impl Iterator<Item = (u32, Bucket)> {
        let load = move |address: u32| (address, access.bucket(address));
        std::iter::successors(Some(load(first)), move |(_, bucket)| bucket.next().map(load))
    }

    /// The first bucket of the chain of a hash, with its address. The caller has locked the stripe.
    #[inline]
    pub(crate) fn head(&self, access: Access<'_>, hash: u64) -> (u32, Bucket) {
        let address = self.directory.address_of(hash);
        (address, access.bucket(address))
    }

    /// Waits until no other thread resizes or clears the table, and prevents it.
    pub(crate) fn lock_growth(&self) -> MutexGuard<'_, ()> {
        self.growth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Retires the overflow values of all pairs. No other thread uses the table.
    pub(crate) fn retire_values(&self, access: Access<'_>) {
        for number in 0..self.directory.count() {
            Self::retire_values_of(access, access.bucket(self.directory.address(number)));
        }
    }

    /// Retires the overflow values of a chain that no writer uses, from a bucket on.
    pub(crate) fn retire_values_of(access: Access<'_>, first: Bucket) {
        let next = |bucket: &Bucket| Some(access.bucket(bucket.next()?));
        for bucket in std::iter::successors(Some(first), next) {
            let slabs = bucket.pairs().filter_map(|pair| match pair {
                Stored::Slab(slab) => Some(access.record(slab.slab)),
                Stored::Inline(..) => None,
            });
            let values = slabs.filter_map(|record| match record.pair()?.value {
                SlabValue::Overflow(it) => Some(Retired::Value(it.address, it.length)),
                SlabValue::InSlab(_) => None,
            });
            access.memory.retire(values);
        }
    }
}

//! Growth: one bucket at a time, while other threads read and write.
//!
//! A write that finds more slots of its stripe in use than the table allows adds up to two buckets. Each
//! takes its pairs from one other bucket of the same stripe, so the work of a step is that of one chain. If
//! there is no memory, or another thread is growing the table, the step does nothing: chains become longer
//! instead.

use std::sync::TryLockError;

use crate::access::{Access, BUCKET_CLASS};
use crate::bucket::{Bucket, Entry, Stored};
use crate::directory::{number_of, split_of_next};
use crate::error::Error;
use crate::hash::hash;
use crate::index::{Index, Stripe};

/// Buckets that one write adds at most. One would suffice if all stripes were equally full.
const STEPS: usize = 2;

impl Index {
    /// Adds buckets if too many slots are in use. The caller has locked no stripe.
    #[inline]
    pub(crate) fn grow_if_full(&self, access: Access<'_>, stripe: &Stripe) {
        if self.is_full(stripe) {
            self.grow(access);
        }
    }

    #[cold]
    fn grow(&self, access: Access<'_>) {
        let _growth = match self.growth.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        for _ in 0..STEPS {
            // Without memory for it, the table stays as it is.
            if self.add_bucket(access).is_err() {
                return;
            }
        }
    }

    /// Adds the next bucket. The caller holds the growth lock.
    fn add_bucket(&self, access: Access<'_>) -> Result<(), Error> {
        self.directory.reserve_next(access.memory)?;
        let next = self.directory.count();
        let from = split_of_next(next);
        let _guard = self.stripe(from).lock.lock();
        let (low, high) = (self.directory.address(from), self.directory.address(next));
        let mut chained = Vec::new();
        let (mut stay, mut leave) = (Chain::default(), Chain::default());
        for (address, bucket) in Self::chain(access, low) {
            if address != low {
                chained.push(address);
            }
            for pair in bucket.pairs() {
                let (at, slots) = pair.slots();
                let chain = if self.moves(access, &bucket, pair, next) { &mut leave } else { &mut stay };
                chain.push(&bucket.entry(at, slots));
            }
        }
        self.store_chains(access, [(low, stay), (high, leave)], chained)?;
        self.directory.add();
        Ok(())
    }

    /// Whether a pair belongs to the next bucket.
    fn moves(&self, access: Access<'_>, bucket: &Bucket, pair: Stored, next: u64) -> bool {
        let hash = match pair {
            Stored::Inline(pair, key_length) => {
                let bytes = bucket.bytes();
                hash(self.config.seed, &bytes[pair.value - key_length..pair.value])
            }
            Stored::Slab(slab) => {
                let record = access.record(slab);
                let key = record.pair().map_or(&[][..], |pair| pair.key);
                hash(self.config.seed, key)
            }
        };
        number_of(hash, next + 1) == next
    }

    /// Stores both chains. They use the chained buckets of the old chain, and further ones if necessary.
    fn store_chains(
        &self,
        access: Access<'_>,
        chains: [(u32, Chain); 2],
        mut chained: Vec<u32>,
    ) -> Result<(), Error> {
        let wanted: usize = chains.iter().map(|(_, chain)| chain.0.len() - 1).sum();
        let old = chained.len();
        while chained.len() < wanted {
            match self.slabs.allocate(access.memory, BUCKET_CLASS) {
                Ok(address) => chained.push(address),
                Err(error) => {
                    let new = chained.drain(old..);
                    new.for_each(|address| self.slabs.free(access.memory, BUCKET_CLASS, address));
                    return Err(error.into());
                }
            }
        }
        for (mut address, mut chain) in chains {
            let count = chain.0.len();
            for (position, bucket) in chain.0.iter_mut().enumerate() {
                let next = if position + 1 < count { chained.pop() } else { None };
                bucket.set_next(next);
                access.store_bucket(address, bucket);
                address = next.unwrap_or(address);
            }
        }
        chained.into_iter().for_each(|address| self.slabs.free(access.memory, BUCKET_CLASS, address));
        Ok(())
    }
}

/// The buckets of a new chain.
#[derive(Debug)]
struct Chain(Vec<Bucket>);

impl Default for Chain {
    fn default() -> Self {
        Self(vec![Bucket::default()])
    }
}

impl Chain {
    fn push(&mut self, entry: &Entry) {
        if let Some(bucket) = self.0.iter_mut().find(|bucket| bucket.free() >= entry.slots) {
            return bucket.push(entry);
        }
        let mut bucket = Bucket::default();
        bucket.push(entry);
        self.0.push(bucket);
    }
}

//! New chains for the pairs of a stripe, when the table grows or shrinks.
//!
//! 1. `take_chain` collects the pairs of old chains. It changes nothing.
//! 2. `store_chains` allocates what the new chains need, stores them, and frees what they do not need.

use crate::access::{Access, BUCKET_CLASS};
use crate::bucket::{Bucket, Entry, Slab, SlabSlot, Stored};
use crate::error::Error;
use crate::hash::{hash, second_hash};
use crate::index::Index;

/// Chains that take the pairs of others of their stripe.
#[derive(Debug)]
pub(crate) struct NewChains<const N: usize> {
    chains: [Chain; N],
    /// The chained buckets of the old chains.
    chained: Vec<u32>,
    /// Short pairs in slabs. These have no place yet, because they follow all other pairs.
    shorts: Vec<Short>,
}

/// A new chain. Most have one bucket.
#[derive(Debug, Default)]
struct Chain {
    first: Bucket,
    more: Vec<Bucket>,
}

/// A short pair in a slab.
#[derive(Debug)]
struct Short {
    /// The index of its new chain.
    chain: usize,
    slab: Slab,
    second_hash: u64,
    /// Number of slots that it needs to be inline.
    slots: usize,
}

impl<const N: usize> Default for NewChains<N> {
    fn default() -> Self {
        let chains = std::array::from_fn(|_| Chain::default());
        Self { chains, chained: Vec::new(), shorts: Vec::new() }
    }
}

impl Index {
    /// Takes the pairs of an old chain, each into the chain with the index that `chain_of` returns for its
    /// hash. The caller has locked the stripe.
    pub(crate) fn take_chain<const N: usize>(
        &self,
        access: Access<'_>,
        first: u32,
        new: &mut NewChains<N>,
        chain_of: impl Fn(u64) -> usize,
    ) {
        for (address, bucket) in Self::chain(access, first) {
            if address != first {
                new.chained.push(address);
            }
            for pair in bucket.pairs() {
                let (hash, short) = self.examine(access, &bucket, pair);
                let (chain, (at, slots)) = (chain_of(hash), pair.slots());
                match short {
                    Some((slab, slots)) => {
                        new.shorts.push(Short { chain, slab, second_hash: second_hash(hash), slots });
                    }
                    None => new.chains[chain].with_room(slots).push_slots(&bucket, at, slots),
                }
            }
        }
    }

    /// The hash of a pair. If it is a short one in a slab, also the slab and the number of slots that it
    /// needs to be inline.
    fn examine(&self, access: Access<'_>, bucket: &Bucket, pair: Stored) -> (u64, Option<(Slab, usize)>) {
        let seed = self.config.seed;
        match pair {
            Stored::Inline(pair, key_length) => {
                (hash(seed, &bucket.bytes()[pair.value - key_length..pair.value]), None)
            }
            Stored::Slab(SlabSlot { slab, .. }) => access.with_pair(slab, |pair| {
                (hash(seed, pair.key), self.short_slots(&pair).map(|slots| (slab, slots)))
            }),
        }
    }

    /// Stores new chains, whose first buckets have some addresses, of the stripe of a hash. A failure changes
    /// nothing.
    pub(crate) fn store_chains<const N: usize>(
        &self,
        access: Access<'_>,
        stripe: u64,
        addresses: [u32; N],
        new: &mut NewChains<N>,
    ) -> Result<(), Error> {
        self.place_shorts(access, new);
        let NewChains { chains, chained, shorts } = new;
        self.allocate_chained(access, chained, chains.iter().map(|chain| chain.more.len()).sum())?;
        for (address, chain) in addresses.into_iter().zip(chains.iter_mut()) {
            chain.store(access, address, chained);
        }
        // Only now: a slab is free when no bucket refers to it, and a failure would have to take it back.
        chained.drain(..).for_each(|address| self.slabs.free(access.memory, BUCKET_CLASS, address));
        shorts.drain(..).for_each(|short| self.count_pulled(access, stripe, short.slab, short.slots));
        Ok(())
    }

    /// Gives short pairs a place, inline as long as the first bucket of their chain has room. Those that are
    /// inline remain in the list, until their slabs are free.
    fn place_shorts<const N: usize>(
        &self,
        access: Access<'_>,
        NewChains { chains, shorts, .. }: &mut NewChains<N>,
    ) {
        shorts.retain(|&Short { chain, slab, second_hash, slots }| {
            let chain = &mut chains[chain];
            let free = chain.first.free();
            let inline = if free < slots { None } else { self.short_entry(access, slab, free) };
            let entry = inline.unwrap_or_else(|| Entry::slab(slab, second_hash));
            chain.with_room(entry.slots).push(&entry);
            inline.is_some()
        });
    }

    /// Allocates slabs for chained buckets until there are as many as `wanted`.
    fn allocate_chained(
        &self,
        access: Access<'_>,
        chained: &mut Vec<u32>,
        wanted: usize,
    ) -> Result<(), Error> {
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
        Ok(())
    }
}

impl Chain {
    /// The first bucket with room for some slots, perhaps a new one.
    #[inline]
    fn with_room(&mut self, slots: usize) -> &mut Bucket {
        if self.first.free() >= slots { &mut self.first } else { self.chained_with_room(slots) }
    }

    #[cold]
    fn chained_with_room(&mut self, slots: usize) -> &mut Bucket {
        let found = self.more.iter().position(|bucket| bucket.free() >= slots);
        let index = found.unwrap_or_else(|| {
            self.more.push(Bucket::default());
            self.more.len() - 1
        });
        &mut self.more[index]
    }

    /// Stores the buckets: the first one at its address, each further one in a slab of `chained`.
    fn store(&mut self, access: Access<'_>, mut address: u32, chained: &mut Vec<u32>) {
        let mut bucket = &mut self.first;
        for next in &mut self.more {
            let next_address = chained.pop().expect("the chained buckets are allocated");
            bucket.set_next(Some(next_address));
            access.store_bucket(address, bucket);
            (address, bucket) = (next_address, next);
        }
        access.store_bucket(address, bucket);
    }
}

//! The removal of all pairs at one moment.
//!
//! The thread that clears a table locks all stripes, copies and empties its first buckets, takes all other
//! pages away from directory and slabs, and unlocks. So other threads wait for a time that does not depend on
//! the number of pairs, and no memory is necessary. Afterwards no thread refers to the former buckets and
//! slabs but readers whose pins began before; [`Cleared::free`] retires them in steps.

use honeycomb_memory::Memory;
use honeycomb_memory::sync::Ordering;

use crate::access::Access;
use crate::bucket::Bucket;
use crate::directory::{Directory, address_among, retired};
use crate::index::Index;
use crate::slabs;

/// The memory that a table used before it was cleared. It is lost if this is dropped before
/// [`Cleared::free`] has returned false.
#[derive(Debug)]
#[must_use = "the memory is free after `Cleared::free`"]
pub struct Cleared {
    /// Copies of the buckets in the pages that the table keeps.
    kept: Vec<Bucket>,
    /// The number of former buckets, and of those whose values are retired.
    count: u64,
    done: u64,
    /// The addresses of the pages with the other buckets.
    buckets: Vec<u32>,
    /// The numbers of the pages with slabs.
    slabs: Vec<u32>,
}

/// Chains in the time of a page that is retired.
const CHAINS_OF_PAGE: usize = 4;

impl Cleared {
    /// Frees a part of the memory: visits up to `chains` chains of buckets. `memory` is that of the table.
    /// Returns whether more remains.
    pub fn free(&mut self, memory: &Memory, chains: usize) -> bool {
        let (pin, until) = (memory.pin(), self.count.min(self.done.saturating_add(chains as u64)));
        let access = Access::new(memory, &pin);
        for number in self.done..until {
            Index::retire_values_of(access, self.bucket(access, number));
        }
        self.done = until;
        if self.done == self.count {
            self.free_pages(memory, (chains / CHAINS_OF_PAGE).max(1));
        }
        self.done < self.count || !self.slabs.is_empty() || !self.buckets.is_empty()
    }

    fn bucket(&self, access: Access<'_>, number: u64) -> Bucket {
        let kept = self.kept.len() as u64;
        match self.kept.get(number as usize) {
            Some(bucket) => *bucket,
            None => access.bucket(address_among(&self.buckets, number - kept)),
        }
    }

    fn free_pages(&mut self, memory: &Memory, pages: usize) {
        let slabs = self.slabs.len().saturating_sub(pages);
        let buckets = self.buckets.len().saturating_sub(pages - (self.slabs.len() - slabs));
        memory.retire(self.slabs.drain(slabs..).map(slabs::retired));
        memory.retire(self.buckets.drain(buckets..).filter_map(retired));
    }
}

impl Index {
    /// Removes all pairs at one moment. Returns their memory. A table that grows has one bucket for each
    /// stripe afterwards; another one keeps the number of its buckets.
    pub(crate) fn clear(&self, access: Access<'_>) -> Cleared {
        let _growth = self.lock_growth();
        let keeps = match self.config.fill_percent {
            Some(_) => self.stripes.len() as u64,
            None => self.directory.count(),
        };
        let guards: Vec<_> = self.stripes.iter().map(|stripe| stripe.lock.lock()).collect();
        let count = self.directory.count();
        let numbers = 0..count.min(Directory::buckets_of_pages(keeps));
        let empty = |address| {
            let bucket = access.bucket(address);
            access.store_bucket(address, &Bucket::default());
            bucket
        };
        let kept = numbers.map(|number| empty(self.directory.address(number))).collect();
        let (buckets, slabs) = (self.directory.clear(keeps), self.slabs.detach());
        for stripe in self.stripes.iter() {
            stripe.pairs.store(0, Ordering::Relaxed);
            stripe.used_slots.store(0, Ordering::Relaxed);
        }
        self.recording.record_clear();
        drop(guards);
        Cleared { kept, count, done: 0, buckets, slabs }
    }
}

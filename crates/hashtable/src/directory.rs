//! The buckets of a table by number: linear hashing over pages of buckets.
//!
//! A table has any number of buckets. With `n` buckets and `2^k <= n < 2^(k+1)`, a key belongs to the
//! bucket of the lowest `k+1` bits of its hash, or of the lowest `k` bits if there is no such bucket yet.
//! So bucket `n` takes keys from bucket `n - 2^k` only, and the table grows by one bucket at a time.
//!
//! 1. `state`: the number of buckets in its low half, and the number of times that the table was cleared.
//!    Only the holder of the growth lock stores it: with the next number of buckets (see `growth`), while it
//!    also holds the stripe of both buckets, or cleared, while it holds all stripes. Any thread loads it. A
//!    thread that has begun to read or has locked a stripe loads the current bucket of each key of the
//!    stripe: a later state moves keys only under the lock of their stripe.
//! 2. `pages[i]`: the holder of the growth lock stores it before it stores a number of buckets for a bucket
//!    of that page, with release. A thread that loads such a state with acquire sees the address, unless the
//!    table is cleared meanwhile. So an address is valid only if the state is still the same after the thread
//!    has begun to read.

use honeycomb_layout::{SLAB_UNIT_BYTES, TABLE_PAGE_BYTES, bucket};
use honeycomb_memory::sync::{AtomicU32, AtomicU64, Ordering};
use honeycomb_memory::{BusAddress, Memory, MemoryError, Retired};

/// Buckets of a page.
const PAGE_BUCKETS: usize = TABLE_PAGE_BYTES / bucket::SIZE;
const BUCKET_UNITS: usize = bucket::SIZE / SLAB_UNIT_BYTES;
/// Maximum number of buckets.
const BUCKETS_MAX: u64 = 1 << 31;
/// The bits of a state with the number of buckets, and the lowest bit above them.
const COUNT_MASK: u64 = CLEARED - 1;
const CLEARED: u64 = 1 << 32;

/// The buckets of a table.
#[derive(Debug)]
pub(crate) struct Directory {
    state: AtomicU64,
    /// The address of each page, in slab units.
    pages: Box<[AtomicU32]>,
}

impl Directory {
    /// Allocates `buckets` empty buckets.
    pub(crate) fn new(memory: &Memory, buckets: usize) -> Result<Self, MemoryError> {
        let pages = (memory.accounting().arena_bytes / TABLE_PAGE_BYTES).max(1);
        let pages = (0..pages).map(|_| AtomicU32::new(0)).collect();
        let mut directory = Self { state: AtomicU64::new(buckets as u64), pages };
        for page in 0..buckets.div_ceil(PAGE_BUCKETS) {
            if let Err(error) = directory.add_page(memory, page) {
                directory.retire_all(memory);
                return Err(error);
            }
        }
        Ok(directory)
    }

    /// Number of buckets.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        count_of(self.state())
    }

    /// The state, which changes whenever the bucket of a hash may change.
    #[inline]
    pub(crate) fn state(&self) -> u64 {
        // Acquire: the counterpart of the release in `add` and `clear`.
        self.state.load(Ordering::Acquire)
    }

    /// The address of the bucket of a hash, in slab units.
    #[inline]
    pub(crate) fn address_of(&self, hash: u64) -> u32 {
        self.address_in(self.state(), hash)
    }

    /// The address of the bucket of a hash in a state, in slab units.
    #[inline]
    pub(crate) fn address_in(&self, state: u64, hash: u64) -> u32 {
        self.address(number_of(hash, count_of(state)))
    }

    /// The address of the bucket of a hash, and the state for which it is valid.
    #[inline]
    pub(crate) fn place_of(&self, hash: u64) -> (u32, u64) {
        let state = self.state();
        (self.address_in(state, hash), state)
    }

    /// The address of a bucket, in slab units.
    #[inline]
    pub(crate) fn address(&self, bucket: u64) -> u32 {
        let (page, within) = (bucket as usize / PAGE_BUCKETS, bucket as usize % PAGE_BUCKETS);
        self.pages[page].load(Ordering::Relaxed) + (within * BUCKET_UNITS) as u32
    }

    /// Makes sure that there is memory for the next bucket. Only the holder of the growth lock calls it.
    pub(crate) fn reserve_next(&self, memory: &Memory) -> Result<(), MemoryError> {
        let page = self.count() as usize / PAGE_BUCKETS;
        let exhausted = self.count() >= BUCKETS_MAX || page >= self.pages.len();
        if exhausted {
            let wanted_bytes = TABLE_PAGE_BYTES;
            let arena_bytes = self.pages.len() * TABLE_PAGE_BYTES;
            return Err(MemoryError::Exhausted { what: "table page", wanted_bytes, arena_bytes });
        }
        if self.pages[page].load(Ordering::Relaxed) == 0 { self.add_page(memory, page) } else { Ok(()) }
    }

    /// Adds the next bucket. Only the holder of the growth lock and of the bucket's stripe calls it.
    pub(crate) fn add(&self) {
        self.state.store(self.state() + 1, Ordering::Release);
    }

    /// The number of buckets in the pages that have the first `count` buckets.
    pub(crate) fn buckets_of_pages(count: u64) -> u64 {
        count.next_multiple_of(PAGE_BUCKETS as u64)
    }

    /// Reduces the directory to its first `count` buckets, which the caller has emptied. Returns the
    /// addresses of the pages that it does not need any more. Only the holder of the growth lock and of all
    /// stripes calls it.
    pub(crate) fn clear(&self, count: u64) -> Vec<u32> {
        let pages = &self.pages[(count as usize).div_ceil(PAGE_BUCKETS)..];
        let used = pages.iter().map(|page| page.swap(0, Ordering::Relaxed)).take_while(|page| *page != 0);
        let former = used.collect();
        self.state.store((self.state() & !COUNT_MASK) + CLEARED + count, Ordering::Release);
        former
    }

    fn add_page(&self, memory: &Memory, page: usize) -> Result<(), MemoryError> {
        let Some(entry) = self.pages.get(page) else {
            let (wanted_bytes, arena_bytes) = (TABLE_PAGE_BYTES, self.pages.len() * TABLE_PAGE_BYTES);
            return Err(MemoryError::Exhausted { what: "table page", wanted_bytes, arena_bytes });
        };
        let address = memory.allocate_table_page()?;
        entry.store((address.get() / SLAB_UNIT_BYTES as u64) as u32, Ordering::Release);
        Ok(())
    }

    /// Bytes of the pages.
    pub(crate) fn page_bytes(&self) -> usize {
        let used = self.pages.iter().filter(|page| page.load(Ordering::Relaxed) != 0);
        used.count() * TABLE_PAGE_BYTES
    }

    /// Retires all pages. The caller uses no bucket any more.
    pub(crate) fn retire_all(&mut self, memory: &Memory) {
        memory.retire(self.pages.iter().filter_map(|page| retired(page.swap(0, Ordering::Relaxed))));
    }
}

/// The page at an address in slab units, to retire it.
pub(crate) fn retired(page: u32) -> Option<Retired> {
    BusAddress::new(u64::from(page) * SLAB_UNIT_BYTES as u64).map(Retired::TablePage)
}

/// The address of a bucket in former pages, in slab units.
pub(crate) fn address_among(pages: &[u32], bucket: u64) -> u32 {
    let (page, within) = (bucket as usize / PAGE_BUCKETS, bucket as usize % PAGE_BUCKETS);
    pages[page] + (within * BUCKET_UNITS) as u32
}

#[inline]
fn count_of(state: u64) -> u64 {
    state & COUNT_MASK
}

/// The bucket of a hash in a table of `count` buckets.
#[inline]
pub(crate) fn number_of(hash: u64, count: u64) -> u64 {
    let low = hash & (u64::MAX >> (count | 1).leading_zeros());
    let high_bit = 1 << (u64::BITS - 1 - count.leading_zeros());
    if low < count { low } else { low & !high_bit }
}

/// The bucket that gives keys to the next bucket of a table of `count` buckets.
pub(crate) fn split_of_next(count: u64) -> u64 {
    count - (1 << count.ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_bucket_takes_keys_from_one_bucket_only() {
        for count in 1..70_u64 {
            for hash in 0..1024 {
                let (before, after) = (number_of(hash, count), number_of(hash, count + 1));
                assert!(before < count);
                if before != after {
                    assert_eq!((before, after), (split_of_next(count), count), "{hash} of {count}");
                }
            }
            assert!((0..1024).any(|hash| number_of(hash, count + 1) == count));
        }
    }
}

//! The buckets of a table by number: linear hashing over pages of buckets.
//!
//! A table has any number of buckets. With `n` buckets and `2^k <= n < 2^(k+1)`, a key belongs to the
//! bucket of the lowest `k+1` bits of its hash, or of the lowest `k` bits if there is no such bucket yet.
//! So bucket `n` takes keys from bucket `n - 2^k` only, and the table grows and shrinks by one bucket at a
//! time.
//!
//! 1. `state`: the number of buckets in its low half, and the number of times that the table has lost
//!    buckets. Only the holder of the growth lock stores it: with the next or the previous number of buckets
//!    (see `growth`), while it also holds the stripe of both buckets, or cleared, while it holds all stripes.
//!    A state never returns, so equal states have the same buckets at the same addresses. Any thread loads
//!    it. A thread that has begun to read or has locked a stripe loads the current bucket of each key of the
//!    stripe: a later state moves keys only under the lock of their stripe.
//! 2. `pages[i]`: the holder of the growth lock stores it before it stores a number of buckets for a bucket
//!    of that page, with release. A thread that loads such a state with acquire sees the address, unless the
//!    table loses the bucket meanwhile. So an address is valid only if the state is still the same after the
//!    thread has begun to read, or if the thread holds the stripe, which no bucket leaves then.

use honeycomb_layout::{SLAB_UNIT_BYTES, TABLE_PAGE_BYTES, bucket};
use honeycomb_memory::sync::{AtomicU32, AtomicU64, Ordering};
use honeycomb_memory::{BusAddress, Memory, MemoryError, Retired};

/// Buckets of a page.
const PAGE_BUCKETS: usize = TABLE_PAGE_BYTES / bucket::SIZE;
const BUCKET_UNITS: usize = bucket::SIZE / SLAB_UNIT_BYTES;
/// Maximum number of buckets.
const BUCKETS_MAX: u64 = 1 << 31;
/// The bits of a state with the number of buckets, and the lowest bit above them.
const COUNT_MASK: u64 = LOST - 1;
const LOST: u64 = 1 << 32;

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
        // Acquire: the counterpart of the release in `add`, `remove` and `clear`.
        self.state.load(Ordering::Acquire)
    }

    /// The address of the bucket of a hash, in slab units.
    #[inline]
    pub(crate) fn address_of(&self, hash: u64) -> u32 {
        self.address_in(Self::numbering(self.state()), hash)
    }

    /// The buckets of all hashes in a state.
    #[inline]
    pub(crate) fn numbering(state: u64) -> Numbering {
        Numbering::new(count_of(state))
    }

    /// The address of the bucket of a hash in a state, in slab units.
    #[inline(always)]
    pub(crate) fn address_in(&self, numbering: Numbering, hash: u64) -> u32 {
        self.address(numbering.number_of(hash))
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

    /// Removes the last bucket, which is empty. Returns the address of a page that the directory does not
    /// need any more, if there is one. Only the holder of the growth lock and of the bucket's stripe calls
    /// it.
    pub(crate) fn remove(&self) -> Option<u32> {
        let last = self.count() as usize - 1;
        self.state.store(self.state().wrapping_add(LOST) - 1, Ordering::Release);
        let is_half = last % PAGE_BUCKETS == PAGE_BUCKETS / 2;
        let after = self.pages.get(last / PAGE_BUCKETS + 1).filter(|_| is_half)?;
        Some(after.swap(0, Ordering::Relaxed)).filter(|page| *page != 0)
    }

    /// The number of buckets in the pages that have the first `count` buckets.
    pub(crate) fn buckets_of_pages(count: u64) -> u64 {
        count.next_multiple_of(PAGE_BUCKETS as u64)
    }

    /// Reduces the directory to its first `count` buckets, which the caller has emptied. Returns the
    /// addresses of the pages that it does not need any more. Only the holder of the growth lock and of all
    /// stripes calls it.
    pub(crate) fn clear(&self, count: u64) -> Vec<u32> {
        let pages = self.pages.get((count as usize).div_ceil(PAGE_BUCKETS)..).unwrap_or_default();
        let used = pages.iter().map(|page| page.swap(0, Ordering::Relaxed)).take_while(|page| *page != 0);
        let former = used.collect();
        self.state.store((self.state() & !COUNT_MASK).wrapping_add(LOST) + count, Ordering::Release);
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
    Numbering::new(count).number_of(hash)
}

/// The bucket of each hash in a table of some number of buckets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbering {
    count: u64,
    /// The bits that choose a bucket, if there is one with all of them.
    mask: u64,
}

impl Numbering {
    #[inline]
    fn new(count: u64) -> Self {
        Self { count, mask: u64::MAX >> (count | 1).leading_zeros() }
    }

    #[inline(always)]
    fn number_of(self, hash: u64) -> u64 {
        let low = hash & self.mask;
        // The processor cannot predict it if the number of buckets is between two powers of two.
        std::hint::select_unpredictable(low < self.count, low, low & self.mask >> 1)
    }
}

/// The bucket that gives keys to the next bucket of a table of `count` buckets.
pub(crate) fn split_of_next(count: u64) -> u64 {
    count - (1 << count.ilog2())
}

#[cfg(all(test, loom))]
mod models {
    use honeycomb_memory::SequenceLock;
    use honeycomb_memory::sync::{Arc, AtomicBool, thread};

    use super::*;

    /// Two pages, before and after the second page is free and allocated again.
    const PAGES: [u32; 3] = [1, 1 << 15, 1 << 16];

    /// A table of one stripe whose bucket of the key is the first or the last one. A bucket is one word, with
    /// the value of the key.
    struct Shared {
        directory: Directory,
        lock: SequenceLock,
        /// The first bucket of each page.
        buckets: [AtomicU64; PAGES.len()],
        is_updated: AtomicBool,
    }

    /// The hash of the key: that of the first bucket of the second page, if it exists.
    const HASH: u64 = PAGE_BUCKETS as u64;

    impl Shared {
        /// A table with the key in its last bucket, or in the first bucket.
        fn new(has_last: bool) -> Arc<Self> {
            let pages = [PAGES[0], PAGES[1]].map(AtomicU32::new);
            let count = PAGE_BUCKETS as u64 + u64::from(has_last);
            let directory = Directory { state: AtomicU64::new(count), pages: Box::new(pages) };
            let value_in = |page| u64::from(page == usize::from(has_last));
            let buckets = std::array::from_fn(|page| AtomicU64::new(value_in(page)));
            Arc::new(Self { directory, lock: SequenceLock::default(), buckets, is_updated: false.into() })
        }

        fn bucket(&self, address: u32) -> Option<&AtomicU64> {
            self.buckets.get(PAGES.iter().position(|page| *page == address)?)
        }

        fn shift(&self, from: usize, to: usize) {
            self.buckets[to].store(self.buckets[from].load(Ordering::Relaxed), Ordering::Relaxed);
        }

        fn grow(&self, page: usize) {
            let _guard = self.lock.lock();
            self.directory.pages[1].store(PAGES[page], Ordering::Release);
            self.shift(0, page);
            self.directory.add();
        }

        fn shrink(&self) {
            let guard = self.lock.lock();
            self.shift(1, 0);
            self.directory.remove();
            drop(guard);
            self.directory.pages[1].store(0, Ordering::Relaxed);
        }

        /// The address of the bucket of the key, and the state for which it is valid.
        fn place(&self) -> (u32, u64) {
            let state = self.directory.state();
            (self.directory.address_in(Directory::numbering(state), HASH), state)
        }

        /// Reads the key as a batch does: with an address from before the read. `None`: a writer interfered.
        fn read(&self, (address, state): (u32, u64)) -> Option<u64> {
            let number = self.lock.begin();
            if state != self.directory.state() {
                return None;
            }
            let value = self.bucket(address)?.load(Ordering::Relaxed);
            self.lock.unchanged(number).then_some(value)
        }

        fn read_again(&self) -> Option<u64> {
            let number = self.lock.begin();
            let value = self.bucket(self.directory.address_of(HASH))?.load(Ordering::Relaxed);
            self.lock.unchanged(number).then_some(value)
        }
    }

    fn spawn(shared: &Arc<Shared>, run: fn(&Shared)) -> thread::JoinHandle<()> {
        let shared = shared.clone();
        thread::spawn(move || run(&shared))
    }

    /// Reads the key while a writer moves it to or from the last bucket.
    fn a_reader_finds_the_key(has_last: bool, moves: fn(&Shared)) {
        loom::model(move || {
            let shared = Shared::new(has_last);
            let writer = spawn(&shared, moves);
            let place = shared.place();
            let reads = [shared.read(place), shared.read_again()];
            assert!(reads.iter().flatten().all(|value| *value == 1), "{reads:?}");
            writer.join().unwrap();
            assert_eq!(shared.read_again(), Some(1));
        });
    }

    /// Fails if the bucket is added after the stripe is free, or with a relaxed state.
    #[test]
    fn loom_a_reader_finds_a_key_that_growth_moves() {
        a_reader_finds_the_key(false, |shared| shared.grow(1));
    }

    /// Fails if the bucket is removed after the stripe is free.
    #[test]
    fn loom_a_reader_finds_a_key_that_shrinking_moves() {
        a_reader_finds_the_key(true, Shared::shrink);
    }

    /// A bucket leaves, and returns in another page. Fails if a state returns, because a reader with an
    /// address in the former page then returns the former value.
    #[test]
    fn loom_an_address_of_a_former_state_is_not_used() {
        loom::model(|| {
            let shared = Shared::new(true);
            let writer = spawn(&shared, |shared| {
                shared.shrink();
                shared.grow(2);
                let guard = shared.lock.lock();
                shared.buckets[2].store(2, Ordering::Relaxed);
                drop(guard);
                shared.is_updated.store(true, Ordering::Release);
            });
            let place = shared.place();
            let is_updated = shared.is_updated.load(Ordering::Acquire);
            let value = shared.read(place);
            assert!(!is_updated || value.is_none_or(|value| value == 2), "{value:?} is a former value");
            writer.join().unwrap();
            assert_eq!(shared.read_again(), Some(2));
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_state_never_returns() {
        let directory = Directory { state: AtomicU64::new(4), pages: Box::default() };
        let mut states = vec![directory.state()];
        for _ in 0..5 {
            directory.add();
            states.push(directory.state());
            directory.remove();
            states.push(directory.state());
            directory.clear(4);
            states.push(directory.state());
        }
        states.sort_unstable();
        states.dedup();
        assert_eq!((states.len(), directory.count()), (16, 4));
    }

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

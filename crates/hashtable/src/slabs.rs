//! The slab allocator of a table (KV-Direct, section 3.3.2).
//!
//! A *pool* contains the free slabs of all pages. Threads allocate from caches in front of it, which
//! exchange slabs with the pool in groups, so that most allocations do not touch the pool. If the pool has
//! no slab of a class, it splits a larger one; if it has none, it takes a page from the memory. Merging is
//! lazy: each time a cache returns a group, the pool merges the free slabs of one page that has got some
//! since its last merge, and gives a page without slabs in use back to the memory. Steps of maintenance do
//! the rest while no cache exchanges slabs with the pool, so a table that is idle keeps no free pages.
//!
//! 1. `caches[i]`: only under its lock. A thread locks the cache of its number, and all in turn if the
//!    memory is full or the table is idle.
//! 2. `pool`: only under its lock. A thread that holds a cache may lock the pool, but not the reverse.
//! 3. A caller that allocates a slab owns it, and frees it at most once, when no bucket refers to it. A
//!    reader may still load its words: it discards them, because the sequence lock of the stripe has
//!    changed. The next owner may hold another stripe, so a release fence after the allocation orders that
//!    change before its words.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::PoisonError;

use honeycomb_layout::{SLAB_CLASSES, SLAB_UNIT_BYTES, TABLE_PAGE_BYTES};
use honeycomb_memory::sync::{Mutex, MutexGuard, Ordering, Padded, fence, thread_number};
use honeycomb_memory::{BusAddress, Memory, MemoryError, Retired};

use crate::form::class_bytes;
use crate::page_map::{PAGE_UNITS, PageMap};

/// Number of slabs that move between a cache and the pool at once. Models need few steps.
const GROUP: usize = if cfg!(loom) { 1 } else { 32 };
/// A cache with more free slabs of a class returns a group.
const CACHE_MAX: usize = 2 * GROUP;
/// Number of caches.
const CACHES: usize = if cfg!(loom) { 2 } else { 16 };

/// The slabs of a table.
#[derive(Debug)]
pub(crate) struct Slabs {
    pool: Padded<Mutex<Pool>>,
    caches: Box<[Padded<Mutex<Cache>>]>,
}

/// The free slabs of some threads, by class.
#[derive(Debug, Default)]
struct Cache([Vec<u32>; SLAB_CLASSES]);

#[derive(Debug, Default)]
struct Pool {
    /// The free slabs of each page, by the number of the page.
    pages: BTreeMap<u32, Box<PageMap>>,
    /// The pages that have free slabs of each class.
    with_free: [BTreeSet<u32>; SLAB_CLASSES],
    /// The pages that have got free slabs since they were last merged. A merge of another page finds nothing,
    /// so allocations that fail one after the other do not merge all pages each time.
    unmerged: BTreeSet<u32>,
    /// The page that was merged last.
    cursor: u32,
    /// Whether a cache has exchanged slabs with the pool since the last step of maintenance.
    is_in_use: bool,
    /// The number of caches that maintenance has emptied since then.
    emptied: usize,
    #[cfg(test)]
    merges: usize,
}

/// The bytes of the slabs of a table by their use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SlabUsage {
    /// Bytes of all pages with slabs.
    pub page_bytes: usize,
    /// Bytes of free slabs in the pool.
    pub pool_bytes: usize,
    /// Bytes of free slabs in the caches of threads.
    pub cached_bytes: usize,
}

impl SlabUsage {
    /// Bytes of the slabs in use.
    #[must_use]
    pub fn live_bytes(&self) -> usize {
        self.page_bytes.saturating_sub(self.pool_bytes + self.cached_bytes)
    }
}

/// No thread leaves the data of these locks inconsistent: code under them panics only if a slab is freed
/// twice, before it has changed anything.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slabs {
    pub(crate) fn new() -> Self {
        let caches = (0..CACHES).map(|_| Padded::default()).collect();
        Self { pool: Padded::default(), caches }
    }

    /// Allocates a slab of a class. Its bytes are arbitrary.
    ///
    /// # Errors
    /// [`MemoryError::Exhausted`] if there is no room even after merging everything.
    pub(crate) fn allocate(&self, memory: &Memory, class: usize) -> Result<u32, MemoryError> {
        let mut cache = lock(self.cache());
        if let Some(slab) = cache.0[class].pop() {
            return Ok(owned(slab));
        }
        memory.count_slab_allocation(class_bytes(class))?;
        if let Ok(slab) = self.refill(memory, &mut cache.0[class], class) {
            return Ok(owned(slab));
        }
        drop(cache);
        self.flush(memory);
        // Merging may have returned pages to the memory, from which another class takes them.
        let mut slabs = Vec::new();
        let slab = self.refill(memory, &mut slabs, class)?;
        lock(&self.pool.0).put_all(class, &slabs);
        Ok(owned(slab))
    }

    /// Frees a slab of a class.
    pub(crate) fn free(&self, memory: &Memory, class: usize, slab: u32) {
        let mut cache = lock(self.cache());
        cache.0[class].push(slab);
        if cache.0[class].len() > CACHE_MAX {
            let group = cache.0[class].split_off(CACHE_MAX + 1 - GROUP);
            drop(cache);
            let mut pool = lock(&self.pool.0);
            pool.is_in_use = true;
            pool.put_all(class, &group);
            pool.merge_next(memory);
        }
    }

    /// Returns the slabs of all caches to the pool, merges all pages, and gives free pages back to the
    /// memory.
    pub(crate) fn flush(&self, memory: &Memory) {
        (0..CACHES).for_each(|number| self.empty(number));
        let mut pool = lock(&self.pool.0);
        while pool.merge_next(memory) {}
    }

    /// Executes a step of maintenance: empties a cache, or merges up to `pages` pages. Does nothing if the
    /// slabs were in use since the previous step, because the caches would fill again and merged slabs would
    /// be split again. Returns whether a further step would find work now.
    pub(crate) fn maintain(&self, memory: &Memory, pages: usize) -> bool {
        let mut pool = lock(&self.pool.0);
        if std::mem::take(&mut pool.is_in_use) {
            pool.emptied = 0;
            return false;
        }
        if pool.emptied < CACHES {
            let number = pool.emptied;
            pool.emptied += 1;
            drop(pool);
            self.empty(number);
            return true;
        }
        let has_merged_all = !(0..pages).all(|_| pool.merge_next(memory));
        !has_merged_all && !pool.unmerged.is_empty()
    }

    /// Returns the slabs of a cache to the pool. It holds both locks: slabs that are in neither would
    /// outlive their page if the table were cleared.
    fn empty(&self, number: usize) {
        let mut cache = lock(&self.caches[number].0);
        let mut pool = lock(&self.pool.0);
        for (class, slabs) in std::mem::take(&mut *cache).0.iter().enumerate() {
            pool.put_all(class, slabs);
        }
    }

    /// Counts the bytes by their use. Exact while no thread allocates or frees slabs.
    pub(crate) fn usage(&self) -> SlabUsage {
        let cached = |cache: &Padded<Mutex<Cache>>| {
            let bytes = |(class, slabs): (usize, &Vec<u32>)| slabs.len() * class_bytes(class);
            lock(&cache.0).0.iter().enumerate().map(bytes).sum::<usize>()
        };
        let cached_bytes = self.caches.iter().map(cached).sum();
        let pool = lock(&self.pool.0);
        SlabUsage {
            page_bytes: pool.pages.len() * TABLE_PAGE_BYTES,
            pool_bytes: pool.pages.values().map(|map| map.free_bytes()).sum(),
            cached_bytes,
        }
    }

    /// Retires all pages. The caller uses no slab any more.
    pub(crate) fn retire_all(&mut self, memory: &Memory) {
        memory.retire(self.detach().into_iter().map(retired));
    }

    /// Removes and returns the numbers of all pages, so that there are no slabs. No other thread allocates or
    /// frees slabs meanwhile.
    pub(crate) fn detach(&self) -> Vec<u32> {
        for cache in &self.caches {
            *lock(&cache.0) = Cache::default();
        }
        std::mem::take(&mut *lock(&self.pool.0)).pages.into_keys().collect()
    }

    fn cache(&self) -> &Mutex<Cache> {
        &self.caches[thread_number() % CACHES].0
    }

    /// Takes a group of slabs from the pool for an empty cache, and one of them for the caller.
    fn refill(&self, memory: &Memory, cache: &mut Vec<u32>, class: usize) -> Result<u32, MemoryError> {
        let mut pool = lock(&self.pool.0);
        pool.is_in_use = true;
        pool.take_group(class, cache);
        if cache.is_empty() {
            pool.add_page(memory)?;
            pool.take_group(class, cache);
        }
        Ok(cache.pop().expect("a new page has slabs"))
    }
}

/// Begins the ownership of a slab that the locks of a cache or of the pool have passed on.
#[inline]
fn owned(slab: u32) -> u32 {
    // Release: a reader that loads a word of this owner also sees that the stripe of the former owner has
    // changed.
    fence(Ordering::Release);
    slab
}

/// The page that contains a slab, to retire it.
pub(crate) fn retired(page: u32) -> Retired {
    let address = BusAddress::new(u64::from(page) * TABLE_PAGE_BYTES as u64);
    Retired::TablePage(address.expect("page 0 contains the reserved unit"))
}

impl Pool {
    fn add_page(&mut self, memory: &Memory) -> Result<(), MemoryError> {
        let address = memory.allocate_table_page()?;
        let page = (address.get() / TABLE_PAGE_BYTES as u64) as u32;
        self.pages.insert(page, Box::new(PageMap::new()));
        self.with_free[SLAB_CLASSES - 1].insert(page);
        Ok(())
    }

    /// Moves slabs into an empty group until it is complete, those of the page with the lowest address first.
    /// Splits a larger one if there is none of the class.
    fn take_group(&mut self, class: usize, group: &mut Vec<u32>) {
        while group.len() < GROUP
            && let Some(from) = (class..SLAB_CLASSES).find(|&from| !self.with_free[from].is_empty())
            && let Some(&page) = self.with_free[from].first()
            && let Some(map) = self.pages.get_mut(&page)
        {
            if from > class {
                map.split(from, class);
                self.unmerged.insert(page);
            }
            map.take(class, GROUP - group.len(), |unit| group.push(page * PAGE_UNITS + unit));
            self.note(page, class..=from);
        }
    }

    fn put_all(&mut self, class: usize, slabs: &[u32]) {
        for slab in slabs {
            let page = slab / PAGE_UNITS;
            let map = self.pages.get_mut(&page).expect("a slab of the table is in one of its pages");
            map.put(class, slab % PAGE_UNITS);
            self.with_free[class].insert(page);
            self.unmerged.insert(page);
        }
    }

    /// Merges the free slabs of the next page that may have some to merge. Returns false if there is none.
    fn merge_next(&mut self, memory: &Memory) -> bool {
        let next = self.unmerged.range(self.cursor + 1..).next().or_else(|| self.unmerged.first());
        let Some(&page) = next else { return false };
        self.cursor = page;
        self.unmerged.remove(&page);
        self.merge(memory, page);
        true
    }

    /// Merges the free slabs of a page, and gives it back to the memory if it has no other slabs.
    fn merge(&mut self, memory: &Memory, page: u32) {
        #[cfg(test)]
        {
            self.merges += 1;
        }
        let map = self.pages.get_mut(&page).expect("a page with free slabs is one of the table");
        map.merge();
        if map.is_free() {
            self.pages.remove(&page);
            self.with_free.iter_mut().for_each(|pages| _ = pages.remove(&page));
            memory.retire([retired(page)]);
        } else {
            self.note(page, 0..=SLAB_CLASSES - 1);
        }
    }

    /// Notes which classes a page has free slabs of.
    fn note(&mut self, page: u32, classes: std::ops::RangeInclusive<usize>) {
        let Some(map) = self.pages.get(&page) else { return };
        for class in classes {
            if map.count(class) > 0 {
                self.with_free[class].insert(page);
            } else {
                self.with_free[class].remove(&page);
            }
        }
    }
}

const _: () = assert!(PAGE_UNITS as usize * SLAB_UNIT_BYTES == TABLE_PAGE_BYTES);

#[cfg(all(test, loom))]
mod models {
    use honeycomb_memory::sync::{Arc, AtomicU32, AtomicU64, thread};
    use honeycomb_memory::{MemoryConfig, SequenceLock};

    use super::*;

    const SLAB: u32 = 1;

    /// Two stripes of one bucket each. A bucket has the slab of its pair or 0, the slab one word of the pair.
    struct Shared {
        locks: [SequenceLock; 2],
        buckets: [AtomicU32; 2],
        word: AtomicU64,
        slabs: Slabs,
    }

    impl Shared {
        /// The pair of the first stripe has the value 1.
        fn new() -> Self {
            let buckets = [SLAB, 0].map(AtomicU32::new);
            Self { locks: Default::default(), buckets, word: AtomicU64::new(1), slabs: Slabs::new() }
        }

        fn delete_first(&self) {
            let _guard = self.locks[0].lock();
            self.buckets[0].store(0, Ordering::Relaxed);
            lock(self.slabs.cache()).0[0].push(SLAB);
        }

        /// Inserts a pair with the value 2, if a slab is free.
        fn insert_second(&self) {
            let _guard = self.locks[1].lock();
            let free = lock(self.slabs.cache()).0[0].pop();
            if let Some(slab) = free.map(owned) {
                self.word.store(2, Ordering::Relaxed);
                self.buckets[1].store(slab, Ordering::Relaxed);
            }
        }

        /// Returns the value of the first stripe; `None` if it is absent or a writer interfered.
        fn read_first(&self) -> Option<u64> {
            let number = self.locks[0].begin();
            let slab = self.buckets[0].load(Ordering::Relaxed);
            let word = self.word.load(Ordering::Relaxed);
            (slab != 0 && self.locks[0].unchanged(number)).then_some(word)
        }
    }

    /// Fails without the fence of `owned`.
    #[test]
    fn loom_a_reader_discards_words_of_the_next_owner() {
        loom::model(|| {
            let shared = Arc::new(Shared::new());
            let writers = [Shared::delete_first, Shared::insert_second].map(|write| {
                let shared = shared.clone();
                thread::spawn(move || write(&shared))
            });
            assert!(shared.read_first().is_none_or(|value| value == 1), "a value of another key");
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        });
    }

    /// A page of slabs, and which of its units have an owner. Locks decide here, so the owners need no
    /// atomics of loom.
    struct Pages {
        memory: Memory,
        slabs: Slabs,
        owners: std::sync::Mutex<BTreeSet<u32>>,
    }

    impl Pages {
        fn new() -> Self {
            let arena_bytes = 2 * TABLE_PAGE_BYTES;
            let config = MemoryConfig { arena_bytes, huge_pages: false, ..Default::default() };
            let memory = Memory::new(config).unwrap();
            Self { memory, slabs: Slabs::new(), owners: std::sync::Mutex::default() }
        }

        /// Allocates slabs of a class and frees them. With more than the cache keeps, groups move both ways.
        fn use_slabs(&self, class: usize, count: usize) {
            let slabs: Vec<_> =
                (0..count).map(|_| self.slabs.allocate(&self.memory, class).unwrap()).collect();
            for slab in &slabs {
                for unit in *slab..slab + (1 << class) {
                    assert!(self.owners.lock().unwrap().insert(unit), "unit {unit} has two owners");
                }
            }
            for slab in slabs {
                self.owners.lock().unwrap().retain(|unit| !(slab..slab + (1 << class)).contains(unit));
                self.slabs.free(&self.memory, class, slab);
            }
        }

        /// Whether all slabs were given back and merged to a page, which was given back as well.
        fn is_complete(&self) -> bool {
            self.slabs.flush(&self.memory);
            self.slabs.usage() == SlabUsage::default()
        }
    }

    fn check(uses: impl Fn(&Pages) + Copy + Send + Sync + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(move || {
            let pages = Arc::new(Pages::new());
            let other = {
                let pages = pages.clone();
                thread::spawn(move || pages.use_slabs(0, CACHE_MAX + 1))
            };
            uses(&pages);
            other.join().unwrap();
            assert!(pages.is_complete(), "slabs were lost");
        });
    }

    #[test]
    fn loom_groups_of_slabs_have_one_owner() {
        check(|pages| pages.use_slabs(1, CACHE_MAX + 1));
    }

    #[test]
    fn loom_a_flush_loses_no_slab() {
        check(|pages| pages.slabs.flush(&pages.memory));
    }

    /// A clear returns the pages of all free slabs, also of those that maintenance moves.
    #[test]
    fn loom_maintenance_keeps_no_slab_of_a_cleared_table() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let pages = Arc::new(Pages::new());
            pages.use_slabs(0, 1);
            let other = {
                let pages = pages.clone();
                thread::spawn(move || (0..=CACHES).map(|_| pages.slabs.maintain(&pages.memory, 1)).count())
            };
            assert_eq!(pages.slabs.detach().len(), 1);
            other.join().unwrap();
            assert_eq!(pages.slabs.usage(), SlabUsage::default());
        });
    }

    #[test]
    fn loom_maintenance_loses_no_slab() {
        check(|pages| {
            (0..CACHES + 2).for_each(|_| {
                pages.slabs.maintain(&pages.memory, 1);
            });
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use honeycomb_memory::MemoryConfig;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    fn memory(pages: usize) -> Memory {
        let arena_bytes = (pages + 1) * TABLE_PAGE_BYTES;
        Memory::new(MemoryConfig { arena_bytes, huge_pages: false, ..Default::default() }).unwrap()
    }

    /// Random allocations and frees beside a model with a flag for each unit.
    #[test]
    fn slabs_never_overlap_and_every_byte_is_accounted_for() {
        let (memory, mut slabs) = (memory(4), Slabs::new());
        let mut rng = StdRng::seed_from_u64(11);
        let mut used = vec![false; 5 * PAGE_UNITS as usize];
        let mut live: Vec<(usize, u32)> = Vec::new();
        for step in 0..200_000 {
            let class = rng.random_range(0..SLAB_CLASSES);
            if rng.random_bool(if step / 20_000 % 2 == 0 { 0.7 } else { 0.3 }) {
                let Ok(slab) = slabs.allocate(&memory, class) else { continue };
                let units = &mut used[slab as usize..][..1 << class];
                assert!(units.iter().all(|used| !used), "step {step}");
                units.fill(true);
                live.push((class, slab));
            } else if !live.is_empty() {
                let (class, slab) = live.swap_remove(rng.random_range(0..live.len()));
                used[slab as usize..][..1 << class].fill(false);
                slabs.free(&memory, class, slab);
            }
            if step % 1000 == 0 {
                let bytes = live.iter().map(|(class, _)| class_bytes(*class)).sum::<usize>();
                assert_eq!(slabs.usage().live_bytes(), bytes, "step {step}");
            }
        }
        live.into_iter().for_each(|(class, slab)| slabs.free(&memory, class, slab));
        slabs.flush(&memory);
        assert_eq!(slabs.usage(), SlabUsage::default(), "all pages are merged and given back");
        slabs.retire_all(&memory);
        memory.reclaim();
        assert_eq!(memory.accounting().live_table_page_bytes, 0);
        memory.accounting().assert_complete();
    }

    #[test]
    fn all_bytes_of_a_page_become_slabs_and_small_ones_merge_for_a_large_one() {
        let (memory, slabs) = (memory(1), Slabs::new());
        let small: Vec<u32> = std::iter::from_fn(|| slabs.allocate(&memory, 0).ok()).collect();
        assert_eq!(small.len(), PAGE_UNITS as usize);
        assert!(slabs.allocate(&memory, 4).is_err());
        let (kept, freed): (Vec<u32>, Vec<u32>) = small.iter().partition(|slab| *slab % 16 == 0);
        freed.into_iter().for_each(|slab| slabs.free(&memory, 0, slab));
        assert!(slabs.allocate(&memory, 4).is_err(), "each 512 bytes have a slab in use");
        slabs.free(&memory, 0, kept[0]);
        assert_eq!(slabs.allocate(&memory, 4).unwrap(), kept[0], "merged on demand");
    }

    /// An allocation that fails may hold a stripe meanwhile, so it must not merge pages for nothing.
    #[test]
    fn allocations_that_fail_merge_only_pages_with_newly_freed_slabs() {
        let (memory, slabs) = (memory(8), Slabs::new());
        let small: Vec<u32> = std::iter::from_fn(|| slabs.allocate(&memory, 0).ok()).collect();
        let fails = |slabs: &Slabs| {
            let before = lock(&slabs.pool.0).merges;
            assert!(slabs.allocate(&memory, 4).is_err());
            lock(&slabs.pool.0).merges - before
        };
        fails(&slabs);
        assert_eq!([fails(&slabs), fails(&slabs)], [0, 0]);
        let page_of = |slab: &u32| slab / PAGE_UNITS;
        let other = small.iter().find(|slab| page_of(slab) != page_of(&small[0])).unwrap();
        slabs.free(&memory, 0, small[0]);
        slabs.free(&memory, 0, *other);
        assert_eq!([fails(&slabs), fails(&slabs)], [2, 0]);
    }

    #[test]
    #[should_panic(expected = "is free already")]
    fn a_slab_is_freed_once() {
        let (memory, slabs) = (memory(1), Slabs::new());
        let slab = slabs.allocate(&memory, 2).unwrap();
        slabs.free(&memory, 2, slab);
        slabs.free(&memory, 2, slab);
        slabs.flush(&memory);
    }

    /// Steps merge a bounded number of pages, and only while no cache exchanges slabs with the pool.
    #[test]
    fn maintenance_gives_the_pages_of_idle_slabs_back() {
        let (memory, slabs) = (memory(8), Slabs::new());
        let state = || (slabs.usage(), lock(&slabs.pool.0).merges);
        for round in 0..2 {
            let all: Vec<u32> = std::iter::from_fn(|| slabs.allocate(&memory, 0).ok()).collect();
            assert_eq!(all.len(), 8 * PAGE_UNITS as usize, "round {round}");
            assert!(!slabs.maintain(&memory, 1), "the slabs were in use");
            all.iter().for_each(|slab| slabs.free(&memory, 0, *slab));
            let mut before = state();
            assert!(before.0.page_bytes > 0 && !slabs.maintain(&memory, 1), "the slabs were in use again");
            assert_eq!(state(), before);
            let mut more = true;
            while more {
                more = slabs.maintain(&memory, 1);
                assert!(state().1 <= before.1 + 1, "a page each step");
                before = state();
            }
            assert_eq!(slabs.usage(), SlabUsage::default(), "round {round}");
            memory.reclaim();
        }
    }

    /// A page whose slabs have been freed is given back within a bounded number of frees.
    #[test]
    fn merging_in_steps_gives_pages_back() {
        let (memory, slabs) = (memory(8), Slabs::new());
        let all: Vec<u32> = std::iter::from_fn(|| slabs.allocate(&memory, 0).ok()).collect();
        assert_eq!(slabs.usage().page_bytes, 8 * TABLE_PAGE_BYTES);
        all.iter().for_each(|slab| slabs.free(&memory, 0, *slab));
        let kept = slabs.usage().page_bytes / TABLE_PAGE_BYTES;
        assert!(kept <= 3, "{kept} pages");
    }
}

//! The numbered tables of the store.
//!
//! `SWAPDB` exchanges the tables of two numbers atomically for all clients. An iteration looks up numbers
//! many times, so a lookup costs one additional load and no lock. The swap is atomic because no iteration is
//! in progress at that time: each core publishes whether it executes an iteration, and a swap waits until all
//! cores are between two iterations. Only the exclusive thread of the [background](crate::background) swaps,
//! so swaps never overlap. Cores that wait for it sleep, because it may need their processor.
//!
//! A thread looks up a number only while it keeps the numbers: in an iteration of its core, while all cores
//! wait for it, as a background thread that executes a task, or while it delays the next swap.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use honeycomb_memory::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use honeycomb_store::unordered::Functions;
use honeycomb_store::{
    Batch, Error, Statistics, Store, Table, TableHandle, TableKind, TableRef, UnorderedConfig,
    UnorderedStatistics, UnorderedTable, Version,
};

use crate::config::Config;
use crate::envelope::HEADER_BYTES_MAX;
use crate::failure::Failure;

thread_local! {
    /// Whether this thread executes a function while no core executes an iteration.
    static IS_EXCLUSIVE: Cell<bool> = const { Cell::new(false) };
    /// Whether no other thread swaps numbers until this thread has continued.
    static KEEPS_NUMBERS: Cell<bool> = const { Cell::new(false) };
}

/// The name of the table that keeps the position of each number, and in a durable store the version of its
/// last swap. It is not a number, so no client can select it.
pub(crate) const PLACES_TABLE: &str = ".databases";

/// The numbered tables.
#[derive(Debug)]
pub(crate) struct Databases {
    tables: Vec<TableHandle>,
    has_unordered: bool,
    /// The pairs of a number and its position, if it is not its own.
    stored_places: Table,
    store: Store,
    /// The position of the table of each number in the list of tables.
    places: Vec<AtomicUsize>,
    /// A swap is pending, so no iteration begins. The thread that sets it has locked `exclusive`.
    swapping: AtomicBool,
    exclusive: Mutex<()>,
    /// The number of swaps so far.
    swap_count: AtomicUsize,
    /// The version after the last swap.
    swapped_at: AtomicU64,
    /// The version of the last swap of each number. Streams of changes by number end there. Relaxed:
    /// iterations and swaps never overlap, and the changes after a swap are in the log only after the store
    /// of its version.
    swap_versions: Vec<AtomicU64>,
    /// The gates of all cores.
    gates: Mutex<Vec<Arc<Gate>>>,
}

/// The gate of a core: whether it executes an iteration.
#[derive(Debug)]
pub(crate) struct Gate {
    in_iteration: AtomicBool,
}

/// The numbers that a transaction swaps at its commit, each with the present number of the table that it will
/// have then. However many swaps there are, they take no more time than numbers exist.
#[derive(Debug, Default)]
pub(crate) struct Swaps {
    numbers: BTreeMap<usize, usize>,
    /// The version of the commit.
    version: Cell<Version>,
}

/// An iteration in progress. Until it is dropped, no thread can swap numbers.
pub(crate) struct IterationGuard<'g> {
    gate: &'g Gate,
    _kept: KeptNumbers,
}

/// A swap that is pending. Cores go on when it is dropped, also after a panic.
struct PendingSwap<'d>(&'d Databases);

/// No other thread swaps numbers until it is dropped.
struct KeptNumbers;

impl Databases {
    /// Opens the tables of a store. Their names are their numbers. Those in [`Config::unordered`] and that of
    /// storage messages are unordered tables, and so are those that already exist as such.
    pub(crate) fn open(store: &Store, config: &Config) -> Result<Self, Error> {
        let (count, unordered) = (config.databases, unordered_numbers(store, config)?);
        let parameters = |number| unordered.contains(&number).then_some(config.unordered_tables);
        let tables = (0..count).map(|number| open(store, &number.to_string(), parameters(number)));
        let stored_places = store.table(PLACES_TABLE)?;
        let tables: Vec<_> = tables.collect::<Result<_, _>>()?;
        let swap_versions = stored_swaps(&stored_places, count)?.into_iter().map(AtomicU64::new).collect();
        Ok(Self {
            has_unordered: tables.iter().any(|table| table.unordered().is_some()),
            tables,
            places: stored(&stored_places, count)?.into_iter().map(AtomicUsize::new).collect(),
            stored_places,
            store: store.clone(),
            swapping: AtomicBool::new(false),
            exclusive: Mutex::new(()),
            swap_count: AtomicUsize::new(0),
            swapped_at: AtomicU64::new(0),
            swap_versions,
            gates: Mutex::default(),
        })
    }

    /// Returns the table of a valid number.
    #[inline]
    pub(crate) fn table(&self, number: usize) -> &TableHandle {
        debug_assert!(KEEPS_NUMBERS.get(), "a swap may change the table of the number");
        // Iterations and swaps never overlap, and this orders the load.
        &self.tables[self.places[number].load(Ordering::Relaxed)]
    }

    /// Returns a version at or above that of the newest write that a get of a key depends on: a write to the
    /// key, or a swap of its table.
    #[inline]
    pub(crate) fn newest_write(&self, number: usize, key: &[u8]) -> Version {
        let swapped_at = self.swapped_at.load(Ordering::Relaxed);
        self.store.newest_write(self.table(number), key).max(swapped_at)
    }

    /// Returns the version of the last swap of a number, or 0. The thread need not keep the numbers.
    pub(crate) fn swap_version(&self, number: usize) -> Version {
        self.swap_versions[number].load(Ordering::Relaxed)
    }

    /// Checks that a number has had its table since a version, so that a stream from there is of one table.
    pub(crate) fn check_not_swapped(&self, number: usize, after: Version) -> Result<(), Failure> {
        let version = self.swap_version(number);
        if version <= after { Ok(()) } else { Err(Failure::Swapped { number, version }) }
    }

    /// Returns the number of the table at a position in the list of tables.
    pub(crate) fn number_of(&self, position: usize) -> usize {
        let is_it = |place: &AtomicUsize| place.load(Ordering::Relaxed) == position;
        self.places.iter().position(is_it).unwrap_or(position)
    }

    /// Converts the number of a table, as clients send it, to an index.
    pub(crate) fn number(&self, number: i64) -> Result<usize, Failure> {
        let number = usize::try_from(number).map_err(|_| Failure::Database)?;
        if number < self.tables.len() { Ok(number) } else { Err(Failure::Database) }
    }

    /// Returns all tables, in no particular order.
    pub(crate) fn tables(&self) -> &[TableHandle] {
        &self.tables
    }

    /// Returns the functions of the store.
    pub(crate) fn functions(&self) -> &Functions {
        self.store.functions()
    }

    /// Returns the beginnings of the values of keys of an unordered table at one moment.
    pub(crate) fn beginnings(
        &self,
        table: &UnorderedTable,
        keys: &[&[u8]],
    ) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let keys: Vec<(TableRef<'_>, &[u8])> = keys.iter().map(|key| (table.into(), *key)).collect();
        self.store.get_beginnings_together(&keys, HEADER_BYTES_MAX)
    }

    /// Returns the statistics of the unordered tables, by the numbers with which clients select them.
    pub(crate) fn unordered_statistics(&self, statistics: &Statistics) -> Vec<(usize, UnorderedStatistics)> {
        let of = |number: usize| {
            let name = self.table(number).name();
            statistics.tables.iter().find(|table| table.name == name)?.unordered
        };
        (0..self.tables.len()).filter_map(|number| Some((number, of(number)?))).collect()
    }

    /// Returns whether some of the tables are unordered.
    pub(crate) fn has_unordered(&self) -> bool {
        self.has_unordered
    }

    /// Returns the table of a valid number if it is ordered.
    pub(crate) fn ordered(&self, number: usize) -> Result<&Table, Failure> {
        self.table(number).ordered().ok_or(Failure::Unordered(number))
    }

    /// Returns the gate of the calling thread.
    pub(crate) fn gate(&self) -> Arc<Gate> {
        let gate = Arc::new(Gate { in_iteration: AtomicBool::new(false) });
        self.gates.lock().unwrap_or_else(PoisonError::into_inner).push(gate.clone());
        gate
    }

    /// Begins an iteration when no swap is pending.
    #[inline]
    pub(crate) fn enter<'g>(&self, gate: &'g Gate) -> IterationGuard<'g> {
        loop {
            // Sequentially consistent, as in `exclusively`: either the swap sees the iteration, or the
            // iteration sees the swap.
            gate.in_iteration.store(true, Ordering::SeqCst);
            if !self.swapping.load(Ordering::SeqCst) {
                return IterationGuard { gate, _kept: KeptNumbers::new() };
            }
            gate.in_iteration.store(false, Ordering::SeqCst);
            drop(self.lock_exclusive());
        }
    }

    /// Returns the number of swaps so far. Work that spans several iterations compares it to detect that the
    /// tables of its numbers have changed.
    pub(crate) fn swap_count(&self) -> usize {
        self.swap_count.load(Ordering::Relaxed)
    }

    /// Commits a transaction and swaps its numbers atomically. Its batch has the positions of the numbers
    /// ([`Databases::write_places`]). `swap_count` is the number of swaps when the transaction looked up its
    /// tables. Returns false, without further swaps, if `commit` does or if there were swaps since.
    ///
    /// # Errors
    /// [`Failure::NotExclusive`] if there are swaps and cores execute iterations; those of `commit`.
    pub(crate) fn commit(
        &self,
        swap_count: usize,
        swaps: &Swaps,
        commit: impl FnOnce() -> Result<bool, Failure>,
    ) -> Result<bool, Failure> {
        if !swaps.is_empty() && !is_exclusive() {
            return Err(Failure::NotExclusive);
        }
        if self.swap_count() != swap_count || !commit()? {
            return Ok(false);
        }
        if !swaps.is_empty() {
            self.exchange(swaps);
            self.swapped_at.store(self.store.read_version(), Ordering::Relaxed);
        }
        Ok(true)
    }

    /// Calls a function while no core executes an iteration. All cores wait for it, so the calling thread
    /// must have no lower priority than they have.
    pub(crate) fn exclusively<T>(&self, function: impl FnOnce() -> T) -> T {
        let _exclusive = self.lock_exclusive();
        self.swapping.store(true, Ordering::SeqCst);
        let _pending = PendingSwap(self);
        // Cores that are added later see the pending swap.
        for gate in self.gates() {
            while gate.in_iteration.load(Ordering::SeqCst) {
                thread::yield_now();
            }
        }
        IS_EXCLUSIVE.set(true);
        with_kept_numbers(function)
    }

    /// Calls a short function before the next swap. Iterations continue meanwhile, unless a swap waits.
    pub(crate) fn before_next_swap<T>(&self, function: impl FnOnce() -> T) -> T {
        let _exclusive = self.lock_exclusive();
        with_kept_numbers(function)
    }

    /// Adds the positions that numbers have after the swaps to the batch of their transaction, for the next
    /// start. A number in its own position has no pair.
    pub(crate) fn write_places(&self, swaps: &Swaps, batch: &mut Batch) {
        self.write_swap_versions(swaps, batch);
        for (&number, &present) in &swaps.numbers {
            let (key, place) = (number.to_string(), self.places[present].load(Ordering::Relaxed));
            if place == number {
                batch.delete(&self.stored_places, key.as_bytes());
            } else {
                batch.put(&self.stored_places, key.as_bytes(), place.to_string().as_bytes());
            }
        }
    }

    /// Adds the version of the commit, for streams of changes after the next start. The version is not known
    /// yet. It is the next one, unless another thread of an embedding program writes to the store at this
    /// moment. No client can have seen a version between the two.
    fn write_swap_versions(&self, swaps: &Swaps, batch: &mut Batch) {
        if self.store.sync_policy().is_some() {
            let version = (self.store.read_version() + 1).to_string();
            for number in swaps.changed() {
                batch.put(&self.stored_places, swap_key(number).as_bytes(), version.as_bytes());
            }
        }
    }

    fn exchange(&self, swaps: &Swaps) {
        let place_of = |present: &usize| self.places[*present].load(Ordering::Relaxed);
        let places: Vec<_> = swaps.numbers.values().map(place_of).collect();
        for (number, place) in swaps.numbers.keys().zip(places) {
            self.places[*number].store(place, Ordering::Relaxed);
        }
        for number in swaps.changed() {
            self.swap_versions[number].store(swaps.version.get(), Ordering::Relaxed);
        }
        self.swap_count.fetch_add(1, Ordering::Relaxed);
    }

    fn lock_exclusive(&self) -> MutexGuard<'_, ()> {
        self.exclusive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn gates(&self) -> Vec<Arc<Gate>> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns whether this thread executes a function while no core executes an iteration.
pub(crate) fn is_exclusive() -> bool {
    IS_EXCLUSIVE.get()
}

/// Calls a function on a thread beside which no other one swaps numbers.
pub(crate) fn with_kept_numbers<T>(function: impl FnOnce() -> T) -> T {
    let _kept = KeptNumbers::new();
    function()
}

/// Returns the numbers that become unordered tables. Nobody has requested this for the number of storage
/// messages, so it stays ordered if it has pairs as such.
fn unordered_numbers(store: &Store, config: &Config) -> Result<Vec<usize>, Error> {
    let mut numbers = config.unordered.clone();
    if config.datagrams.ocsm.is_some() && config.datagrams.ocsm_database.is_none() {
        let (number, name) = (config.ocsm_database(), config.ocsm_database().to_string());
        let is_ordered = store.table_kind(&name) == Some(TableKind::Ordered);
        if !is_ordered || store.table(&name)?.pair_count() == 0 {
            numbers.push(number);
        }
    }
    Ok(numbers)
}

/// Opens a table. With parameters of unordered tables, an empty ordered table becomes one. A table that is
/// unordered already keeps its own parameters.
fn open(store: &Store, name: &str, unordered: Option<UnorderedConfig>) -> Result<TableHandle, Error> {
    let kind = store.table_kind(name);
    if unordered.is_some() && kind == Some(TableKind::Ordered) && store.table(name)?.pair_count() == 0 {
        store.drop_table(name)?;
    }
    if unordered.is_some() || kind == Some(TableKind::Unordered) {
        return store.unordered_table(name, unordered.unwrap_or_default()).map(TableHandle::Unordered);
    }
    store.table(name).map(TableHandle::Ordered)
}

/// Returns the stored position of each number. If the server had more numbers before, the positions may be
/// those of other tables; then each number gets its own.
fn stored(places: &Table, count: usize) -> Result<Vec<usize>, Error> {
    let mut all = Vec::with_capacity(count);
    for number in 0..count {
        all.push(stored_number(places, &number.to_string())?.unwrap_or(number));
    }
    let mut sorted = all.clone();
    sorted.sort_unstable();
    Ok(if sorted.iter().copied().eq(0..count) { all } else { (0..count).collect() })
}

/// Returns the stored version of the last swap of each number.
fn stored_swaps(places: &Table, count: usize) -> Result<Vec<Version>, Error> {
    (0..count).map(|number| Ok(stored_number(places, &swap_key(number))?.unwrap_or_default())).collect()
}

/// Returns the number that is stored under a key. Most servers never swap, and have no pairs to read.
fn stored_number<T: FromStr>(places: &Table, key: &str) -> Result<Option<T>, Error> {
    if places.pair_count() == 0 {
        return Ok(None);
    }
    let stored = places.get(key.as_bytes())?;
    Ok(stored.and_then(|text| str::from_utf8(&text).ok()?.parse().ok()))
}

/// The key of the version of the last swap of a number.
fn swap_key(number: usize) -> String {
    format!("swap of {number}")
}

impl Swaps {
    /// Returns whether there are no swaps.
    pub(crate) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Returns the numbers that get another table. The second of two swaps may give a table back.
    fn changed(&self) -> impl Iterator<Item = usize> {
        self.numbers.iter().filter(|(number, present)| number != present).map(|(number, _)| *number)
    }

    /// States the version of the commit, before [`Databases::commit`] swaps.
    pub(crate) fn set_version(&self, version: Version) {
        self.version.set(version);
    }

    /// Adds a swap after the earlier ones.
    pub(crate) fn push(&mut self, first: usize, second: usize) {
        let present = [self.number(first), self.number(second)];
        self.numbers.extend([(second, present[0]), (first, present[1])]);
    }

    /// Returns the current number of the table that will have `number` after these swaps.
    #[inline]
    pub(crate) fn number(&self, number: usize) -> usize {
        self.numbers.get(&number).copied().unwrap_or(number)
    }
}

impl Drop for IterationGuard<'_> {
    fn drop(&mut self) {
        self.gate.in_iteration.store(false, Ordering::SeqCst);
    }
}

impl Drop for PendingSwap<'_> {
    fn drop(&mut self) {
        IS_EXCLUSIVE.set(false);
        self.0.swapping.store(false, Ordering::SeqCst);
    }
}

impl KeptNumbers {
    fn new() -> Self {
        KEEPS_NUMBERS.set(true);
        Self
    }
}

impl Drop for KeptNumbers {
    fn drop(&mut self) {
        KEEPS_NUMBERS.set(false);
    }
}

#[cfg(test)]
mod tests {
    use honeycomb_testing::{Random, seed};

    use super::*;

    fn swap(databases: &Databases, first: usize, second: usize) {
        let mut swaps = Swaps::default();
        swaps.push(first, second);
        databases.exclusively(|| databases.exchange(&swaps));
    }

    fn databases() -> Databases {
        let store = honeycomb_store::Config { memory_bytes: 16 << 20, ..honeycomb_store::Config::default() };
        let config = Config { databases: 3, ..Config::default() };
        Databases::open(&Store::open(store).unwrap(), &config).unwrap()
    }

    #[test]
    fn two_numbers_exchange_their_tables() {
        let databases = databases();
        let names = || {
            let name = |number| databases.table(number).name().to_owned();
            databases.before_next_swap(|| [0, 1, 2].map(name))
        };
        swap(&databases, 0, 2);
        assert_eq!(names(), ["2", "1", "0"]);
        swap(&databases, 2, 1);
        assert_eq!(names(), ["2", "0", "1"]);
        swap(&databases, 1, 1);
        assert_eq!(names(), ["2", "0", "1"]);
    }

    #[test]
    fn a_transaction_sees_its_own_swaps_before_others_do() {
        let databases = databases();
        let names = |swaps: &Swaps| {
            let name = |number| databases.table(swaps.number(number)).name().to_owned();
            databases.before_next_swap(|| [0, 1, 2].map(name))
        };
        let mut swaps = Swaps::default();
        swaps.push(0, 1);
        swaps.push(1, 2);
        assert_eq!(names(&swaps), ["1", "2", "0"]);
        assert_eq!(names(&Swaps::default()), ["0", "1", "2"]);
        let count = databases.swap_count();
        let commit = |outcome| databases.exclusively(|| databases.commit(count, &swaps, || outcome));
        assert_eq!(databases.commit(count, &swaps, || Ok(true)), Err(Failure::NotExclusive));
        assert_eq!(commit(Err(Failure::Syntax)), Err(Failure::Syntax));
        assert_eq!(commit(Ok(false)), Ok(false));
        assert_eq!(names(&Swaps::default()), ["0", "1", "2"]);
        assert_eq!(commit(Ok(true)), Ok(true));
        assert_eq!(names(&Swaps::default()), ["1", "2", "0"]);
        // Tables that were looked up before the swap are outdated.
        assert_eq!(databases.commit(count, &Swaps::default(), || Ok(true)), Ok(false));
        assert_eq!(commit(Ok(true)), Ok(false));
    }

    /// A transaction can contain hundreds of thousands of swaps, and looks up numbers between them.
    #[test]
    fn swaps_take_no_more_room_than_numbers() {
        let (mut swaps, mut random) = (Swaps::default(), Random::new(seed()));
        let mut expected = [0, 1, 2, 3, 4];
        for _ in 0..1000 {
            let (first, second) = (random.below(5), random.below(5));
            swaps.push(first, second);
            expected.swap(first, second);
            assert_eq!([0, 1, 2, 3, 4].map(|number| swaps.number(number)), expected);
        }
        assert!(swaps.numbers.len() <= 5);
    }

    #[test]
    fn numbers_without_a_table_are_rejected() {
        let databases = databases();
        assert_eq!(databases.number(2), Ok(2));
        for number in [-1, 3, i64::MAX, i64::MIN] {
            assert_eq!(databases.number(number), Err(Failure::Database));
        }
    }

    /// Several threads look up two numbers repeatedly in iterations, while another thread swaps them. An
    /// iteration must not see a swap.
    #[test]
    fn no_iteration_sees_a_swap() {
        let databases = &databases();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || {
                    let gate = databases.gate();
                    for _ in 0..2000 {
                        let _iteration = databases.enter(&gate);
                        let seen = [0, 1].map(|number| databases.table(number).name().to_owned());
                        thread::yield_now();
                        assert_ne!(seen[0], seen[1]);
                        assert_eq!(seen, [0, 1].map(|number| databases.table(number).name().to_owned()));
                    }
                });
            }
            (0..400).for_each(|_| swap(databases, 0, 1));
        });
        // The number of swaps is even.
        assert_eq!(databases.before_next_swap(|| databases.table(0).name().to_owned()), "0");
    }

    #[test]
    fn cores_go_on_after_a_panic_of_exclusive_work() {
        let databases = &databases();
        let panic = || databases.exclusively(|| panic!("the work fails"));
        assert!(thread::scope(|scope| scope.spawn(panic).join()).is_err());
        assert!(!databases.swapping.load(Ordering::SeqCst), "the next iteration would wait for ever");
        drop(databases.enter(&databases.gate()));
        assert!(databases.exclusively(is_exclusive) && !is_exclusive());
    }

    #[test]
    #[should_panic = "a swap may change the table"]
    fn a_thread_that_does_not_keep_the_numbers_looks_up_none() {
        let databases = databases();
        drop(databases.enter(&databases.gate()));
        databases.table(0);
    }
}

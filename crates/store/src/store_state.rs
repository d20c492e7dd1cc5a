//! The state that all handles of a store share, and the path of every write: maintenance, room, retries.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_accelerator::{Accelerator, DirectReader, Get};
use honeycomb_btree::{BatchOperation, Forest, Operation, Outcome, Reader, Root, Version};
use honeycomb_hashtable::{Cleared, Functions};
use honeycomb_memory::{LeaseUse, MemoryError};

use crate::commit_thread::CommitThread;
use crate::compaction::{Compaction, STEP};
use crate::config::{Config, LeaseLimits};
use crate::directory::{Directory, TableEntry};
use crate::durability::state::Durability;
use crate::error::Error;
use crate::exhaustion::{Exhaustible, is_exhausted};
use crate::lanes::{Lanes, ReadSource, check};
use crate::lease::Leases;
use crate::pairs::Pairs;
use crate::reserve::Reserve;
use crate::scan::Scan;
use crate::table_numbers::TableNumbers;
use crate::unordered::config::UnorderedConfig;
use crate::unordered::entry::{UnorderedEntries, UnorderedEntry};

pub(crate) struct StoreState {
    pub(crate) forest: Arc<Forest>,
    pub(crate) lanes: Lanes,
    pub(crate) numbers: Arc<TableNumbers>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) leases: Arc<Leases>,
    pub(crate) reserve: Reserve,
    pub(crate) compaction: Compaction,
    pub(crate) unordered: UnorderedEntries,
    deferred_drops: Mutex<Vec<Root>>,
    /// The memory of cleared tables.
    cleared: Mutex<Vec<Cleared>>,
    durability: OnceLock<Durability>,
    pub(crate) lease_limits: LeaseLimits,
    pub(crate) scan_pairs_max: usize,
    pub(crate) key_bytes_max: usize,
    /// Only kept until the store ends.
    _commit_thread: Option<CommitThread>,
}

/// Writes of a thread between two checks for overdue leases.
const LEASE_CHECK_WRITES: usize = 256;

/// Most retries of a write that finds no room.
const RETRIES_MAX: usize = 1000;
/// Retries that a write has even if its attempts take long, as those of long batches do.
const RETRIES_MIN: usize = 3;
/// How long a write is retried once it has used its [`RETRIES_MIN`].
const RETRY_TIME_MAX: Duration = Duration::from_secs(1);
/// Chains of a cleared table that a write without room frees before its next attempt.
const CLEARED_CHAINS: usize = 1 << 14;
/// How long such a write waits for operations in flight before its next attempt.
const RETRY_PAUSE: Duration = Duration::from_micros(100);

thread_local! {
    static WRITES: Cell<usize> = const { Cell::new(0) };
}

impl StoreState {
    pub(crate) fn new(config: &Config) -> Result<Self, Error> {
        config.check()?;
        let forest = Arc::new(Forest::new(config.forest())?);
        let accelerator: Arc<dyn Accelerator> = config.accelerator.attach(&forest, &config.functions)?.into();
        let commit_thread = config.commit_ahead.then(|| CommitThread::start(&forest)).transpose()?;
        Ok(Self {
            _commit_thread: commit_thread,
            directory: Arc::default(),
            numbers: TableNumbers::new(accelerator.clone()),
            lanes: Lanes::new(accelerator.clone()),
            leases: Arc::new(Leases::new(config, accelerator)),
            reserve: Reserve::new(forest.memory())?,
            compaction: Compaction::new(&forest),
            unordered: UnorderedEntries::new(config),
            deferred_drops: Mutex::default(),
            cleared: Mutex::default(),
            durability: OnceLock::new(),
            lease_limits: config.lease,
            scan_pairs_max: config.scan_pairs_max,
            key_bytes_max: forest.shape().key_bytes_max(),
            forest,
        })
    }

    /// Checks that a table with this name, whose store is `other`, belongs to this store.
    pub(crate) fn check_is_same_as(&self, other: &Self, table: &str) -> Result<(), Error> {
        if std::ptr::eq(self, other) {
            return Ok(());
        }
        Err(Error::ForeignTable { name: table.to_owned() })
    }

    /// The functions of operations.
    pub(crate) fn functions(&self) -> &Arc<Functions> {
        self.unordered.functions()
    }

    /// A reader for pages of functions over ranges: that of the accelerator, or one of the store if the
    /// accelerator executes no functions. It reads a version under its lease, or the newest visible one.
    pub(crate) fn page_reader<'a>(&'a self, leased: Option<(&'a LeaseUse<'a>, Version)>) -> Reader<'a> {
        let own = || match leased {
            Some((in_use, version)) => self.forest.reader_at(in_use, version),
            None => self.forest.reader(),
        };
        self.lanes.accelerator().page_reader(leased).unwrap_or_else(own)
    }

    pub(crate) fn check_key(&self, key: &[u8]) -> Result<(), Error> {
        if (1..=self.key_bytes_max).contains(&key.len()) {
            return Ok(());
        }
        Err(Error::KeyLength { bytes: key.len(), max: self.key_bytes_max })
    }

    /// Allocates a number for a new tree and returns its directory entry. Drops the tree if no number is
    /// free.
    pub(crate) fn entry(&self, name: &str, root: Root) -> Result<TableEntry, Error> {
        let number = self.numbers.allocate(root).inspect_err(|_| self.drop_or_defer(root))?;
        Ok(TableEntry::new(name, root, number))
    }

    /// Creates an unordered table that the directory does not have yet.
    pub(crate) fn unordered_entry(
        &self,
        name: &str,
        config: UnorderedConfig,
    ) -> Result<Arc<UnorderedEntry>, Error> {
        self.write(|_| self.unordered.create(&self.forest, name, config))
    }

    /// Passes the value of a key and its version to `use_value`, or `None` if the key is absent.
    #[inline]
    pub(crate) fn get<T>(
        &self,
        source: ReadSource,
        key: &[u8],
        use_value: impl FnOnce(Option<(&[u8], Version)>) -> T,
    ) -> Result<T, Error> {
        self.check_key(key)?;
        if source.version.is_none()
            && let Some(direct) = self.lanes.accelerator().direct_reader()
        {
            return direct_get(&direct, source.table, key, use_value);
        }
        self.lanes.with(|lane| {
            let found = lane.get(source, key)?;
            Ok(use_value(found.value().map(|value| (value, found.pair_version))))
        })
    }

    /// Appends a part of the value of a key to `out` and returns the length of the whole value. This thread
    /// reads the value itself: an accelerator always completes whole values.
    pub(crate) fn get_part(
        &self,
        reader: &Reader<'_>,
        root: Root,
        key: &[u8],
        part: ValuePart,
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, Error> {
        self.check_key(key)?;
        Ok(reader.get(root, key).map(|found| {
            out.extend_from_slice(part.of(found.value));
            found.value.len()
        }))
    }

    /// Replaces the contents of `pairs` with the result of a scan.
    #[inline]
    pub(crate) fn scan_into(
        &self,
        source: ReadSource,
        scan: &Scan<'_>,
        pairs: &mut Pairs,
    ) -> Result<(), Error> {
        let request = scan.request(self.key_bytes_max, self.scan_pairs_max);
        request.map_or(Ok(()), |request| self.fill(source, &request, scan.bytes_max, pairs))
    }

    /// Replaces the contents of `pairs` with the result of a tree scan, up to the pair that reaches
    /// `bytes_max`.
    #[inline]
    pub(crate) fn fill(
        &self,
        source: ReadSource,
        request: &honeycomb_btree::Scan<'_>,
        bytes_max: u32,
        pairs: &mut Pairs,
    ) -> Result<(), Error> {
        pairs.fill(|completions| self.lanes.with(|lane| lane.scan(source, request, bytes_max, completions)))
    }

    /// Executes a write that may occupy more memory permanently. It refills the reserve first.
    pub(crate) fn write<T, E>(&self, mut attempt: impl FnMut(&Forest) -> Result<T, E>) -> Result<T, Error>
    where
        E: Exhaustible + From<MemoryError>,
        Error: From<E>,
    {
        self.admit()?;
        self.run_periodic_work(1);
        let result = self.with_room(|| {
            self.reserve.fill(self.forest.memory())?;
            attempt(&self.forest)
        });
        Ok(result?)
    }

    /// Executes a write that frees memory in the end. It may therefore use the reserve.
    pub(crate) fn remove<T, E>(&self, mut attempt: impl FnMut(&Forest) -> Result<T, E>) -> Result<T, Error>
    where
        E: Exhaustible,
        Error: From<E>,
    {
        self.admit()?;
        self.run_periodic_work(1);
        let mut result = self.with_room(|| attempt(&self.forest));
        // If another removal uses the reserve now, it will free more than the reserve.
        let timer = RetryTimer::new();
        for retries in 0..RETRIES_MAX {
            if !is_exhausted(&result) || timer.is_over(retries) {
                break;
            }
            self.reserve.release(self.forest.memory());
            self.make_room();
            result = attempt(&self.forest);
        }
        Ok(result?)
    }

    /// Executes each operation as its own write. One that finds no room is retried alone.
    pub(crate) fn write_each(
        &self,
        operations: &[BatchOperation<'_>],
        mut done: impl FnMut(usize, Result<Outcome, Error>),
    ) {
        if let Err(refusal) = self.admit() {
            return (0..operations.len()).for_each(|index| done(index, Err(refusal.again())));
        }
        self.run_periodic_work(operations.len());
        // If there is no room for the reserve, the writes find none either.
        let _ = self.reserve.fill(self.forest.memory());
        self.forest.write_each(operations, |index, result| {
            done(index, result.or_else(|error| self.retry_failed(&operations[index], error)));
        });
    }

    /// Retries a write if it found no room.
    #[cold]
    fn retry_failed(
        &self,
        one: &BatchOperation<'_>,
        error: honeycomb_btree::Error,
    ) -> Result<Outcome, Error> {
        if error.is_exhausted() { self.write_one(one) } else { Err(error.into()) }
    }

    fn write_one(&self, one: &BatchOperation<'_>) -> Result<Outcome, Error> {
        let write = |forest: &Forest| forest.write(one.root, one.key, one.operation);
        match one.operation {
            Operation::Delete | Operation::CompareAndDelete { .. } => self.remove(write),
            _ => self.write(write),
        }
    }

    pub(crate) fn durability(&self) -> Option<&Durability> {
        self.durability.get()
    }

    /// Sets the durability, once, before other threads use the store.
    pub(crate) fn set_durability(&self, durability: Durability) {
        let _first = self.durability.set(durability);
    }

    /// Drops a tree that no table refers to: now or, if that fails, with the next such tree, in maintenance,
    /// or when a write finds no room.
    pub(crate) fn drop_or_defer(&self, root: Root) {
        let mut deferred_drops = self.deferred_drops();
        deferred_drops.push(root);
        deferred_drops.retain(|&root| self.remove(|forest| forest.drop_tree(root)).is_err());
    }

    /// Drops the trees whose drop failed before, with the reserve if necessary. Returns whether it has
    /// dropped any.
    pub(crate) fn retry_drops(&self) -> bool {
        // The thread that has locked them retries them now, and may be the one that needs the room.
        let Ok(mut deferred) = self.deferred_drops.try_lock() else { return false };
        let (before, memory) = (deferred.len(), self.forest.memory());
        deferred.retain(|&root| {
            let dropped = self.forest.drop_tree(root).or_else(|_| {
                self.reserve.release(memory);
                memory.reclaim();
                self.forest.drop_tree(root)
            });
            dropped.is_err()
        });
        deferred.len() < before
    }

    /// The trees whose drop failed so far.
    pub(crate) fn deferred_drops(&self) -> MutexGuard<'_, Vec<Root>> {
        self.deferred_drops.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees the memory of a cleared table in the steps of maintenance.
    pub(crate) fn add_cleared(&self, cleared: Cleared) {
        self.lock_cleared().push(cleared);
    }

    /// Frees some memory of cleared tables: visits up to `chains` chains of buckets. Returns whether more
    /// remains.
    pub(crate) fn free_cleared(&self, chains: usize) -> bool {
        let mut all = self.lock_cleared();
        if let Some(cleared) = all.last_mut()
            && !cleared.free(self.forest.memory(), chains)
        {
            all.pop();
        }
        !all.is_empty()
    }

    /// Merges free slabs of about `pages` pages of idle unordered tables. Returns whether more work is due.
    pub(crate) fn merge_slabs(&self, pages: usize) -> bool {
        let directory = self.directory.read();
        let mut unordered = directory.values().filter_map(|entry| entry.unordered().ok());
        unordered.any(|entry| entry.table.maintain(pages))
    }

    fn lock_cleared(&self) -> MutexGuard<'_, Vec<Cleared>> {
        self.cleared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Retries a write while it finds no room and [`StoreState::make_room`] can make some.
    fn with_room<T, E: Exhaustible>(&self, mut attempt: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        let mut result = attempt();
        if !is_exhausted(&result) {
            return result;
        }
        let timer = RetryTimer::new();
        for retries in 0..RETRIES_MAX {
            if !is_exhausted(&result) || timer.is_over(retries) || !self.make_room() {
                break;
            }
            result = attempt();
        }
        result
    }

    /// Makes room with the first of these that succeeds: free memory of cleared tables, reclaim what the
    /// attempt itself delayed, drop trees whose drop failed before, end a lease, wait, compact. Writes have
    /// priority over snapshots: the program can take a new snapshot, but a failed write is lost. Returns
    /// false if nothing delays reclaiming and no leaves can be merged.
    fn make_room(&self) -> bool {
        let memory = self.forest.memory();
        let freed = !self.lock_cleared().is_empty();
        if freed {
            self.free_cleared(CLEARED_CHAINS);
        }
        if memory.reclaim() > 0 || freed || self.retry_drops() || self.leases.end_for_room(memory) {
            return true;
        }
        let accounting = memory.accounting();
        let retired = accounting.retired_node_bytes + accounting.retired_value_bytes;
        if retired + accounting.retired_table_page_bytes == 0 {
            return self.compaction.make_room(self);
        }
        // Operations in flight delay the reclaiming of retired memory, but not for long.
        thread::sleep(RETRY_PAUSE);
        true
    }

    /// Runs the periodic work that is due within the next `writes` writes of this thread: ends overdue
    /// leases, so that they end even if no thread uses them, and advances compaction.
    pub(crate) fn run_periodic_work(&self, writes: usize) {
        let (before, after) = WRITES
            .try_with(|count| {
                let before = count.get() % LEASE_CHECK_WRITES;
                count.set(before + writes);
                (before, before + writes)
            })
            .unwrap_or((0, LEASE_CHECK_WRITES));
        if before / STEP < after / STEP {
            self.compaction.advance(self, (after / STEP - before / STEP) * STEP);
        }
        if after >= LEASE_CHECK_WRITES {
            self.leases.end_overdue(self.forest.memory());
        }
    }
}

/// A part of a value.
#[derive(Clone, Copy)]
pub(crate) struct ValuePart {
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

impl ValuePart {
    /// The bytes of this part that a value has.
    fn of(self, value: &[u8]) -> &[u8] {
        let rest = value.get(self.offset..).unwrap_or_default();
        &rest[..rest.len().min(self.length)]
    }
}

/// The time since the first attempt of a write.
struct RetryTimer(Instant);

impl RetryTimer {
    fn new() -> Self {
        Self(Instant::now())
    }

    /// Whether the write has no further retry after this number of retries.
    fn is_over(&self, retries: usize) -> bool {
        retries >= RETRIES_MIN && self.0.elapsed() > RETRY_TIME_MAX
    }
}

/// Executes one get, and passes its result to `use_value`.
#[inline]
fn direct_get<T>(
    direct: &DirectReader<'_>,
    table: u16,
    key: &[u8],
    use_value: impl FnOnce(Option<(&[u8], Version)>) -> T,
) -> Result<T, Error> {
    let (mut use_value, mut used) = (Some(use_value), None);
    let found =
        |_, value: Option<(&[u8], Version)>| used = use_value.take().map(|use_value| use_value(value));
    direct.get_each(std::iter::once(Get { table, key }), found).or_else(check)?;
    used.ok_or(Error::Accelerator("it did not execute a get"))
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;
    use crate::store::Store;

    const MIB: usize = 1 << 20;

    /// Returns a store with an empty table, and the number of nodes of a dropped one, whose drop has failed
    /// because this has taken all memory.
    fn deferred() -> (Store, usize) {
        let config = Config { memory_bytes: 4 * MIB, huge_pages: false, ..Config::default() };
        let store = Store::open(config).unwrap();
        store.table("empty").unwrap();
        let table = store.table("dropped").unwrap();
        (0..4000_u32).for_each(|number| table.put(&number.to_be_bytes(), &[1; 100]).unwrap());
        drop(table);
        let before = live_nodes(&store);
        let memory = store.state().forest.memory();
        store.state().reserve.release(memory);
        memory.reclaim();
        let taken: Vec<_> = iter::from_fn(|| memory.allocate_node().ok()).collect();
        assert!(store.drop_table("dropped").unwrap());
        assert_eq!(store.state().deferred_drops().len(), 1);
        drop(taken);
        assert_eq!(live_nodes(&store), before);
        (store, before)
    }

    fn live_nodes(store: &Store) -> usize {
        let memory = store.state().forest.memory();
        memory.accounting().live_node_bytes / memory.node_bytes()
    }

    #[test]
    fn maintenance_drops_a_table_whose_drop_has_failed() {
        let (mut store, before) = deferred();
        store.maintain(1);
        assert!(store.state().deferred_drops().is_empty());
        assert!(before > 50 && live_nodes(&store) == 1, "{before} nodes, then {}", live_nodes(&store));
        store.verify().unwrap();
    }

    #[test]
    fn a_write_without_room_drops_a_table_whose_drop_has_failed() {
        let (mut store, _) = deferred();
        let memory = store.state().forest.memory();
        let mut taken: Vec<_> = iter::from_fn(|| memory.allocate_node().ok()).collect();
        // Enough for a drop, and too little for the reserve.
        taken.truncate(taken.len() - 4);
        store.table("empty").unwrap().put(b"key", b"value").unwrap();
        assert!(store.state().deferred_drops().is_empty());
        drop(taken);
        store.verify().unwrap();
    }
}

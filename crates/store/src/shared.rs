//! What all handles of a store share: the trees, their names, the leases; and the way every write takes.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use honeycomb_accelerator::Accelerator;
use honeycomb_btree::{
    BatchOperation, Error as TreeError, Forest, Operation, Outcome, Reader, Root, Version,
};
use honeycomb_memory::MemoryError;

use crate::compaction::{Compaction, STEP};
use crate::config::{Config, LeaseLimits};
use crate::directory::{Directory, Entry};
use crate::error::Error;
use crate::lanes::{Lanes, ReadSource};
use crate::lease::Leases;
use crate::numbers::Numbers;
use crate::pairs::Pairs;
use crate::reserve::Reserve;
use crate::scan::Scan;

pub(crate) struct StoreState {
    pub(crate) forest: Arc<Forest>,
    pub(crate) lanes: Lanes,
    pub(crate) numbers: Arc<Numbers>,
    pub(crate) directory: Directory,
    pub(crate) leases: Leases,
    pub(crate) reserve: Reserve,
    pub(crate) compaction: Compaction,
    abandoned: Mutex<Vec<Root>>,
    pub(crate) lease_limits: LeaseLimits,
    pub(crate) scan_pairs_max: usize,
    pub(crate) key_bytes_max: usize,
}

/// Writes of a thread between two looks at the leases.
const WRITES_A_LOOK: usize = 256;

/// How often a write that finds no room is tried again.
const ATTEMPTS_MAX: usize = 1000;
/// How often it is tried again even if an attempt takes long, as those of long batches do.
const ATTEMPTS_MIN: usize = 3;
/// How long it is tried again, if it has been as often as that.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long such a write waits for operations in flight before it is tried again.
const PAUSE: Duration = Duration::from_micros(100);

thread_local! {
    static WRITES: Cell<usize> = const { Cell::new(0) };
}

impl StoreState {
    pub(crate) fn new(config: &Config) -> Result<Self, Error> {
        let forest = Arc::new(Forest::new(config.forest())?);
        let accelerator: Arc<dyn Accelerator> = config.accelerator.attach(&forest)?.into();
        Ok(Self {
            directory: Directory::default(),
            numbers: Numbers::new(accelerator.clone()),
            lanes: Lanes::new(accelerator.clone()),
            leases: Leases::new(config, accelerator),
            reserve: Reserve::new(forest.memory())?,
            compaction: Compaction::new(&forest),
            abandoned: Mutex::default(),
            lease_limits: config.lease,
            scan_pairs_max: config.scan_pairs_max,
            key_bytes_max: forest.shape().key_bytes_max(),
            forest,
        })
    }

    pub(crate) fn check_key(&self, key: &[u8]) -> Result<(), Error> {
        if (1..=self.key_bytes_max).contains(&key.len()) {
            return Ok(());
        }
        Err(Error::KeyLength { bytes: key.len(), max: self.key_bytes_max })
    }

    /// What the directory says of a table. A tree that gets no number is removed.
    pub(crate) fn entry(&self, name: &str, root: Root) -> Result<Entry, Error> {
        let number = self.numbers.take(root).inspect_err(|_| self.abandon(root))?;
        Ok(Entry::new(name, root, number))
    }

    /// Hands the value of a key and its version to `use_found`, or that there is none.
    #[inline]
    pub(crate) fn get<T>(
        &self,
        source: ReadSource,
        key: &[u8],
        use_found: impl FnOnce(Option<(&[u8], Version)>) -> T,
    ) -> Result<T, Error> {
        self.check_key(key)?;
        self.lanes.with(|lane| {
            let found = lane.get(source, key)?;
            Ok(use_found(found.value().map(|value| (value, found.pair_version))))
        })
    }

    /// Appends a part of the value of a key to `out`: how long all of it is. It is read by this thread and
    /// not by the accelerator, which completes values as a whole.
    pub(crate) fn get_part(
        &self,
        reader: &Reader<'_>,
        root: Root,
        key: &[u8],
        part: Part,
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, Error> {
        self.check_key(key)?;
        Ok(reader.get(root, key).map(|found| {
            out.extend_from_slice(part.of(found.value));
            found.value.len()
        }))
    }

    /// Puts what a scan finds into `pairs`.
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

    /// Puts what a tree is asked for into `pairs`, up to the pair that reaches `bytes_max`.
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

    /// Carries out a write that may take room for good.
    pub(crate) fn write<T>(
        &self,
        mut attempt: impl FnMut(&Forest) -> Result<T, TreeError>,
    ) -> Result<T, Error> {
        self.look_after(1);
        let result = self.with_room(|| {
            self.reserve.fill(self.forest.memory())?;
            attempt(&self.forest)
        });
        Ok(result?)
    }

    /// Carries out a write that makes room in the end, so it may use the reserve.
    pub(crate) fn remove<T>(&self, attempt: impl Fn(&Forest) -> Result<T, TreeError>) -> Result<T, Error> {
        self.look_after(1);
        let mut result = self.with_room(|| attempt(&self.forest));
        // If another removal has the reserve, it will give back more than that.
        let patience = Patience::new();
        for attempts in 0..ATTEMPTS_MAX {
            if !is_exhausted(&result) || patience.is_over(attempts) {
                break;
            }
            self.reserve.give_up(self.forest.memory());
            self.make_room();
            result = attempt(&self.forest);
        }
        Ok(result?)
    }

    /// Carries out operations each for itself. One that finds no room is tried again as if it were alone.
    pub(crate) fn write_each(
        &self,
        operations: &[BatchOperation<'_>],
        mut done: impl FnMut(usize, Result<Outcome, Error>),
    ) {
        self.look_after(operations.len());
        // If there is no room to fill it, each write finds none either.
        let _ = self.reserve.fill(self.forest.memory());
        self.forest.write_each(operations, |index, result| {
            let room = !is_exhausted(&result);
            done(index, if room { result.map_err(Error::from) } else { self.write_one(&operations[index]) });
        });
    }

    fn write_one(&self, one: &BatchOperation<'_>) -> Result<Outcome, Error> {
        let write = |forest: &Forest| forest.write(one.root, one.key, one.operation);
        if one.operation == Operation::Delete { self.remove(write) } else { self.write(write) }
    }

    /// Removes a tree that nobody can name any more: now, or if that fails, with the next one.
    pub(crate) fn abandon(&self, root: Root) {
        let mut abandoned = self.abandoned();
        abandoned.push(root);
        abandoned.retain(|&root| self.remove(|forest| forest.drop_tree(root)).is_err());
    }

    /// The trees that could not be removed yet.
    pub(crate) fn abandoned(&self) -> MutexGuard<'_, Vec<Root>> {
        self.abandoned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tries a write as long as it finds no room and some can be made.
    fn with_room<T>(&self, mut attempt: impl FnMut() -> Result<T, TreeError>) -> Result<T, TreeError> {
        let mut result = attempt();
        if !is_exhausted(&result) {
            return result;
        }
        let patience = Patience::new();
        for attempts in 0..ATTEMPTS_MAX {
            if !is_exhausted(&result) || patience.is_over(attempts) || !self.make_room() {
                break;
            }
            result = attempt();
        }
        result
    }

    /// Makes room by what comes first: reclaiming what the attempt itself held back, ending a lease, waiting,
    /// compaction. Writes win over snapshots, since a snapshot can be taken again and a refused write is
    /// refused. False if there is nothing to wait for and nothing to join.
    fn make_room(&self) -> bool {
        let memory = self.forest.memory();
        if memory.reclaim() > 0 || self.leases.give_way(memory) {
            return true;
        }
        let accounting = memory.accounting();
        if accounting.retired_node_bytes + accounting.retired_value_bytes == 0 {
            return self.compaction.make_room(self);
        }
        // Operations in flight hold back what was retired, but not for long.
        thread::sleep(PAUSE);
        true
    }

    /// What is to be done now and then, before so many writes: ends overdue leases, so that they end although
    /// nobody uses them, and goes on with compaction.
    pub(crate) fn look_after(&self, writes: usize) {
        let (before, after) = WRITES
            .try_with(|count| {
                let before = count.get() % WRITES_A_LOOK;
                count.set(before + writes);
                (before, before + writes)
            })
            .unwrap_or((0, WRITES_A_LOOK));
        if before / STEP < after / STEP {
            self.compaction.go_on(self, (after / STEP - before / STEP) * STEP);
        }
        if after >= WRITES_A_LOOK {
            self.leases.end_overdue(self.forest.memory());
        }
    }
}

/// A part of a value.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) offset: usize,
    pub(crate) length: usize,
}

impl Part {
    /// What there is of it in a value.
    fn of(self, value: &[u8]) -> &[u8] {
        let rest = value.get(self.offset..).unwrap_or_default();
        &rest[..rest.len().min(self.length)]
    }
}

/// How long a write has been tried again.
struct Patience(Instant);

impl Patience {
    fn new() -> Self {
        Self(Instant::now())
    }

    /// Whether it is to be given up after so many attempts.
    fn is_over(&self, attempts: usize) -> bool {
        attempts >= ATTEMPTS_MIN && self.0.elapsed() > PATIENCE
    }
}

fn is_exhausted<T>(result: &Result<T, TreeError>) -> bool {
    matches!(result, Err(TreeError::Memory(MemoryError::Exhausted { .. })))
}

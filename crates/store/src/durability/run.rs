//! A run: changes of the log in memory, which a recovery applies in the order of their keys.
//!
//! Nobody reads during a recovery, so the changes of different keys need no order among each other, and only
//! the last change of each key counts. Adjacent keys are in the same leaf, which is then in the cache. A
//! table without pairs is bulk loaded. Deletions precede puts, so that a run needs no more memory than the
//! store needed before it or needs after it.

use std::cmp::Ordering;
use std::thread;

use honeycomb_btree::LoaderPart;

use super::table_load::{TableLoad, begin_part};
use crate::batch::Batch;
use crate::error::Error;
use crate::store_state::StoreState;
use crate::table_handle::{TableHandle, TableRef};

/// Changes below which another thread costs more than it saves.
const CHANGES_EACH: usize = 1 << 14;
/// Samples for each thread, to divide the keys evenly.
const SAMPLES: usize = 64;
/// Writes that are executed together, and their bytes.
const BATCH_WRITES: usize = 512;
const BATCH_BYTES: usize = 1 << 20;

/// Changes of pairs.
#[derive(Default)]
pub(super) struct Run {
    tables: Vec<RunTable>,
    bytes: Vec<u8>,
    changes: Vec<Change>,
}

/// A table with changes.
struct RunTable {
    /// Its identifier in the log.
    tree: u64,
    table: TableHandle,
    /// The common beginning of all keys.
    shared: Vec<u8>,
}

/// A put or a deletion. Its key and then its value are in `Run::bytes`.
#[derive(Clone, Copy)]
struct Change {
    table: u32,
    /// The bytes of the key after the common beginning of all keys of its table, to compare most keys without
    /// reading them. It is known when the run is complete.
    head: u64,
    start: u32,
    key_bytes: u16,
    /// `None`: a deletion.
    value_bytes: Option<u32>,
}

impl Run {
    /// The memory of the changes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + self.changes.len() * size_of::<Change>()
    }

    /// Removes all changes.
    pub(super) fn clear(&mut self) {
        self.tables.clear();
        self.bytes.clear();
        self.changes.clear();
    }

    /// Adds a put, or a deletion without a value. A run has less than 4 GiB.
    pub(super) fn add(&mut self, (tree, table): (u64, TableRef<'_>), key: &[u8], value: Option<&[u8]>) {
        let table = self.table((tree, table), key) as u32;
        self.changes.push(Change {
            table,
            head: 0,
            start: self.bytes.len() as u32,
            key_bytes: key.len() as u16,
            value_bytes: value.map(|value| value.len() as u32),
        });
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value.unwrap_or_default());
    }

    /// Applies all changes, on this thread and at most `threads - 1` others.
    pub(super) fn apply(&self, state: &StoreState, threads: usize) -> Result<(), Error> {
        let parts = self.sorted_parts(threads)?;
        in_parallel(&parts, |part| self.write(state, part, |change| change.value_bytes.is_none()))?;
        let mut loaded = vec![false; self.tables.len()];
        for (index, loaded) in loaded.iter_mut().enumerate() {
            *loaded = self.load(state, index, &parts)?;
        }
        let is_left = |change: &Change| change.value_bytes.is_some() && !loaded[change.table as usize];
        in_parallel(&parts, |part| self.write(state, part, is_left)).map(drop)
    }

    /// Returns the index of the table of a key.
    fn table(&mut self, (tree, table): (u64, TableRef<'_>), key: &[u8]) -> usize {
        let found = self.tables.iter().position(|one| one.tree == tree);
        let index = found.unwrap_or_else(|| {
            self.tables.push(RunTable { tree, table: table.to_handle(), shared: key.to_vec() });
            self.tables.len() - 1
        });
        let shared = &mut self.tables[index].shared;
        if !key.starts_with(shared) {
            shared.truncate(shared.iter().zip(key).take_while(|(one, other)| one == other).count());
        }
        index
    }

    /// Returns a change with its head.
    fn with_head(&self, change: &Change) -> Change {
        let mut head = [0; 8];
        let rest = &self.key(change)[self.tables[change.table as usize].shared.len()..];
        let length = rest.len().min(head.len());
        head[..length].copy_from_slice(&rest[..length]);
        Change { head: u64::from_be_bytes(head), ..*change }
    }

    /// Divides the changes by ranges of their keys, into one part for each thread. Returns the last change of
    /// each key, in the order of the keys.
    fn sorted_parts(&self, threads: usize) -> Result<Vec<Vec<Change>>, Error> {
        let threads = threads.min(self.changes.len() / CHANGES_EACH).max(1);
        let ends = self.ends(threads);
        let slices: Vec<_> = self.changes.chunks(self.changes.len().div_ceil(threads).max(1)).collect();
        let divided = in_parallel(&slices, |slice| Ok(self.divide(slice, &ends)))?;
        let parts: Vec<_> = (0..threads).collect();
        in_parallel(&parts, |&part| Ok(self.sort(divided.iter().map(|lists| &lists[part]))))
    }

    /// Returns the changes whose keys are the last ones of all parts but the last part.
    fn ends(&self, threads: usize) -> Vec<Change> {
        let step = (self.changes.len() / (threads * SAMPLES)).max(1);
        let mut samples: Vec<_> =
            self.changes.iter().step_by(step).map(|change| self.with_head(change)).collect();
        samples.sort_unstable_by(|one, other| self.compare(one, other));
        (1..threads).map(|part| samples[part * samples.len() / threads]).collect()
    }

    /// Divides some changes among the parts with these ends.
    fn divide(&self, changes: &[Change], ends: &[Change]) -> Vec<Vec<Change>> {
        let mut parts = vec![Vec::with_capacity(changes.len() / (ends.len() + 1)); ends.len() + 1];
        for change in changes.iter().map(|change| self.with_head(change)) {
            let part = ends.partition_point(|end| self.compare(end, &change).is_lt());
            parts[part].push(change);
        }
        parts
    }

    /// Returns the last change of each key of a part, in the order of the keys.
    fn sort<'r>(&self, lists: impl Iterator<Item = &'r Vec<Change>>) -> Vec<Change> {
        let mut sorted: Vec<Change> = lists.flatten().copied().collect();
        // Later changes are first.
        sorted.sort_unstable_by(|one, other| self.compare(one, other).then(other.start.cmp(&one.start)));
        sorted.dedup_by(|later, earlier| self.compare(later, earlier).is_eq());
        sorted
    }

    fn compare(&self, one: &Change, other: &Change) -> Ordering {
        let heads = (one.table, one.head).cmp(&(other.table, other.head));
        heads.then_with(|| self.key(one).cmp(self.key(other)))
    }

    fn key(&self, change: &Change) -> &[u8] {
        &self.bytes[change.start as usize..][..usize::from(change.key_bytes)]
    }

    fn value(&self, change: &Change) -> Option<&[u8]> {
        let start = change.start as usize + usize::from(change.key_bytes);
        change.value_bytes.map(|bytes| &self.bytes[start..][..bytes as usize])
    }

    /// Bulk loads the puts of a table, if it has no pairs. Returns whether it has done so.
    fn load(&self, state: &StoreState, table: usize, parts: &[Vec<Change>]) -> Result<bool, Error> {
        let TableHandle::Ordered(handle) = &self.tables[table].table else { return Ok(false) };
        if handle.pair_count() > 0 {
            return Ok(false);
        }
        let parts = parts.iter().map(|part| of_table(part, table)).filter(|part| has_put(part));
        let parts: Vec<_> = parts.enumerate().collect();
        let loaded = in_parallel(&parts, |&(position, part)| self.load_part(state, part, position == 0))?;
        let mut load = TableLoad::new(state, handle)?;
        loaded.into_iter().try_for_each(|part| load.append(part))?;
        load.finish()?;
        Ok(true)
    }

    /// Builds the leaves of the puts among sorted changes of a table.
    fn load_part<'s>(
        &self,
        state: &'s StoreState,
        part: &[Change],
        is_first: bool,
    ) -> Result<LoaderPart<'s>, Error> {
        let mut leaves = begin_part(state, if is_first { &[] } else { self.key(&part[0]) })?;
        for change in part {
            if let Some(value) = self.value(change) {
                state.write(|_| leaves.push(self.key(change), value))?;
            }
        }
        Ok(leaves)
    }

    /// Executes the sorted changes that fulfil a condition.
    fn write(
        &self,
        state: &StoreState,
        part: &[Change],
        is_due: impl Fn(&Change) -> bool,
    ) -> Result<(), Error> {
        let mut batch = Batch::default();
        for change in part.iter().filter(|change| is_due(change)) {
            let table = &self.tables[change.table as usize].table;
            match self.value(change) {
                Some(value) => batch.put(table, self.key(change), value),
                None => batch.delete(table, self.key(change)),
            };
            if batch.len() >= BATCH_WRITES || batch.bytes() >= BATCH_BYTES {
                execute(state, &batch)?;
                batch.clear();
            }
        }
        execute(state, &batch)
    }
}

/// Returns the changes of a table among sorted changes.
fn of_table(part: &[Change], table: usize) -> &[Change] {
    let start = part.partition_point(|change| (change.table as usize) < table);
    let end = part.partition_point(|change| change.table as usize <= table);
    &part[start..end]
}

fn has_put(changes: &[Change]) -> bool {
    changes.iter().any(|change| change.value_bytes.is_some())
}

/// Calls a function for each part, each on a thread of its own.
fn in_parallel<T: Sync, U: Send>(
    parts: &[T],
    function: impl Fn(&T) -> Result<U, Error> + Sync,
) -> Result<Vec<U>, Error> {
    let Some((first, others)) = parts.split_first() else { return Ok(Vec::new()) };
    thread::scope(|scope| {
        let threads: Vec<_> = others.iter().map(|part| scope.spawn(|| function(part))).collect();
        let mut results = vec![function(first)];
        let joined = threads.into_iter().map(|thread| thread.join());
        results.extend(joined.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))));
        results.into_iter().collect()
    })
}

fn execute(state: &StoreState, batch: &Batch) -> Result<(), Error> {
    let mut failed = None;
    state.apply_each(batch, |_, outcome| {
        if let Err(error) = outcome {
            failed.get_or_insert(error);
        }
    })?;
    failed.map_or(Ok(()), Err)
}

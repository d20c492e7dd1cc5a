//! Batches with entries for unordered tables.
//!
//! 1. The batch locks the stripes of its keys: table by table, in the order of their identifiers. All batches
//!    have the same order, and nobody who holds a leaf of a tree waits for a stripe, so batches cannot
//!    deadlock.
//! 2. It executes the entries for unordered tables on copies of their values, and allocates the memory of all
//!    new values.
//! 3. It executes the entries for trees as one transaction, whose version also has the changes of the
//!    unordered tables in the log.
//! 4. Only then it stores the new values, which cannot fail, and the stripes are free again. A reader that
//!    sees one of these values therefore also sees the version.
//! 5. After the last stripe is free, the unordered tables grow or shrink.

use std::collections::HashMap;
use std::sync::Arc;

use honeycomb_btree::{
    BATCH_OPERATIONS_MAX, BatchOutcome, Effect, Existing, Forest, Operation, Outcome, effect_of,
};
use honeycomb_hashtable::{
    Answers, LockedKeys, Operation as TableOperation, Outcome as TableOutcome, Request, Resize, Span,
};
use honeycomb_log::Changes;

use super::entry::UnorderedEntry;
use super::table::UnorderedTable;
use crate::batch::{Batch, UnorderedWrite};
use crate::error::Error;
use crate::store_state::StoreState;

/// Applies a batch with entries for unordered tables atomically.
pub(crate) fn apply(state: &StoreState, batch: &Batch) -> Result<BatchOutcome, Error> {
    if batch.len() > BATCH_OPERATIONS_MAX {
        return Err(Error::BatchTooLarge { operations: batch.len(), max: BATCH_OPERATIONS_MAX });
    }
    let plan = Plan::of(batch);
    let is_durable = state.durability().is_some();
    let attempt = |forest: &Forest| plan.attempt(forest, batch, is_durable);
    let outcome = if batch.only_removes() { state.remove(attempt) } else { state.write(attempt) }?;
    state.catch_up();
    Ok(outcome)
}

/// Executes the writes of a batch from `index` on, up to the first one that is not for the same unordered
/// table, each as its own operation. Returns their number, which is 0 if there is no such write.
pub(crate) fn apply_run(
    state: &StoreState,
    batch: &Batch,
    index: usize,
    done: &mut impl FnMut(usize, Result<Outcome, Error>),
) -> usize {
    let Some((table, key, write)) = batch.unordered_write(index) else { return 0 };
    let mut requests = Vec::with_capacity(batch.len() - index);
    for at in index..batch.len() {
        let same = batch.unordered_write(at).filter(|(other, ..)| other.is_same_as(table));
        let Some((_, key, write)) = same else { break };
        let Some(operation) = table_operation(&write) else { break };
        requests.push(Request { key, operation });
    }
    // A log has the writes in their order, so that a recovery finds a state that the store has had.
    if requests.is_empty() || state.durability().is_some() {
        done(index, apply_one(table, key, write));
        return 1;
    }
    if let Err(refusal) = state.prepare_writes(requests.len()) {
        (0..requests.len()).for_each(|offset| done(index + offset, Err(refusal.again())));
        return requests.len();
    }
    let mut answers = Answers::default();
    table.entry().table.execute(&requests, &mut answers);
    state.catch_up();
    let mut errors = answers.take_errors().into_iter().peekable();
    let last = if errors.peek().is_some() { last_of(&requests) } else { HashMap::new() };
    for at in 0..requests.len() {
        let result = match (errors.next_if(|(failed, _)| *failed == at), answers.outcome(at)) {
            (None, Ok(outcome)) => Ok(tree_outcome(outcome, |span| answers.value(span).to_vec())),
            // Another attempt would follow a later write of its key, which has been executed.
            (Some((_, error)), _) if last[requests[at].key] > at => Err(error.into()),
            _ => again(batch, index + at),
        };
        done(index + at, result);
    }
    requests.len()
}

/// Returns the last request of each key.
#[cold]
fn last_of<'r>(requests: &[Request<'r>]) -> HashMap<&'r [u8], usize> {
    requests.iter().enumerate().map(|(at, request)| (request.key, at)).collect()
}

/// Executes a write that has failed in a run alone, because it may find room then.
#[cold]
fn again(batch: &Batch, index: usize) -> Result<Outcome, Error> {
    let write = batch.unordered_write(index);
    write.map_or(Ok(Outcome::Absent), |(table, key, write)| apply_one(table, key, write))
}

/// Executes one write of a batch as its own operation.
pub(crate) fn apply_one(
    table: &UnorderedTable,
    key: &[u8],
    write: UnorderedWrite<'_>,
) -> Result<Outcome, Error> {
    let mut value = Vec::new();
    let outcome = match (table_operation(&write), write) {
        (Some(removal @ (TableOperation::Delete | TableOperation::CompareAndDelete { .. })), _) => {
            table.remove(key, removal, &mut value)?
        }
        (Some(write), _) => table.write(key, write, &mut value)?,
        (None, UnorderedWrite::Plain(Operation::Add(delta))) => {
            return match table.add_to(key, delta) {
                Ok((sum, true)) => Ok(Outcome::AddedFirst { sum }),
                Ok((sum, false)) => Ok(Outcome::Added { sum }),
                Err(Error::NotCounter { bytes }) => Ok(Outcome::NotCounter { bytes }),
                Err(error) => Err(error),
            };
        }
        // No batch has it for an unordered table, whose pairs have no versions.
        (None, _) => TableOutcome::Absent,
    };
    Ok(tree_outcome(outcome, |_| std::mem::take(&mut value)))
}

/// The operation of a table; `None` for an addition, which may insert the counter. No plain write has a
/// function.
fn table_operation<'o>(write: &UnorderedWrite<'o>) -> Option<TableOperation<'o>> {
    let operation = match write {
        UnorderedWrite::Plain(operation) => operation,
        UnorderedWrite::Function(update) => return Some(update.operation()),
    };
    Some(match *operation {
        Operation::Insert(value) => TableOperation::Insert(value),
        Operation::Update(value) => TableOperation::Update(value),
        Operation::Put(value) => TableOperation::Put(value),
        Operation::Delete => TableOperation::Delete,
        Operation::CompareAndSwap { expected, value } => TableOperation::CompareAndSwap { expected, value },
        Operation::CompareAndDelete { expected } => TableOperation::CompareAndDelete { expected },
        Operation::CompareVersionAndSwap { .. } | Operation::Add(_) | Operation::Function(_) => return None,
    })
}

/// The outcome of a write as trees have it.
fn tree_outcome(outcome: TableOutcome, value: impl FnOnce(Span) -> Vec<u8>) -> Outcome {
    match outcome {
        TableOutcome::Inserted => Outcome::Inserted,
        TableOutcome::Updated => Outcome::Updated,
        TableOutcome::Deleted => Outcome::Deleted,
        TableOutcome::Exists => Outcome::Exists,
        TableOutcome::Mismatch(span) => {
            Outcome::Mismatch(Box::new(Existing { value: value(span), version: 0 }))
        }
        TableOutcome::Original(span) => {
            Outcome::Original(Box::new(Existing { value: value(span), version: 0 }))
        }
        TableOutcome::NotElements { bytes } => Outcome::NotElements { bytes },
        _ => Outcome::Absent,
    }
}

/// The entries of a batch by table and key.
struct Plan<'b> {
    /// The unordered tables in the order of their identifiers, each with its keys.
    tables: Vec<TablePlan<'b>>,
    /// The entries for unordered tables, in their order.
    writes: Vec<PlannedWrite<'b>>,
    /// The indexes of the entries for trees.
    trees: Vec<usize>,
}

struct TablePlan<'b> {
    entry: &'b Arc<UnorderedEntry>,
    keys: Vec<&'b [u8]>,
}

struct PlannedWrite<'b> {
    /// Index of the entry in the batch.
    index: usize,
    /// Index of the table in the plan.
    table: usize,
    /// Index of the key in the table.
    key: usize,
    write: UnorderedWrite<'b>,
}

/// The value of a key during a batch.
struct Value {
    existed: bool,
    /// The value before the batch, if the key existed and the log has old values.
    old: Option<Vec<u8>>,
    now: Option<Vec<u8>>,
    is_changed: bool,
}

impl<'b> Plan<'b> {
    fn of(batch: &'b Batch) -> Self {
        let tables = batch.tables().iter().filter_map(|table| table.unordered());
        let mut tables: Vec<_> =
            tables.map(|table| TablePlan { entry: table.entry(), keys: Vec::new() }).collect();
        tables.sort_by_key(|table| table.entry.tree);
        let mut plan = Self { tables, writes: Vec::new(), trees: Vec::new() };
        let mut keys = HashMap::with_capacity(batch.len());
        for index in 0..batch.len() {
            let Some((table, key, write)) = batch.unordered_write(index) else {
                plan.trees.push(index);
                continue;
            };
            let tree = table.entry().tree;
            let table = plan.tables.partition_point(|other| other.entry.tree < tree);
            let known = &mut plan.tables[table].keys;
            let key = *keys.entry((table, key)).or_insert_with(|| {
                known.push(key);
                known.len() - 1
            });
            plan.writes.push(PlannedWrite { index, table, key, write });
        }
        plan
    }

    /// Applies the batch once.
    fn attempt(&self, forest: &Forest, batch: &Batch, is_durable: bool) -> Result<BatchOutcome, Error> {
        // One pin for everything: a thread that holds a pin or a stripe must not wait for a pin.
        let pin = forest.memory().pin();
        let sessions: Vec<_> =
            self.tables.iter().map(|table| table.entry.table.session_under(&pin)).collect();
        let locked = sessions.iter().zip(&self.tables).map(|(session, table)| session.lock_keys(&table.keys));
        let mut locked = locked.collect::<Result<Vec<_>, _>>()?;
        let mut outcomes = vec![Outcome::Absent; batch.len()];
        let has_old_values = forest.has_old_values();
        let values = match self.execute(&locked, has_old_values, &mut outcomes) {
            Ok(values) => values,
            Err((index, outcome)) => return Ok(BatchOutcome::Rejected { index, outcome }),
        };
        let changes = self.prepare(&mut locked, &values, (is_durable, has_old_values))?;
        match forest.apply_entries_beside(&pin, &batch.entries(), &changes)? {
            BatchOutcome::Rejected { index, outcome } => {
                Ok(BatchOutcome::Rejected { index: self.trees[index], outcome })
            }
            BatchOutcome::Applied { version, outcomes: of_trees } => {
                // A table that grows or shrinks takes further stripes, out of their order. So all stripes of
                // this batch are free before.
                let resizes: Vec<_> = locked.into_iter().map(LockedKeys::store).collect();
                resizes.into_iter().for_each(Resize::run);
                for (&index, outcome) in self.trees.iter().zip(of_trees) {
                    outcomes[index] = outcome;
                }
                Ok(BatchOutcome::Applied { version, outcomes })
            }
        }
    }

    /// Executes the entries for unordered tables on copies of the values. Returns the values by table and
    /// key, or the index and the outcome of the first rejected entry.
    fn execute(
        &self,
        locked: &[LockedKeys<'_>],
        has_old_values: bool,
        outcomes: &mut [Outcome],
    ) -> Result<Vec<Vec<Option<Value>>>, (usize, Outcome)> {
        let none = |table: &TablePlan<'_>| table.keys.iter().map(|_| None).collect();
        let mut values: Vec<Vec<Option<Value>>> = self.tables.iter().map(none).collect();
        for PlannedWrite { index, table, key, write } in &self.writes {
            let load = || {
                let mut bytes = Vec::new();
                let exists = locked[*table].get(*key, &mut bytes);
                let old = (exists && has_old_values).then(|| bytes.clone());
                Value { existed: exists, old, now: exists.then_some(bytes), is_changed: false }
            };
            let value = values[*table][*key].get_or_insert_with(load);
            let (effect, outcome) = match write {
                UnorderedWrite::Plain(operation) => effect_of(operation, value.now.as_deref()),
                UnorderedWrite::Function(update) => {
                    effect_of(&Operation::Function(*update), value.now.as_deref())
                }
            };
            let is_delete = matches!(write, UnorderedWrite::Plain(Operation::Delete));
            let nothing_to_delete = is_delete && outcome == Outcome::Absent;
            if !outcome.wrote() && !nothing_to_delete {
                return Err((*index, outcome));
            }
            match effect {
                Effect::Keep => {}
                Effect::Store(new) => (value.now, value.is_changed) = (Some(new), true),
                Effect::Remove => (value.now, value.is_changed) = (None, true),
            }
            outcomes[*index] = outcome;
        }
        Ok(values)
    }

    /// Prepares all changed values, and returns the changes for the log if there is one.
    fn prepare(
        &self,
        locked: &mut [LockedKeys<'_>],
        values: &[Vec<Option<Value>>],
        (is_durable, has_old_values): (bool, bool),
    ) -> Result<Changes, Error> {
        let mut changes = Changes::default();
        for ((locked, TablePlan { entry, keys }), values) in locked.iter_mut().zip(&self.tables).zip(values) {
            for (key, value) in values.iter().enumerate() {
                let Some(Value { existed, old, now, is_changed: true }) = value else { continue };
                if !existed && now.is_none() {
                    continue;
                }
                locked.prepare(key, now.as_deref())?;
                match old {
                    Some(old) => changes.old(entry.tree, keys[key], old),
                    None if has_old_values => changes.absent(entry.tree),
                    None => {}
                }
                match now {
                    _ if !is_durable => {}
                    Some(value) => changes.put(entry.tree, keys[key], value),
                    None => changes.delete(entry.tree, keys[key]),
                }
            }
        }
        Ok(changes)
    }
}

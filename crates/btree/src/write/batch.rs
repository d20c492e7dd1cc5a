//! Batches: writes at one version, with optional conditions.
//!
//! A batch of writes to single keys locks and writes one leaf after the other, in key order. A batch with
//! ranges first locks all its leaves, also in key order. So batches cannot deadlock. A condition is checked
//! as soon as its leaves are locked and before the batch writes anything. It stays true until the commit
//! because any write to the range needs one of these locks. That includes the insertion of a new key: the
//! leaves of a range tile it without gaps.

use std::borrow::Cow;
use std::ops::Bound;

use honeycomb_log::Changes;
use honeycomb_memory::{Pin, Version};

use crate::error::Error;
use crate::forest::{Forest, Root};
use crate::node::key::{common_length, head};
use crate::node::view::View;
use crate::read::reader::LeafPosition;
use crate::write::apply::LeafLocation;
use crate::write::operation::{
    BatchEntry, BatchOperation, BatchOutcome, Decision, Operation, Outcome, TreeRange,
};
use crate::write::range::KeyRange;
use crate::write::transaction::{Abort, End, WriteTransaction};

/// Maximum number of entries in a batch.
pub const BATCH_OPERATIONS_MAX: usize = 1 << 20;

impl Forest {
    /// Executes all operations at one version, or none of them. An operation sees the effects of earlier
    /// operations on its key.
    ///
    /// # Errors
    /// Those of [`Forest::write`], and [`Error::BatchTooLarge`]. A failed batch has changed nothing.
    pub fn apply(&self, operations: &[BatchOperation<'_>]) -> Result<BatchOutcome, Error> {
        let entries: Vec<_> = operations.iter().copied().map(BatchEntry::Write).collect();
        self.apply_entries(&entries)
    }

    /// Executes all entries at one version, or none of them. Writes and range deletions see the effects of
    /// earlier entries; conditions see the state before the batch.
    ///
    /// # Errors
    /// Those of [`Forest::write`], [`Error::BatchTooLarge`], and [`Error::NoVersions`] for a condition
    /// without MVCC. A failed batch has changed nothing.
    pub fn apply_entries(&self, entries: &[BatchEntry<'_>]) -> Result<BatchOutcome, Error> {
        self.apply_under(None, entries, &Changes::default())
    }

    /// Like [`Forest::apply_entries`], together with changes that are not of a tree: if all entries are
    /// applied, the journal receives these changes as part of the same version. It needs no pin besides that
    /// of the caller.
    ///
    /// # Errors
    /// Those of [`Forest::apply_entries`].
    pub fn apply_entries_beside(
        &self,
        pin: &Pin<'_>,
        entries: &[BatchEntry<'_>],
        others: &Changes,
    ) -> Result<BatchOutcome, Error> {
        self.apply_under(Some(pin), entries, others)
    }

    fn apply_under(
        &self,
        held: Option<&Pin<'_>>,
        entries: &[BatchEntry<'_>],
        others: &Changes,
    ) -> Result<BatchOutcome, Error> {
        if entries.len() > BATCH_OPERATIONS_MAX {
            return Err(Error::BatchTooLarge { operations: entries.len(), max: BATCH_OPERATIONS_MAX });
        }
        entries.iter().try_for_each(|entry| self.check_entry(entry))?;
        let order = key_order(entries);
        let (outcome, committed) =
            self.transact_under(held, |transaction| transaction.apply_batch(entries, &order, others))?;
        Ok(match outcome {
            BatchOutcome::Applied { outcomes, .. } => BatchOutcome::Applied { version: committed, outcomes },
            rejected => rejected,
        })
    }

    fn check_entry(&self, entry: &BatchEntry<'_>) -> Result<(), Error> {
        match entry {
            BatchEntry::Write(write) => self.check(write.key, &write.operation),
            BatchEntry::Unchanged { .. } if !self.mvcc() => Err(Error::NoVersions),
            BatchEntry::Unchanged { .. } | BatchEntry::DeleteRange(_) => Ok(()),
        }
    }
}

/// Returns the indexes of the entries in key order. A range precedes a write at its lower bound.
fn key_order(entries: &[BatchEntry<'_>]) -> Vec<usize> {
    let key = |entry| sort_key(entry).1;
    let first = entries.first().map_or(&[][..], key);
    let shared = entries.iter().map(|entry| common_length(first, key(entry))).min().unwrap_or(0);
    // The bytes after the common beginning of all keys usually decide. Compare these heads first: they are
    // adjacent in memory.
    let heads = entries.iter().map(|entry| (sort_key(entry).0, head(&key(entry)[shared..])));
    let mut order: Vec<_> = heads.zip(0..).collect();
    order.sort_by(|(a, a_at), (b, b_at)| {
        a.cmp(b).then_with(|| sort_key(&entries[*a_at]).cmp(&sort_key(&entries[*b_at])))
    });
    order.into_iter().map(|(_, index)| index).collect()
}

/// Returns the sort key of an entry: tree, key or lower bound, and whether it is a write.
fn sort_key<'a>(entry: &BatchEntry<'a>) -> (Root, &'a [u8], bool) {
    match *entry {
        BatchEntry::Write(BatchOperation { root, key, .. }) => (root, key, true),
        BatchEntry::Unchanged { range, .. } | BatchEntry::DeleteRange(range) => {
            let lowest = match range.lower {
                Bound::Included(key) | Bound::Excluded(key) => key,
                Bound::Unbounded => &[],
            };
            (range.root, lowest, false)
        }
    }
}

/// Returns the execution order: key order, but no entry moves across a range deletion.
fn apply_order<'o>(entries: &[BatchEntry<'_>], order: &'o [usize]) -> Cow<'o, [usize]> {
    let is_range_deletion = |entry: &BatchEntry<'_>| matches!(entry, BatchEntry::DeleteRange(_));
    if !entries.iter().any(is_range_deletion) {
        return Cow::Borrowed(order);
    }
    let mut deletions = 0;
    let stage = |entry| {
        deletions += usize::from(is_range_deletion(entry));
        2 * deletions - usize::from(is_range_deletion(entry))
    };
    let stages: Vec<usize> = entries.iter().map(stage).collect();
    let mut order = order.to_vec();
    order.sort_by_key(|&index| stages[index]);
    Cow::Owned(order)
}

/// Returns whether a write is the first of its key in a batch.
fn is_first(entries: &[BatchEntry<'_>], order: &[usize], index: usize) -> bool {
    let wanted = sort_key(&entries[index]);
    let first = order.partition_point(|&other| sort_key(&entries[other]) < wanted);
    order[first] == index
}

/// Returns the newest version after `since` at which the leaf may have changed a pair of the range, if there
/// is one.
fn changed_since(leaf: View<'_>, keys: KeyRange<'_>, since: Version) -> Option<Version> {
    let node_version = leaf.node_version();
    // The node version is that of the write that built the buffer. The versions of its sorted items are
    // unknown.
    if node_version > since {
        return Some(node_version);
    }
    let newer = leaf.log_entries().filter(|entry| entry.place.version(node_version) > since);
    let in_range = newer.filter(|entry| keys.contains(leaf.key(entry.item)));
    in_range.last().map(|entry| entry.place.version(node_version))
}

impl WriteTransaction<'_> {
    /// Executes the entries of a batch. `order` has their indexes in key order; `others` are changes that are
    /// not of a tree.
    fn apply_batch(
        &mut self,
        entries: &[BatchEntry<'_>],
        order: &[usize],
        others: &Changes,
    ) -> Result<End<BatchOutcome>, Abort> {
        if let Some((index, outcome)) = self.check_conditions(entries, order)? {
            return Ok(End::RollBack(BatchOutcome::Rejected { index, outcome }));
        }
        let mut outcomes = vec![Outcome::Absent; entries.len()];
        for &index in &*apply_order(entries, order) {
            let outcome = match entries[index] {
                BatchEntry::Write(write) => {
                    let outcome = self.apply_in_batch(entries, order, index, &write)?;
                    let nothing_to_delete =
                        matches!(write.operation, Operation::Delete) && outcome == Outcome::Absent;
                    if !outcome.wrote() && !nothing_to_delete {
                        return Ok(End::RollBack(BatchOutcome::Rejected { index, outcome }));
                    }
                    self.log_write(write.root, write.key, &write.operation, &outcome);
                    outcome
                }
                BatchEntry::Unchanged { .. } => Outcome::Unchanged,
                BatchEntry::DeleteRange(TreeRange { root, lower, upper }) => {
                    Outcome::RangeDeleted { pairs: self.delete_range(root, lower, upper)? }
                }
            };
            outcomes[index] = outcome;
        }
        self.log_changes(others);
        let wrote = !others.is_empty() || outcomes.iter().any(Outcome::wrote);
        let outcome = BatchOutcome::Applied { version: 0, outcomes };
        Ok(if wrote { End::Commit(outcome) } else { End::RollBack(outcome) })
    }

    /// Executes one write of a batch.
    fn apply_in_batch(
        &mut self,
        entries: &[BatchEntry<'_>],
        order: &[usize],
        index: usize,
        BatchOperation { root, key, operation }: &BatchOperation<'_>,
    ) -> Result<Outcome, Abort> {
        let leaf = self.lock_leaf(*root, LeafPosition::Key(key))?;
        let operation = match *operation {
            // check_conditions has compared the version.
            Operation::CompareVersionAndSwap { value, .. } if is_first(entries, order, index) => {
                &Operation::Update(value)
            }
            _ => operation,
        };
        self.apply(*root, LeafLocation::at(leaf), key, operation)
    }

    /// Returns the index and outcome of the first failed condition, or of the first swap by version whose
    /// pair has another version. All are checked before anything is written: a leaf that this batch
    /// consolidates gets a new node version. The result stays valid because the leaves are locked.
    fn check_conditions(
        &mut self,
        entries: &[BatchEntry<'_>],
        order: &[usize],
    ) -> Result<Option<(usize, Outcome)>, Abort> {
        let has_ranges = entries.iter().any(|entry| !matches!(entry, BatchEntry::Write(_)));
        for &index in order {
            let unexpected = match &entries[index] {
                BatchEntry::Unchanged { range, since } => self
                    .lock_range(range, |leaf, keys| changed_since(leaf, keys, *since))?
                    .map(|version| Outcome::Changed { version }),
                BatchEntry::DeleteRange(range) => self.lock_range(range, |_, _| None)?,
                BatchEntry::Write(BatchOperation { root, key, operation }) => {
                    let compares = matches!(operation, Operation::CompareVersionAndSwap { .. })
                        && is_first(entries, order, index);
                    if !has_ranges && !compares {
                        continue;
                    }
                    let leaf = self.lock_leaf(*root, LeafPosition::Key(key))?;
                    match compares.then(|| self.decide(leaf, key, operation)) {
                        Some(Decision::Keep(outcome)) => Some(outcome),
                        _ => None,
                    }
                }
            };
            if let Some(outcome) = unexpected {
                return Ok(Some((index, outcome)));
            }
        }
        Ok(None)
    }

    /// Locks the leaves of a range from left to right until `inspect` returns a result for one of them.
    fn lock_range<T>(
        &mut self,
        &TreeRange { root, lower, upper }: &TreeRange<'_>,
        inspect: impl Fn(View<'_>, KeyRange<'_>) -> Option<T>,
    ) -> Result<Option<T>, Abort> {
        let keys = KeyRange { lower, upper };
        if keys.is_empty() {
            return Ok(None);
        }
        let mut leaf = self.lock_leaf(root, keys.first_leaf())?;
        loop {
            let view = self.view(leaf);
            let found = inspect(view, keys);
            if found.is_some() || keys.ends_in(view) {
                return Ok(found);
            }
            let right = self.right_of(leaf).ok_or(Abort::Conflict)?;
            leaf = self.lock(right)?;
        }
    }
}

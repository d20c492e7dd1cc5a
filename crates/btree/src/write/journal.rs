//! The changes of a transaction for a journal, which makes them durable.
//!
//! A transaction collects its changes only if the forest has a journal. It passes them to the journal after
//! it has taken its version and before it releases it. So a thread that reads the read version finds the
//! changes of every version up to it in the journal, and a version without changes has none.

use std::cell::Cell;
use std::mem;
use std::ops::Bound;

use honeycomb_log::Changes;
use honeycomb_memory::Version;

use crate::error::Error;
use crate::forest::{Forest, Root};
use crate::node::suffix::KeyParts;
use crate::write::operation::{Operation, Outcome};
use crate::write::transaction::{End, WriteTransaction};

thread_local! {
    /// The memory of earlier changes of this thread that the journal has copied, for later ones.
    static SPARE: Cell<Option<Changes>> = const { Cell::new(None) };
}

/// Bytes of deleted pairs above which the journal gets only the range: a record is in memory as a whole.
const REMOVED_BYTES_MAX: usize = 64 << 20;

/// The deletions of the pairs of a range, with their old values.
#[derive(Default)]
pub(crate) struct RemovedPairs {
    changes: Changes,
    is_too_long: bool,
}

impl RemovedPairs {
    pub(crate) fn add(&mut self, root: Root, key: KeyParts<'_>, value: &[u8]) {
        let (tree, key) = (root.lid().get(), key.bytes().collect::<Vec<_>>());
        self.is_too_long |= self.changes.bytes().len() + key.len() + value.len() > REMOVED_BYTES_MAX;
        if !self.is_too_long {
            self.changes.old(tree, &key, value);
            self.changes.delete(tree, &key);
        }
    }

    /// Returns the changes, or `None` if they are too long.
    fn into_changes(self) -> Option<Changes> {
        (!self.is_too_long).then_some(self.changes)
    }
}

impl Forest {
    /// Commits changes that are not changes of pairs, such as the creation of a table, and returns their
    /// version; 0 without MVCC.
    ///
    /// # Errors
    /// Those of [`Forest::write`].
    pub fn record(&self, changes: &Changes) -> Result<Version, Error> {
        let record = |transaction: &mut WriteTransaction<'_>| {
            transaction.log_changes(changes);
            Ok(End::Commit(()))
        };
        self.transact(record).map(|((), version)| version)
    }
}

impl Forest {
    /// Passes changes that are not of a tree to the journal, if there is one, at a version of their own.
    /// Returns at once: readers see the version when [`Forest::catch_up`] returns. The caller may hold locks
    /// that no tree needs.
    pub fn record_at_once(&self, changes: impl FnOnce() -> Changes) {
        if let Some(journal) = self.journal() {
            let version = self.versions.next();
            journal.append(version, &mut changes());
            self.versions.release(version, |version| self.memory().publish(version));
        }
    }

    /// Waits until readers see all versions that were taken before the call, and returns the newest of them.
    pub fn catch_up(&self) -> Version {
        let newest = self.versions.newest();
        self.versions.wait_for(newest);
        newest
    }
}

impl WriteTransaction<'_> {
    /// Adds the change of a single operation.
    #[inline]
    pub(crate) fn log_write(&mut self, root: Root, key: &[u8], operation: &Operation<'_>, outcome: &Outcome) {
        if self.forest.journal().is_some() && outcome.wrote() {
            self.log_outcome(root, key, operation, outcome);
        }
    }

    /// Adds the deletion of a range: that of each pair with its old value, if `removed` has them.
    pub(crate) fn log_range(
        &mut self,
        root: Root,
        (lower, upper): (Bound<&[u8]>, Bound<&[u8]>),
        removed: Option<RemovedPairs>,
    ) {
        match removed.and_then(RemovedPairs::into_changes) {
            Some(changes) => self.changes.extend(changes.bytes()),
            None if self.forest.journal().is_some() => {
                self.changes.delete_range(root.lid().get(), lower, upper);
            }
            None => {}
        }
    }

    /// Adds changes of the caller.
    pub(crate) fn log_changes(&mut self, changes: &Changes) {
        if self.forest.journal().is_some() {
            self.changes.extend(changes.bytes());
        }
    }

    /// Passes the changes to the journal.
    #[inline]
    pub(crate) fn journal(&mut self, version: Version) {
        if let (false, Some(journal)) = (self.changes.is_empty(), self.forest.journal()) {
            journal.append(version, &mut self.changes);
            // A destructor that runs after the thread-local variables are destroyed has no such memory.
            let _ = SPARE.try_with(|spare| spare.set(Some(mem::take(&mut self.changes))));
        }
    }

    /// It is a function of its own, so that writes without a journal are compiled as if it were not there.
    #[inline(never)]
    fn log_outcome(&mut self, root: Root, key: &[u8], operation: &Operation<'_>, outcome: &Outcome) {
        match operation {
            // Most changes are such puts, after other changes of the same version.
            Operation::Put(value)
                if !self.has_old_values && self.changes.put_short(root.lid().get(), key, value) => {}
            _ => self.log_any(root, key, operation, outcome),
        }
    }

    /// Adds any change. It is a function of its own, so that short puts need no stack.
    #[inline(never)]
    fn log_any(&mut self, root: Root, key: &[u8], operation: &Operation<'_>, outcome: &Outcome) {
        let tree = root.lid().get();
        if self.changes.is_empty() {
            self.changes = SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default();
        }
        if self.has_old_values {
            self.log_old_value(tree, key);
        }
        match operation.value() {
            Some(value) => self.changes.put(tree, key, value),
            None => self.log_result(tree, key, operation, outcome),
        }
    }

    #[cold]
    fn log_old_value(&mut self, tree: u64, key: &[u8]) {
        match self.old_value.take() {
            Some(old) => self.changes.old(tree, key, &old),
            None => self.changes.absent(tree),
        }
    }

    /// Adds the change of an operation that does not supply a value.
    fn log_result(&mut self, tree: u64, key: &[u8], operation: &Operation<'_>, outcome: &Outcome) {
        match (outcome, operation) {
            (Outcome::Added { sum } | Outcome::AddedFirst { sum }, _) => {
                self.changes.put(tree, key, &sum.to_le_bytes());
            }
            (Outcome::Original(before), Operation::Function(function)) => {
                // It has had a result for this value.
                self.changes.put(tree, key, &function.apply(&before.value).unwrap_or_default());
            }
            _ => self.changes.delete(tree, key),
        }
    }
}

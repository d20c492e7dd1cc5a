//! Groups of independent writes. While one write executes, the descents of the next ones overlap with it.
//!
//! The descents find the leaves like reads, without locks. The key range of a leaf never changes while its
//! LID is mapped, and the reader's pin keeps the LID from being reclaimed. So a leaf that the write can lock
//! is the correct one. If it cannot lock the leaf, because the leaf is locked or was replaced, the write
//! executes alone.
//!
//! Consecutive writes commit together, at one version, as long as each of them can still fail without an
//! effect: those that append a log entry or consolidate one leaf. Their leaves stay locked until the commit.
//! A write of a group never waits for a lock, so two groups cannot deadlock.

use honeycomb_memory::{MemoryError, Pin};
use smallvec::SmallVec;

use crate::error::Error;
use crate::forest::Forest;
use crate::read::descent::{LastStart, Target, descend_together};
use crate::write::operation::{BatchOperation, Outcome};
use crate::write::sparse::Shrunk;
use crate::write::transaction::{Abort, WriteTransaction};

/// Maximum number of descents that overlap.
pub(crate) const AHEAD: usize = 32;

impl Forest {
    /// Executes operations in order, like calls of [`Forest::write`], and calls `done` with each index and
    /// result, in the same order. It is faster than single calls: it prefetches for later operations, and
    /// consecutive operations may become visible together.
    pub fn write_each(
        &self,
        operations: &[BatchOperation<'_>],
        mut done: impl FnMut(usize, Result<Outcome, Error>),
    ) {
        let mut next = 0;
        while next < operations.len() {
            let ahead = &operations[next..operations.len().min(next + AHEAD)];
            let (written, shrunk) = self.write_ahead(ahead, |index, result| done(next + index, result));
            if let Some(shrunk) = shrunk {
                self.compact_sparse_leaves(None, *shrunk);
            }
            next += written;
            if written < ahead.len() {
                // Without the pin, which could block the reclamation of memory that this write needs, or
                // another writer.
                let BatchOperation { root, key, operation } = operations[next];
                done(next, self.write(root, key, operation));
                next += 1;
            }
        }
    }

    /// Executes operations up to the first one that cannot execute under a pin. Returns their number, and the
    /// sparse leaves to compact.
    fn write_ahead(
        &self,
        operations: &[BatchOperation<'_>],
        done: impl FnMut(usize, Result<Outcome, Error>),
    ) -> (usize, Option<Box<Shrunk>>) {
        let reader = self.reader();
        let (mut descents, mut starts) = (SmallVec::<[_; AHEAD]>::new(), LastStart::default());
        // A loop, because `extend` copies each descent.
        for BatchOperation { root, key, operation } in operations {
            let start = starts.of(*root).unwrap_or_else(|| starts.insert(*root, reader.start(*root)));
            descents.push(reader.descend_to_write(start, key, operation.stored_bytes(self)));
        }
        descend_together(&mut descents);
        let mut group = WriteGroup::new(self, reader.pin(), done);
        for (operation, descent) in operations.iter().zip(&descents) {
            // There is no target when the tree is newer than the reader.
            let Some(target) = descent.target() else { break };
            match group.write(target, operation) {
                Ok(outcome) => group.keep(outcome),
                Err(Abort::Conflict) => break,
                Err(Abort::Failed(error)) => match *error {
                    Error::Memory(MemoryError::Exhausted { .. }) => break,
                    error => group.fail(error),
                },
            }
        }
        group.commit();
        (group.reported, group.transaction.take_shrunk())
    }
}

/// Writes that commit together.
struct WriteGroup<'f, D> {
    forest: &'f Forest,
    transaction: WriteTransaction<'f>,
    /// The outcomes of the writes in the transaction.
    outcomes: SmallVec<[Outcome; AHEAD]>,
    /// Number of earlier writes whose results were passed to `done`.
    reported: usize,
    done: D,
}

impl<'f, D: FnMut(usize, Result<Outcome, Error>)> WriteGroup<'f, D> {
    fn new(forest: &'f Forest, pin: &'f Pin<'f>, done: D) -> Self {
        let transaction = WriteTransaction::with_capacity(forest, pin, AHEAD);
        Self { forest, transaction, outcomes: SmallVec::new(), reported: 0, done }
    }

    /// Executes one more write in this group, or after a commit of the group.
    fn write(&mut self, target: Target<'f>, operation: &BatchOperation<'_>) -> Result<Outcome, Abort> {
        self.forest.check(operation.key, &operation.operation)?;
        if operation.operation.returns_version() {
            // The earlier writes have no version yet.
            self.commit();
        }
        let mut written = self.transaction.write_target(target, operation);
        if matches!(written, Err(Abort::Conflict)) && !self.outcomes.is_empty() {
            self.commit();
            written = self.transaction.write_target(target, operation);
        }
        let outcome = written?;
        let BatchOperation { root, key, operation } = operation;
        self.transaction.log_write(*root, key, operation, &outcome);
        Ok(outcome)
    }

    fn keep(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
        self.transaction.require_commit();
    }

    fn fail(&mut self, error: Error) {
        self.commit();
        self.report(Err(error));
    }

    /// Makes the writes visible and reports their outcomes.
    fn commit(&mut self) {
        if self.outcomes.iter().any(Outcome::wrote) {
            self.transaction.commit();
        } else {
            self.transaction.roll_back();
        }
        for outcome in std::mem::take(&mut self.outcomes) {
            self.report(Ok(outcome));
        }
    }

    #[inline(always)]
    fn report(&mut self, result: Result<Outcome, Error>) {
        (self.done)(self.reported, result);
        self.reported += 1;
    }
}

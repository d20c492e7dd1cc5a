//! Many writes, each for itself: while some are carried out, the leaves of those after them are on their way.
//!
//! The leaves are found as reads find them, without locks. A leaf's key range never changes while its LID is
//! mapped, and the pin of the reader keeps the LID from being reclaimed: so whoever gets the lock has the
//! right leaf. Who does not, because it is locked or was replaced, writes like everybody else.
//!
//! Writes that follow each other become visible together, under one version, as long as each can stop without
//! a trace of it: those that add an entry to a log or merge one leaf. Their leaves stay locked until then.
//! None of them waits for a lock, so no two groups wait for each other.

use honeycomb_memory::{MemoryError, Pin};
use smallvec::SmallVec;

use crate::error::Error;
use crate::forest::Forest;
use crate::read::descent::{Target, descend_together};
use crate::read::reader::Reader;
use crate::write::operation::{BatchOperation, Outcome};
use crate::write::sparse::Shrunk;
use crate::write::transaction::{Abort, WriteTransaction};

/// Writes whose leaves are on their way at once.
const AHEAD: usize = 16;

impl Forest {
    /// Carries out operations one after the other, as [`Forest::write`] does, and tells `done` what came of
    /// each, in their order. It takes less time than that: what they read is asked for ahead, and those that
    /// follow each other may become visible at the same moment.
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
                self.compact_sparse_leaves(*shrunk);
            }
            next += written;
            if written < ahead.len() {
                // Without the pin, which might hold back the memory that it needs or whom it waits for.
                let BatchOperation { root, key, operation } = operations[next];
                done(next, self.write(root, key, operation));
                next += 1;
            }
        }
    }

    /// Carries out operations up to one that cannot be done under a pin: how many, and what is to be tended
    /// for them.
    fn write_ahead(
        &self,
        operations: &[BatchOperation<'_>],
        done: impl FnMut(usize, Result<Outcome, Error>),
    ) -> (usize, Option<Box<Shrunk>>) {
        let reader = self.reader();
        let targets = targets(&reader, operations);
        let mut group = WriteGroup::new(self, reader.pin(), done);
        for (operation, target) in operations.iter().zip(targets) {
            let Some(target) = target else { break };
            match group.write(target, operation) {
                Ok(outcome) => group.keep(outcome),
                Err(Abort::Conflict | Abort::Failed(Error::Memory(MemoryError::Exhausted { .. }))) => break,
                Err(Abort::Failed(error)) => group.fail(error),
            }
        }
        group.commit();
        (group.reported, group.transaction.take_shrunk())
    }
}

/// Writes that become visible together.
struct WriteGroup<'f, D> {
    forest: &'f Forest,
    transaction: WriteTransaction<'f>,
    /// What came of the writes that are in the transaction.
    outcomes: SmallVec<[Outcome; AHEAD]>,
    /// How many were told `done` before them.
    reported: usize,
    done: D,
}

impl<'f, D: FnMut(usize, Result<Outcome, Error>)> WriteGroup<'f, D> {
    fn new(forest: &'f Forest, pin: &'f Pin<'f>, done: D) -> Self {
        let transaction = WriteTransaction::with_capacity(forest, pin, AHEAD);
        Self { forest, transaction, outcomes: SmallVec::new(), reported: 0, done }
    }

    /// Carries out one more write: with those before, or else after they are visible.
    fn write(&mut self, target: Target<'_>, operation: &BatchOperation<'_>) -> Result<Outcome, Abort> {
        self.forest.check(operation.key, &operation.operation)?;
        if operation.operation.returns_version() {
            // Those before have no version yet.
            self.commit();
        }
        match self.transaction.write_target(target, operation) {
            Err(Abort::Conflict) if !self.outcomes.is_empty() => {
                self.commit();
                self.transaction.write_target(target, operation)
            }
            written => written,
        }
    }

    fn keep(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
        self.transaction.require_commit();
    }

    fn fail(&mut self, error: Error) {
        self.commit();
        self.report(Err(error));
    }

    /// Makes the writes visible, and tells what came of them.
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

    fn report(&mut self, result: Result<Outcome, Error>) {
        (self.done)(self.reported, result);
        self.reported += 1;
    }
}

/// Where the keys lead to, with what a write reads of it asked for; none if the tree is younger than the
/// reader.
fn targets<'r>(
    reader: &'r Reader<'r>,
    operations: &[BatchOperation<'_>],
) -> SmallVec<[Option<Target<'r>>; AHEAD]> {
    let descents = operations.iter().map(|one| reader.descend_to_write(one.root, one.key));
    let mut descents: SmallVec<[_; AHEAD]> = descents.collect();
    descend_together(&mut descents);
    descents.iter().map(|descent| descent.target()).collect()
}

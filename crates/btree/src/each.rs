//! Many writes, each for itself: while one is carried out, the leaves of those after it are on their way.
//!
//! The leaves are found as reads find them, without locks. A leaf's key range never changes while its LID is
//! mapped, and the pin of the reader keeps the LID from being reclaimed: so whoever gets the lock has the
//! right leaf. Who does not, because it is locked or was replaced, writes like everybody else.

use honeycomb_memory::{Lid, MemoryError, Pin};
use smallvec::SmallVec;

use crate::error::Error;
use crate::forest::Forest;
use crate::operation::{BatchOperation, Outcome};
use crate::reader::Reader;
use crate::transaction::Stop;

/// Writes whose leaves are on their way at once.
const AHEAD: usize = 16;

impl Forest {
    /// Carries out operations one after the other, as [`Forest::write`] does, and tells `done` what came of
    /// each, in their order. It takes less time than that: what they read is asked for ahead.
    pub fn write_each(
        &self,
        operations: &[BatchOperation<'_>],
        mut done: impl FnMut(usize, Result<Outcome, Error>),
    ) {
        let mut next = 0;
        while next < operations.len() {
            let ahead = &operations[next..operations.len().min(next + AHEAD)];
            let written = self.write_ahead(ahead, |index, result| done(next + index, result));
            next += written;
            if written < ahead.len() {
                // Without the pin, which might hold back the memory that it needs or whom it waits for.
                let BatchOperation { root, key, operation } = operations[next];
                done(next, self.write(root, key, operation));
                next += 1;
            }
        }
    }

    /// Carries out operations up to one that cannot be done under a pin: how many.
    fn write_ahead(
        &self,
        operations: &[BatchOperation<'_>],
        mut done: impl FnMut(usize, Result<Outcome, Error>),
    ) -> usize {
        let reader = self.reader();
        let leaves = leaves(&reader, operations);
        for (index, (operation, leaf)) in operations.iter().zip(leaves).enumerate() {
            let Some(leaf) = leaf else { return index };
            match self.write_at(reader.pin(), leaf, operation) {
                Ok(outcome) => done(index, Ok(outcome)),
                Err(Stop::Busy | Stop::Failed(Error::Memory(MemoryError::Exhausted { .. }))) => return index,
                Err(Stop::Failed(error)) => done(index, Err(error)),
            }
        }
        operations.len()
    }

    fn write_at(&self, pin: &Pin<'_>, leaf: Lid, operation: &BatchOperation<'_>) -> Result<Outcome, Stop> {
        let BatchOperation { root, key, operation } = operation;
        self.check(key, operation)?;
        self.attempt(pin, |transaction| {
            let leaf = transaction.hold_found_leaf(*root, leaf)?;
            transaction.write_in(*root, leaf, key, operation)
        })
        .map(|(outcome, _)| outcome)
    }
}

/// The LIDs of the leaves that keys are routed to, with what a write reads of them asked for; none if the
/// tree is younger than the reader.
fn leaves<'r>(reader: &'r Reader<'r>, operations: &[BatchOperation<'_>]) -> SmallVec<[Option<Lid>; AHEAD]> {
    let descents = operations.iter().map(|one| reader.descend_to_write(one.root, one.key));
    let mut descents: SmallVec<[_; AHEAD]> = descents.collect();
    let mut under_way = true;
    while under_way {
        // Each has its turn in each round.
        under_way = descents.iter_mut().fold(false, |others, descent| descent.step() | others);
    }
    descents.iter_mut().map(|descent| descent.land().map(|landing| landing.lid)).collect()
}

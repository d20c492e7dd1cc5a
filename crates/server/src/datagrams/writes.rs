//! Writes of datagrams, batched as far as the order of writes to each key allows.
//!
//! A conditional write, such as an insert, was read in a batch and becomes a swap of the value that was seen.
//! It executes alone if another write changed the pair in the meantime, or if an earlier write of the packet
//! has the same key.

use std::collections::HashSet;

use honeycomb_protocol::batch::Operation;
use honeycomb_store::{Batch, BatchOutcome, Error, TableHandle};

use crate::datagrams::outcome::Outcome;
use crate::envelope::Envelope;
use crate::memory_limit;
use crate::server_state::ServerState;

/// The writes of an iteration.
pub(super) struct Writes<'a> {
    shared: &'a ServerState,
    now: u64,
    batch: Batch,
    /// The writes in the batch.
    pending: Vec<Write<'a>>,
    /// The store accepts only writes that free memory.
    is_full: bool,
    /// Keys that were written in this iteration.
    keys: HashSet<(&'a str, &'a [u8])>,
}

/// A write.
#[derive(Clone, Copy)]
pub(super) struct Write<'a> {
    pub(super) table: &'a TableHandle,
    pub(super) operation: Operation<'a>,
    /// The identifier of the write for the caller.
    pub(super) index: usize,
}

impl<'a> Writes<'a> {
    pub(super) fn new(shared: &'a ServerState, now: u64) -> Self {
        let (is_full, keys) = (memory_limit::is_full(shared, &shared.config()), HashSet::new());
        Self { shared, now, batch: Batch::default(), pending: Vec::new(), is_full, keys }
    }

    /// Executes a write now or with the next ones. `seen` is the pair before this iteration.
    pub(super) fn add(
        &mut self,
        write: Write<'a>,
        seen: Result<Option<&[u8]>, Error>,
        done: &mut impl FnMut(usize, Outcome),
    ) {
        let again = !self.keys.insert((write.table.name(), write.operation.key()));
        if again {
            self.flush(done);
        }
        if self.is_full && !matches!(write.operation, Operation::Delete(_)) {
            return done(write.index, Outcome::OutOfMemory);
        }
        let added = match (seen, write.operation) {
            (_, Operation::Put { key, value }) => {
                self.batch.put(write.table, key, &sealed(value));
                Ok(())
            }
            _ if again => Err(self.alone(&write)),
            (Err(Error::NoRoom), _) => Err(self.alone(&write)),
            (Err(error), _) => Err(error.into()),
            (Ok(seen), _) => add(&mut self.batch, &write, seen, self.now),
        };
        match added {
            Ok(()) => self.pending.push(write),
            Err(outcome) => done(write.index, outcome),
        }
    }

    /// Executes all added writes.
    pub(super) fn flush(&mut self, done: &mut impl FnMut(usize, Outcome)) {
        if self.pending.is_empty() {
            return;
        }
        let mut overtaken = Vec::new();
        let pending = &self.pending;
        let applied = self.shared.store.apply_each(&self.batch, |place, outcome| match outcome {
            Ok(outcome) if outcome.wrote() => done(pending[place].index, Outcome::Done),
            // A write that executes alone can free memory first.
            Ok(_) | Err(Error::OutOfMemory { .. }) => overtaken.push(pending[place]),
            Err(error) => done(pending[place].index, error.into()),
        });
        debug_assert!(applied.is_ok(), "all tables belong to this store");
        self.batch.clear();
        self.pending.clear();
        for write in overtaken {
            done(write.index, self.alone(&write));
        }
    }

    /// Executes a write alone, and retries it on conflicts.
    fn alone(&self, write: &Write<'_>) -> Outcome {
        loop {
            match self.attempt(write) {
                Ok(true) => return Outcome::Done,
                Ok(false) => {}
                Err(outcome) => return outcome,
            }
        }
    }

    fn attempt(&self, write: &Write<'_>) -> Result<bool, Outcome> {
        let seen = write.table.get(write.operation.key())?;
        let mut batch = Batch::default();
        add(&mut batch, write, seen.as_deref(), self.now)?;
        let apply = || self.shared.store.apply(&batch);
        let applied = match apply() {
            Err(Error::OutOfMemory { .. }) => {
                memory_limit::retry(self.shared, || Ok(apply()?)).map_err(|_| Outcome::OutOfMemory)?
            }
            applied => applied?,
        };
        Ok(matches!(applied, BatchOutcome::Applied { .. }))
    }
}

/// Adds the effect of a write on the pair that was seen. Returns the outcome if the write is rejected.
fn add(batch: &mut Batch, write: &Write<'_>, seen: Option<&[u8]>, now: u64) -> Result<(), Outcome> {
    let envelope = seen.map(|pair| Envelope::open(pair).ok_or(Outcome::Failed)).transpose()?;
    let alive = envelope.filter(|envelope| envelope.is_alive(now));
    let (table, key) = (write.table, write.operation.key());
    let value = match (write.operation, alive) {
        (Operation::Insert { .. }, Some(_)) => return Err(Outcome::Exists),
        (Operation::Insert { value, .. }, None) => Some(value),
        (_, None) => return Err(Outcome::Absent),
        (Operation::CompareAndSwap { expected, .. }, Some(found)) if found.data != expected => {
            return Err(Outcome::Differs);
        }
        (Operation::CompareAndSwap { value, .. } | Operation::Update { value, .. }, _) => Some(value),
        (Operation::Delete(_), _) => None,
        (Operation::Put { .. } | Operation::Get(_) | Operation::Range { .. }, _) => {
            return Err(Outcome::NotAllowed);
        }
    };
    match (seen, value) {
        (None, value) => batch.insert(table, key, &sealed(value.unwrap_or_default())),
        (Some(seen), Some(value)) => batch.compare_and_swap(table, key, seen, &sealed(value)),
        (Some(seen), None) => batch.compare_and_delete(table, key, seen),
    };
    Ok(())
}

fn sealed(value: &[u8]) -> Vec<u8> {
    Envelope { data: value, expires_at: None }.seal()
}

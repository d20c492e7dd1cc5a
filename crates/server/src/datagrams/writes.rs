//! Writes of datagrams, batched as far as the order of writes to each key allows.
//!
//! A conditional write, such as an insert or an update with a function, was read in a batch and becomes a
//! swap of the value that was seen. It executes alone if another write changed the pair in the meantime, or
//! if an earlier write of the packet has the same key.

use std::collections::HashSet;

use honeycomb_protocol::batch::{FunctionForm, Operation};
use honeycomb_store::unordered::Functions;
use honeycomb_store::{Batch, BatchOutcome, Error, TableHandle};

use crate::datagrams::beginning;
use crate::datagrams::functions::{self, VALUE_BYTES_MAX};
use crate::datagrams::outcome::{Outcome, Scalar};
use crate::envelope::Envelope;
use crate::memory_limit;
use crate::server_state::ServerState;

/// The writes of an iteration.
pub(super) struct Writes<'a> {
    shared: &'a ServerState,
    now: u64,
    batch: Batch,
    /// The writes in the batch, each with its outcome if it succeeds.
    pending: Vec<(Write<'a>, Outcome)>,
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
                Ok(Outcome::Done)
            }
            _ if again => Err(self.alone(&write)),
            (Err(Error::NoRoom), _) => Err(self.alone(&write)),
            (Err(error), _) => Err(error.into()),
            (Ok(seen), _) => self.add_seen(&write, seen),
        };
        match added {
            Ok(success) => self.pending.push((write, success)),
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
            Ok(outcome) if outcome.wrote() => done(pending[place].0.index, pending[place].1),
            // A write that executes alone can free memory first.
            Ok(_) | Err(Error::OutOfMemory { .. }) => overtaken.push(pending[place].0),
            Err(error) => done(pending[place].0.index, error.into()),
        });
        debug_assert!(applied.is_ok(), "all tables belong to this store");
        self.batch.clear();
        self.pending.clear();
        for write in overtaken {
            done(write.index, self.alone(&write));
        }
    }

    /// Adds a write to the batch, with its effect on the pair that was seen. Returns its outcome if it
    /// succeeds.
    fn add_seen(&mut self, write: &Write<'_>, seen: Option<&[u8]>) -> Result<Outcome, Outcome> {
        add(&mut self.batch, write, seen, (self.now, self.shared.databases.functions()))
    }

    /// Executes a write alone, and retries it on conflicts.
    fn alone(&self, write: &Write<'_>) -> Outcome {
        loop {
            match self.attempt(write) {
                Ok(Some(success)) => return success,
                Ok(None) => {}
                Err(outcome) => return outcome,
            }
        }
    }

    /// Reads the pair of a write. It reads a long pair completely only if the write replaces or deletes it.
    /// The others fail because the pair exists, differs from the expected value, which fits into a datagram,
    /// or is too long for a function.
    fn seen(&self, write: &Write<'_>) -> Result<Option<Vec<u8>>, Error> {
        let (table, operation) = (write.table, &write.operation);
        let Some(pair) = beginning::read(table, operation.key(), VALUE_BYTES_MAX)? else { return Ok(None) };
        let fails = matches!(
            operation,
            Operation::Insert { .. } | Operation::CompareAndSwap { .. } | Operation::Function { .. }
        );
        let is_alive = Envelope::open(&pair).is_some_and(|envelope| envelope.is_alive(self.now));
        if beginning::may_continue(&pair, VALUE_BYTES_MAX) && !(fails && is_alive) {
            return table.get(operation.key());
        }
        Ok(Some(pair))
    }

    /// Returns the outcome of a write, or `None` if another write has changed the pair meanwhile.
    fn attempt(&self, write: &Write<'_>) -> Result<Option<Outcome>, Outcome> {
        let seen = self.seen(write)?;
        let mut batch = Batch::default();
        let functions = self.shared.databases.functions();
        let success = add(&mut batch, write, seen.as_deref(), (self.now, functions))?;
        let apply = || self.shared.store.apply(&batch);
        let applied = match apply() {
            Err(Error::OutOfMemory { .. }) => {
                memory_limit::retry(self.shared, || Ok(apply()?)).map_err(|_| Outcome::OutOfMemory)?
            }
            applied => applied?,
        };
        Ok(matches!(applied, BatchOutcome::Applied { .. }).then_some(success))
    }
}

/// Adds the effect of a write on the pair that was seen. Returns the outcome if the batch succeeds, or why
/// the write is rejected.
fn add(
    batch: &mut Batch,
    write: &Write<'_>,
    seen: Option<&[u8]>,
    (now, known): (u64, &Functions),
) -> Result<Outcome, Outcome> {
    let envelope = seen.map(|pair| Envelope::open(pair).ok_or(Outcome::Failed)).transpose()?;
    let alive = envelope.filter(|envelope| envelope.is_alive(now));
    let (table, key, mut success) = (write.table, write.operation.key(), Outcome::Done);
    let value = match (write.operation, alive) {
        (Operation::Insert { .. }, Some(_)) => return Err(Outcome::Exists),
        (Operation::Insert { value, .. }, None) => Some(sealed(value)),
        // One for which the batch had no room.
        (Operation::Put { value, .. }, _) => Some(sealed(value)),
        (_, None) => return Err(Outcome::Absent),
        (Operation::CompareAndSwap { expected, .. }, Some(found)) if found.data != expected => {
            return Err(Outcome::Differs);
        }
        (Operation::CompareAndSwap { value, .. } | Operation::Update { value, .. }, _) => Some(sealed(value)),
        (Operation::Delete(_), _) => None,
        (Operation::Function { form, .. }, Some(Envelope { data, expires_at })) => {
            let results = functions::apply(&write.operation, data, known).ok_or(Outcome::NotAllowed)??;
            if form == FunctionForm::UpdateScalar {
                success = Scalar::new(&results.answer).map_or(Outcome::Done, Outcome::Original);
            }
            // As with `KV.UPDATE`, the pair keeps its deadline.
            Some(Envelope { data: &results.updated, expires_at }.seal())
        }
        (Operation::Get(_) | Operation::Range { .. } | Operation::RangeFunction { .. }, _) => {
            return Err(Outcome::NotAllowed);
        }
    };
    match (seen, value) {
        (None, value) => batch.insert(table, key, &value.unwrap_or_default()),
        (Some(seen), Some(value)) => batch.compare_and_swap(table, key, seen, &value),
        (Some(seen), None) => batch.compare_and_delete(table, key, seen),
    };
    Ok(success)
}

fn sealed(value: &[u8]) -> Vec<u8> {
    Envelope { data: value, expires_at: None }.seal()
}

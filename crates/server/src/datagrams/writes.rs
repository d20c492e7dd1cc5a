//! Writes of datagrams, as many together as the order of each key allows.
//!
//! A write that depends on the pair (an insert, say) was read ahead, and becomes a swap of what was seen. If
//! another was faster it is carried out alone; so it is if a write of the same key stands before it.

use std::collections::HashSet;

use honeycomb_protocol::batch::Operation;
use honeycomb_store::{Batch, BatchOutcome, Error, Table};

use crate::datagrams::outcome::Outcome;
use crate::envelope::Envelope;
use crate::room;
use crate::server_state::ServerState;

/// The writes of a turn.
pub(super) struct Writes<'a> {
    shared: &'a ServerState,
    now: u64,
    batch: Batch,
    /// Of each write in the batch, what it is.
    pending: Vec<Write<'a>>,
    /// The store takes no writes but those that free memory.
    is_full: bool,
    /// What was written to in this turn.
    keys: HashSet<(&'a str, &'a [u8])>,
}

/// A write.
#[derive(Clone, Copy)]
pub(super) struct Write<'a> {
    pub(super) table: &'a Table,
    pub(super) operation: Operation<'a>,
    /// Whoever wants to know what came of it.
    pub(super) index: usize,
}

impl<'a> Writes<'a> {
    pub(super) fn new(shared: &'a ServerState, now: u64) -> Self {
        let (is_full, keys) = (room::is_full(shared, &shared.config()), HashSet::new());
        Self { shared, now, batch: Batch::default(), pending: Vec::new(), is_full, keys }
    }

    /// Carries out a write now or with the next ones. `seen` is the pair as it was before this turn.
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

    /// Carries out all that were added.
    pub(super) fn flush(&mut self, done: &mut impl FnMut(usize, Outcome)) {
        if self.pending.is_empty() {
            return;
        }
        let mut overtaken = Vec::new();
        let pending = &self.pending;
        let applied = self.shared.store.apply_each(&self.batch, |place, outcome| match outcome {
            Ok(outcome) if outcome.wrote() => done(pending[place].index, Outcome::Done),
            // Alone it can have memory freed.
            Ok(_) | Err(Error::OutOfMemory { .. }) => overtaken.push(pending[place]),
            Err(error) => done(pending[place].index, error.into()),
        });
        debug_assert!(applied.is_ok(), "all tables are of this store");
        self.batch.clear();
        self.pending.clear();
        for write in overtaken {
            done(write.index, self.alone(&write));
        }
    }

    /// Carries out a write by itself, as often as others are in the way.
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
                room::retry(self.shared, || Ok(apply()?)).map_err(|_| Outcome::OutOfMemory)?
            }
            applied => applied?,
        };
        Ok(matches!(applied, BatchOutcome::Applied { .. }))
    }
}

/// Adds what a write comes to if the pair is what was seen, or says why it is refused.
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

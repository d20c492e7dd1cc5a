//! Consecutive operations on one unordered table, which execute as one batch of the table.
//!
//! Reads of ordered tables between them do not end a batch. The batches execute in the order of their
//! operations, so the answers for each key are those of the order of arrival.

use honeycomb_hashtable::{Answers, Error, Outcome, Request};

use crate::completion::Completions;
use crate::status::Status;
use crate::unordered_tables::UnorderedTables;

pub(super) struct UnorderedBatch<'t, 'q> {
    tables: &'t UnorderedTables,
    /// The number of the table of all operations.
    table: u16,
    identifiers: Vec<u64>,
    requests: Vec<Request<'q>>,
}

/// Maximum number of operations of a batch: as many as the reservation station of a table has. The results of
/// one batch can exceed the room for completions.
const OPERATIONS_MAX: usize = 1024;

impl<'t, 'q> UnorderedBatch<'t, 'q> {
    pub(super) fn new(tables: &'t UnorderedTables) -> Self {
        Self { tables, table: 0, identifiers: Vec::new(), requests: Vec::new() }
    }

    /// Adds an operation. Executes the earlier ones if they are for another table or fill a batch.
    pub(super) fn add(
        &mut self,
        identifier: u64,
        table: u16,
        request: Request<'q>,
        completions: &mut Completions,
    ) {
        if self.table != table || self.requests.len() == OPERATIONS_MAX {
            self.execute(completions);
        }
        self.table = table;
        self.identifiers.push(identifier);
        self.requests.push(request);
    }

    /// Executes and completes all operations.
    #[inline]
    pub(super) fn execute(&mut self, completions: &mut Completions) {
        if !self.requests.is_empty() {
            self.complete_all(completions);
            self.identifiers.clear();
            self.requests.clear();
        }
    }

    #[inline(never)]
    fn complete_all(&self, completions: &mut Completions) {
        let Some(table) = self.tables.get(self.table) else {
            return self.reject_all(Status::UnknownTable, completions);
        };
        if completions.are_full() {
            return self.reject_all(Status::NoRoom, completions);
        }
        let mut answers = Answers::default();
        table.execute(&self.requests, &mut answers);
        for (index, identifier) in self.identifiers.iter().enumerate() {
            self.complete(index, *identifier, &answers, completions);
        }
    }

    fn reject_all(&self, status: Status, completions: &mut Completions) {
        self.identifiers.iter().for_each(|identifier| completions.push_rejection(*identifier, status));
    }

    fn complete(&self, index: usize, identifier: u64, answers: &Answers, completions: &mut Completions) {
        let outcome = match answers.outcome(index) {
            Ok(outcome) => outcome,
            Err(Error::Memory(_)) => return completions.push_rejection(identifier, Status::OutOfMemory),
            // The decoder has checked key and values.
            Err(_) => return completions.push_rejection(identifier, Status::InvalidFunction),
        };
        let (status, value) = match outcome {
            Outcome::Found(span) => (Status::Found, answers.value(span)),
            Outcome::Mismatch(span) => (Status::Mismatch, answers.value(span)),
            Outcome::Original(span) => (Status::Original, answers.value(span)),
            Outcome::Absent => (Status::Absent, &[][..]),
            Outcome::Inserted => (Status::Inserted, &[][..]),
            Outcome::Updated => (Status::Updated, &[][..]),
            Outcome::Deleted => (Status::Deleted, &[][..]),
            Outcome::Exists => (Status::Exists, &[][..]),
            Outcome::NotElements { .. } => (Status::NotElements, &[][..]),
        };
        if self.requests[index].operation.writes() {
            // The requester must learn of its effect, even if the completion exceeds the room.
            completions.push_outcome(identifier, status, value);
        } else {
            completions.push_outcome_within_room(identifier, status, value);
        }
    }
}

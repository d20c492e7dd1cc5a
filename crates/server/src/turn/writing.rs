//! The writes of a round, of all connections: gathered, carried out together, replied.

use std::collections::HashSet;

use honeycomb_protocol::resp::Found;
use honeycomb_store::{Batch, Table};
use slab::Slab;

use crate::arguments::Arguments;
use crate::command::{Named, Run};
use crate::connection::{Asked, Connection};
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::recency;
use crate::room;
use crate::stopwatch::{Carried, Stopwatch};
use crate::turn::{Round, TOGETHER, TOGETHER_BYTES, VALUE_BYTES_MAX, clear};

#[derive(Default)]
pub(super) struct Writing {
    batch: Batch,
    commands: Vec<Command>,
    /// Room for a value in its envelope.
    sealed: Vec<u8>,
}

/// A command whose write is in the batch.
struct Command {
    connection: usize,
    found: Found,
    number: usize,
    failure: Option<Failure>,
}

impl Writing {
    /// Adds the writes at the front of a connection.
    pub(super) fn gather(&mut self, round: &Round<'_>, index: usize, connection: &mut Connection) {
        if !connection.may_join() {
            return;
        }
        let table = round.shared.table(connection.session.database);
        for _ in 0..TOGETHER {
            if self.batch.bytes() >= TOGETHER_BYTES {
                return;
            }
            let Ok(Some(asked)) = connection.take(&round.config.request) else { return };
            let arguments = connection.requests.arguments(&asked.found);
            let Some(named) = self.write_ahead(asked.command, &arguments, table) else {
                return connection.put_back(Asked { is_no_write: true, ..asked });
            };
            let (found, number) = (asked.found, named.number);
            self.commands.push(Command { connection: index, found, number, failure: None });
        }
    }

    /// Adds what a command writes. None if it is no plain write: then the command is carried out alone, and
    /// has its error from there.
    #[inline]
    fn write_ahead(
        &mut self,
        command: Option<Named>,
        arguments: &Arguments<'_>,
        table: &Table,
    ) -> Option<Named> {
        let named = command?;
        let Run::Write(_, is_plain) = named.run else { return None };
        let is_plain = is_plain(arguments) && arguments[2].len() <= VALUE_BYTES_MAX;
        is_plain.then(|| {
            recency::note(table, &arguments[1]);
            Envelope { data: &arguments[2], expires_at: None }.seal_into(&mut self.sealed);
            self.batch.put(table, &arguments[1], &self.sealed);
            named
        })
    }

    /// Carries out what was gathered, and replies: how much it was.
    pub(super) fn carry_out(
        &mut self,
        round: &Round<'_>,
        connections: &mut Slab<Connection>,
        stopwatch: &mut Stopwatch<'_>,
    ) -> usize {
        if self.commands.is_empty() {
            return 0;
        }
        if room::is_full(round.shared, round.config) {
            self.commands.iter_mut().for_each(|command| command.failure = Some(Failure::OutOfMemory));
        } else {
            self.write(round, connections);
        }
        let done = self.commands.len();
        round.counts.write_batches.add(done as u64, 1);
        let mut lap = stopwatch.lap(done);
        for Command { connection, found, number, failure } in self.commands.drain(..) {
            let connection = &mut connections[connection];
            let before = connection.unsent();
            match failure {
                None => connection.replies.simple("OK"),
                Some(failure) => {
                    round.counts.commands[number].errors.add(1);
                    failure.reply_after(before, &mut connection.replies);
                }
            }
            let (requests, found) = (&connection.requests, &found);
            lap.carried(number, Carried { connection, requests, found, before });
        }
        lap.end();
        clear(&mut self.batch);
        if self.sealed.capacity() > TOGETHER_BYTES {
            self.sealed = Vec::new();
        }
        done
    }

    /// Carries out the batch.
    fn write(&mut self, round: &Round<'_>, connections: &Slab<Connection>) {
        let (commands, mut all_written) = (&mut self.commands, true);
        let refused = round.shared.store.apply_each(&self.batch, |index, outcome| {
            commands[index].failure = outcome.err().map(Failure::from);
            all_written &= commands[index].failure.is_none();
        });
        debug_assert!(refused.is_ok(), "all tables are of this store");
        if !all_written {
            self.write_again(round, connections);
        }
    }

    /// Carries out in their order the writes that found no memory. One whose key was written later in the
    /// batch came before that, and is over: it must not come after it.
    #[cold]
    fn write_again(&mut self, round: &Round<'_>, connections: &Slab<Connection>) {
        let Self { commands, sealed, .. } = self;
        let place = |command: &Command| {
            let connection = &connections[command.connection];
            (connection.session.database, connection.requests.arguments(&command.found))
        };
        let (mut written, mut again) = (HashSet::new(), Vec::new());
        for (index, command) in commands.iter_mut().enumerate().rev() {
            let (database, arguments) = place(command);
            match command.failure {
                None => drop(written.insert((database, arguments[1].to_vec()))),
                Some(Failure::OutOfMemory) if written.contains(&(database, arguments[1].to_vec())) => {
                    command.failure = None;
                }
                Some(Failure::OutOfMemory) => again.push(index),
                Some(_) => {}
            }
        }
        for index in again.into_iter().rev() {
            let (database, arguments) = place(&commands[index]);
            let table = round.shared.table(database);
            Envelope { data: &arguments[2], expires_at: None }.seal_into(sealed);
            let written = room::again(round.shared, || Ok(table.put(&arguments[1], sealed)?));
            commands[index].failure = written.err();
        }
    }
}

//! The batch of writes of a round, of all connections.

use std::collections::HashSet;

use honeycomb_protocol::resp::{ParsedRequest, Replies};
use honeycomb_store::{Batch, TableHandle};
use slab::Slab;

use crate::arguments::Arguments;
use crate::batch::round::{COMMANDS_MAX, Round, VALUE_BYTES_MAX, WRITTEN_BYTES, clear};
use crate::budget::Budget;
use crate::command::{CommandForm, CommandRef, OnKeys, Put};
use crate::commands::transactions::run_alone;
use crate::connection::{Connection, PendingRequest};
use crate::context::Context;
use crate::deadlines::Stamp;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::notifications::events::EventNames;
use crate::stopwatch::{ExecutedCommand, Stopwatch};
use crate::{memory_limit, recency};

#[derive(Default)]
pub(super) struct WriteBatch {
    /// One write per command.
    batch: Batch,
    /// Entries in the index of deadlines for the pairs with a deadline. They are written before the pairs.
    entries: Batch,
    /// The stamp of the first entry.
    first_stamp: Option<Stamp>,
    commands: Vec<Command>,
}

/// A command whose write is in the batch.
struct Command {
    connection: usize,
    found: ParsedRequest,
    named: CommandRef,
    handler: OnKeys,
    entry: Option<Entry>,
    failure: Option<Failure>,
    /// It has executed alone, and has reported its events.
    was_alone: bool,
}

/// The deadline of a pair, and the stamp of its entry.
type Entry = (u64, Stamp);

impl WriteBatch {
    /// Adds the writes at the front of a connection.
    pub(super) fn gather(&mut self, round: &Round<'_>, index: usize, connection: &mut Connection) {
        if !connection.can_batch() {
            return;
        }
        let table = round.shared.table(connection.session.database);
        for _ in 0..COMMANDS_MAX {
            if self.batch.bytes() + self.entries.bytes() >= WRITTEN_BYTES {
                return;
            }
            let Ok(Some(request)) = connection.next_request(&round.config.request) else { return };
            let arguments = connection.requests.arguments(&request.found);
            let Some((named, handler, entry)) = self.write_ahead(round, request.command, &arguments, table)
            else {
                return connection.put_back(PendingRequest { cannot_batch_write: true, ..request });
            };
            let found = request.found;
            let (failure, was_alone) = (None, false);
            self.commands.push(Command {
                connection: index,
                found,
                named,
                handler,
                entry,
                failure,
                was_alone,
            });
        }
    }

    /// Adds the write of a command. Returns `None` for a command of another kind or an invalid one. Such a
    /// command executes alone and reports its errors then.
    #[inline]
    fn write_ahead(
        &mut self,
        round: &Round<'_>,
        command: Option<CommandRef>,
        arguments: &Arguments<'_>,
        table: &TableHandle,
    ) -> Option<(CommandRef, OnKeys, Option<Entry>)> {
        let named = command?;
        let CommandForm::Write(handler, put) = named.form else { return None };
        let Put { value, expires_at } = put(arguments, round.now)?;
        let key = &arguments[1];
        if value.len() > VALUE_BYTES_MAX || expires_at.is_some() && !table.allows_key(key) {
            return None;
        }
        recency::note(table, key);
        let (header, length) = Envelope { data: value, expires_at }.header();
        self.batch.put_parts(table, key, [&header[..length], value]);
        let entry = expires_at.map(|deadline| {
            let stamp = round.shared.deadlines.put_ahead(&mut self.entries, table, key, deadline);
            self.first_stamp.get_or_insert(stamp);
            (deadline, stamp)
        });
        Some((named, handler, entry))
    }

    /// Executes the collected writes and replies. Returns their number.
    pub(super) fn execute(
        &mut self,
        round: &Round<'_>,
        connections: &mut Slab<Connection>,
        stopwatch: &mut Stopwatch<'_>,
    ) -> usize {
        if self.commands.is_empty() {
            return 0;
        }
        if memory_limit::is_full(round.shared, round.config) {
            self.commands.iter_mut().for_each(|command| command.failure = Some(Failure::OutOfMemory));
            self.first_stamp = None;
        } else {
            self.write(round, connections);
            if round.shared.notifies() {
                self.notify(round, connections);
            }
        }
        let done = self.commands.len();
        round.counts.write_batches.add(done as u64, 1);
        let mut lap = stopwatch.lap(done);
        for Command { connection, found, named, failure, .. } in &self.commands {
            let connection = &mut connections[*connection];
            let before = connection.unsent();
            match failure {
                None => connection.replies.ok(),
                Some(failure) => {
                    round.counts.commands[named.number].errors.add(1);
                    failure.reply_after(before, &mut connection.replies);
                }
            }
            let requests = &connection.requests;
            lap.executed(named.number, ExecutedCommand { connection, requests, found, before });
        }
        lap.end();
        self.commands.clear();
        clear(&mut self.batch);
        clear(&mut self.entries);
        done
    }

    /// Reports the pairs that were written, in order.
    #[cold]
    fn notify(&self, round: &Round<'_>, connections: &Slab<Connection>) {
        let written = self.commands.iter().filter(|command| command.failure.is_none() && !command.was_alone);
        let events = written.flat_map(|command| {
            let Connection { requests, session, .. } = &connections[command.connection];
            let key = &requests.arguments(&command.found)[1];
            let names = EventNames::of(command.named.name.as_bytes());
            names.put(session.database, key, command.entry.is_some()).collect::<Vec<_>>()
        });
        round.shared.notify(&events.collect::<Vec<_>>());
    }

    /// Writes the entries and then the pairs.
    fn write(&mut self, round: &Round<'_>, connections: &mut Slab<Connection>) {
        let core = |command: &Command| connections[command.connection].session.client.core;
        let place = self.first_stamp.take().zip(self.commands.first().map(core));
        // The window prevents the reaper from removing the entries as stale before their pairs exist.
        let window = place.map(|(stamp, core)| round.shared.deadlines.open_window(core, stamp));
        let has_entries = self.write_entries(round);
        let all_written = has_entries && self.write_pairs(round);
        // A command that executes alone writes pair and entry atomically, and may evict any pair.
        drop(window);
        if !has_entries {
            self.remove_entries(round, connections, |_| true);
            let all = 0..self.commands.len();
            all.for_each(|index| self.write_alone(index, round, connections));
        } else if !all_written {
            self.remove_entries(round, connections, |command| command.failure.is_some());
            self.retry_writes(round, connections);
        }
    }

    /// Removes the entries of commands whose pairs were not written. Stale entries would use memory and delay
    /// the search for free memory.
    #[cold]
    fn remove_entries(
        &self,
        round: &Round<'_>,
        connections: &Slab<Connection>,
        concerned: impl Fn(&Command) -> bool,
    ) {
        for command in self.commands.iter().filter(|command| concerned(command)) {
            let Connection { requests, session, .. } = &connections[command.connection];
            let (table, arguments) =
                (round.shared.table(session.database), requests.arguments(&command.found));
            if let Some((deadline, stamp)) = command.entry {
                // On an error the entry stays stale, and the reaper removes it later.
                let _ = round.shared.deadlines.remove_entry(table, &arguments[1], deadline, stamp);
            }
        }
    }

    /// Writes the entries. Returns whether memory sufficed for all.
    fn write_entries(&self, round: &Round<'_>) -> bool {
        let mut all_written = true;
        if !self.entries.is_empty() {
            let rejected =
                round.shared.store.apply_each(&self.entries, |_, outcome| all_written &= outcome.is_ok());
            debug_assert!(rejected.is_ok(), "the index belongs to this store");
        }
        all_written
    }

    /// Writes the pairs. Returns whether memory sufficed for all.
    fn write_pairs(&mut self, round: &Round<'_>) -> bool {
        let (commands, mut all_written) = (&mut self.commands, true);
        let rejected = round.shared.store.apply_each(&self.batch, |index, outcome| {
            if let Err(error) = outcome {
                commands[index].failure = Some(error.into());
                all_written = false;
            }
        });
        debug_assert!(rejected.is_ok(), "all tables belong to this store");
        all_written
    }

    /// Executes the commands whose writes failed for lack of memory, in order. A command whose key was
    /// written again later in the batch counts as executed before that write; it must not execute after it.
    #[cold]
    fn retry_writes(&mut self, round: &Round<'_>, connections: &mut Slab<Connection>) {
        let (mut written, mut again) = (HashSet::new(), Vec::new());
        for (index, command) in self.commands.iter_mut().enumerate().rev() {
            let connection = &connections[command.connection];
            let key = connection.requests.arguments(&command.found)[1].to_vec();
            let place = (connection.session.database, key);
            match command.failure {
                None => drop(written.insert(place)),
                Some(Failure::OutOfMemory) if written.contains(&place) => command.failure = None,
                Some(Failure::OutOfMemory) => again.push(index),
                Some(_) => {}
            }
        }
        again.into_iter().rev().for_each(|index| self.write_alone(index, round, connections));
    }

    /// Executes a command alone, which can free memory for it.
    #[cold]
    fn write_alone(&mut self, index: usize, round: &Round<'_>, connections: &mut Slab<Connection>) {
        let command = &mut self.commands[index];
        let Connection { requests, session, .. } = &mut connections[command.connection];
        let (shared, now, replies) = (round.shared, round.now, &mut Replies::default());
        let context = &mut Context { shared, session, replies, transaction: None, now, budget: Budget::CORE };
        let arguments = requests.arguments(&command.found);
        command.was_alone = true;
        command.failure = run_alone(context, command.handler, &arguments, Budget::UNLIMITED).err();
    }
}

//! The batches of a round for commands that read and then write, at most one command per connection.
//!
//! One batch reads the pairs of all commands. Another one contains the swaps that make the commands atomic. A
//! command executes alone if its pair has changed between the two batches, or if it reads or writes much.

use honeycomb_protocol::resp::ParsedRequest;
use honeycomb_store::{Batch, Error, Reads, TableHandle};
use slab::Slab;

use crate::arguments::Arguments;
use crate::batch::round::{Round, VALUE_BYTES_MAX, WRITTEN_BYTES, clear};
use crate::budget::{Budget, has_many_arguments};
use crate::command::{CommandForm, CommandRef, OnKeys};
use crate::commands::categories::allocates_memory;
use crate::connection::Connection;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::memory_limit;
use crate::stopwatch::{ExecutedCommand, Stopwatch};
use crate::transaction::OptimisticTransaction;

pub(super) struct UpdateBatch {
    reads: Reads,
    commands: Vec<Command>,
    /// The swaps of some of the commands, in the same order.
    swaps: Batch,
}

impl Default for UpdateBatch {
    fn default() -> Self {
        let (commands, swaps) = (Vec::new(), Batch::default());
        Self { reads: Reads::with_limits(WRITTEN_BYTES, VALUE_BYTES_MAX), commands, swaps }
    }
}

/// A command that reads and then writes.
struct Command {
    connection: usize,
    found: ParsedRequest,
    named: CommandRef,
    handler: OnKeys,
    /// The position of its first read in the batch.
    first: usize,
    /// The offset of its reply.
    before: usize,
    state: State,
}

/// The state of a command.
enum State {
    /// It has replied, and takes effect if its swap succeeds.
    Swaps,
    /// It must execute alone, from the beginning, in the same round.
    Alone,
    /// It has completed or failed.
    Done(Result<(), Failure>),
}

impl UpdateBatch {
    /// Adds the command at the front of a connection, if it reads and then writes, and its reads.
    pub(super) fn gather(&mut self, round: &Round<'_>, index: usize, connection: &mut Connection) {
        if !connection.can_batch() {
            return;
        }
        let Ok(Some(request)) = connection.next_request(&round.config.request) else { return };
        let table = round.shared.table(connection.session.database);
        let arguments = connection.requests.arguments(&request.found);
        let first = self.reads.len();
        let Some((named, handler)) = self.read_ahead(request.command, &arguments, table) else {
            return connection.put_back(request);
        };
        let (found, before, state) = (request.found, connection.unsent(), State::Alone);
        self.commands.push(Command { connection: index, found, named, handler, first, before, state });
    }

    /// Adds the reads of a command. Returns `None` for a command of another kind, or if its keys cannot be
    /// read in a batch. Such a command executes alone and reports its errors then.
    fn read_ahead(
        &mut self,
        command: Option<CommandRef>,
        arguments: &Arguments<'_>,
        table: &TableHandle,
    ) -> Option<(CommandRef, OnKeys)> {
        let named = command.filter(|command| command.accepts(arguments.len()))?;
        if has_many_arguments(arguments) {
            return None;
        }
        let CommandForm::Update(handler) = named.form else { return None };
        named.read_keys(arguments, table, &mut self.reads)?;
        Some((named, handler))
    }

    /// Executes the collected commands and replies. Returns their number.
    pub(super) fn execute(
        &mut self,
        round: &Round<'_>,
        connections: &mut Slab<Connection>,
        stopwatch: &mut Stopwatch<'_>,
    ) -> usize {
        let done = self.commands.len();
        if done == 0 {
            // A rejected command may have added some of its keys.
            self.reads.clear();
            return 0;
        }
        if round.read(&mut self.reads).is_ok() {
            let is_full = memory_limit::is_full(round.shared, round.config);
            for command in &mut self.commands {
                if is_full && allocates_memory(&command.named) {
                    command.state = State::Done(Err(Failure::OutOfMemory));
                    continue;
                }
                let connection = &mut connections[command.connection];
                command.state = command.begin(round, connection, &self.reads, &mut self.swaps);
            }
            self.swap(round);
        }
        self.reads.clear();
        let mut lap = stopwatch.lap(done);
        for command in self.commands.drain(..) {
            let connection = &mut connections[command.connection];
            if !command.ends(round, connection) {
                continue;
            }
            let Command { found, named, before, .. } = command;
            let (requests, found) = (&connection.requests, &found);
            lap.executed(named.number, ExecutedCommand { connection, requests, found, before });
            connection.bound_replies(before, round.config.reply_bytes_max);
        }
        lap.end();
        done
    }

    /// Applies the swaps. A command whose pair has changed executes again.
    fn swap(&mut self, round: &Round<'_>) {
        let Self { commands, swaps, .. } = self;
        if swaps.is_empty() {
            return;
        }
        round.counts.write_batches.add(swaps.len() as u64, 1);
        let mut waiting: Vec<_> = commands.iter_mut().map(|command| &mut command.state).collect();
        waiting.retain(|state| matches!(state, State::Swaps));
        let rejected = round.shared.store.apply_each(swaps, |index, outcome| {
            *waiting[index] = match outcome {
                Ok(outcome) if outcome.wrote() => State::Done(Ok(())),
                // A command that executes alone can free memory first.
                Ok(_) | Err(Error::OutOfMemory { .. }) => State::Alone,
                Err(error) => State::Done(Err(error.into())),
            };
        });
        debug_assert!(rejected.is_ok(), "all tables belong to this store");
        clear(swaps);
    }
}

impl Command {
    /// Executes a command on the pairs that the batch read. Returns `Alone` if the batch had no space for its
    /// reads or its swap.
    fn begin(
        &self,
        round: &Round<'_>,
        connection: &mut Connection,
        reads: &Reads,
        swaps: &mut Batch,
    ) -> State {
        let Connection { requests, session, replies, .. } = connection;
        let (table, arguments) = (round.shared.table(session.database), requests.arguments(&self.found));
        let mut transaction = OptimisticTransaction::default();
        transaction.begin_command(Budget::CORE);
        transaction.begin_events(round.shared, &arguments[0]);
        for (at, key) in self.named.keys(&arguments).iter().flat_map(Arguments::iter).enumerate() {
            match reads.value(self.first + at) {
                Ok(value) => transaction.saw(table, key, value),
                Err(_) => return State::Alone,
            }
        }
        if swaps.bytes() >= WRITTEN_BYTES {
            return State::Alone;
        }
        let mut keyspace =
            Keyspace::in_transaction(&round.shared.databases, session, round.now, &mut transaction);
        match (self.handler)(&mut keyspace, &arguments, replies) {
            Ok(()) => {}
            Err(Failure::Long) => return State::Alone,
            Err(failure) => return State::Done(Err(failure)),
        }
        if transaction.swap_into(swaps) {
            return State::Swaps;
        }
        match transaction.commit(round.shared) {
            Ok(true) => State::Done(Ok(())),
            Ok(false) => State::Alone,
            Err(failure) => State::Done(Err(failure)),
        }
    }

    /// Replies the error of a command. Returns false if the command must execute alone.
    fn ends(&self, round: &Round<'_>, connection: &mut Connection) -> bool {
        let State::Done(done) = &self.state else {
            connection.replies.truncate(self.before);
            connection.rewind_to_alone(&self.found);
            return false;
        };
        if let Err(failure) = done {
            round.counts.commands[self.named.number].errors.add(1);
            failure.reply_after(self.before, &mut connection.replies);
        }
        true
    }
}

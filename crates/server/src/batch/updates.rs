//! Commands of a round that read and then write, at most one of each connection: what they read is one batch,
//! and the swaps that make them atomic are another. Those whose pair is another by then, and those of several
//! pairs, are carried out one by one.

use honeycomb_protocol::resp::Found;
use honeycomb_store::{Batch, Error, Reads, Table};
use slab::Slab;

use crate::arguments::Arguments;
use crate::batch::round::{Round, VALUE_BYTES_MAX, WRITTEN_BYTES, clear};
use crate::command::{CommandForm, CommandRef, OnKeys};
use crate::commands::categories::takes_memory;
use crate::commands::transactions::run_alone;
use crate::connection::Connection;
use crate::context::Context;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::room;
use crate::stopwatch::{ExecutedCommand, Stopwatch};
use crate::transaction::OptimisticTransaction;

pub(super) struct UpdateBatch {
    reads: Reads,
    commands: Vec<Command>,
    /// The swaps of some of the commands, in their order.
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
    found: Found,
    named: CommandRef,
    handler: OnKeys,
    /// Its first read.
    first: usize,
    /// Where its reply begins.
    before: usize,
    state: State,
}

/// How far a command is.
enum State {
    /// It has replied, and takes effect if its swap does.
    Swaps,
    /// It is to be carried out by itself, as if nothing had been.
    Alone,
    /// It is done, or has failed.
    Done(Result<(), Failure>),
}

impl UpdateBatch {
    /// Adds the command at the front of a connection, if it reads and then writes, and its reads.
    pub(super) fn gather(&mut self, round: &Round<'_>, index: usize, connection: &mut Connection) {
        if !connection.may_join() {
            return;
        }
        let Ok(Some(asked)) = connection.take(&round.config.request) else { return };
        let table = round.shared.table(connection.session.database);
        let arguments = connection.requests.arguments(&asked.found);
        let first = self.reads.len();
        let Some((named, handler)) = self.read_ahead(asked.command, &arguments, table) else {
            return connection.put_back(asked);
        };
        let (found, before, state) = (asked.found, connection.unsent(), State::Alone);
        self.commands.push(Command { connection: index, found, named, handler, first, before, state });
    }

    /// Adds what a command reads. None if it is of another kind, or cannot be read ahead: then the command is
    /// carried out alone, and has its error from there.
    fn read_ahead(
        &mut self,
        command: Option<CommandRef>,
        arguments: &Arguments<'_>,
        table: &Table,
    ) -> Option<(CommandRef, OnKeys)> {
        let named = command.filter(|command| command.takes(arguments.len()))?;
        let CommandForm::Update(handler) = named.form else { return None };
        named.read_keys(arguments, table, &mut self.reads)?;
        Some((named, handler))
    }

    /// Carries out what was gathered, and replies: how much it was.
    pub(super) fn execute(
        &mut self,
        round: &Round<'_>,
        connections: &mut Slab<Connection>,
        stopwatch: &mut Stopwatch<'_>,
    ) -> usize {
        let done = self.commands.len();
        if done == 0 {
            // Of a command that could not be read ahead some keys may have been.
            self.reads.clear();
            return 0;
        }
        if round.read(&mut self.reads).is_ok() {
            let is_full = room::is_full(round.shared, round.config);
            for command in &mut self.commands {
                if is_full && takes_memory(&command.named) {
                    command.state = State::Done(Err(Failure::OutOfMemory));
                    continue;
                }
                let connection = &mut connections[command.connection];
                command.state = command.begin(round, connection, &self.reads, &mut self.swaps);
            }
            self.swap(round);
        }
        self.reads.clear();
        for command in &mut self.commands {
            command.end(round, &mut connections[command.connection]);
        }
        let mut lap = stopwatch.lap(done);
        for Command { connection, found, named, before, .. } in self.commands.drain(..) {
            let connection = &mut connections[connection];
            let (requests, found) = (&connection.requests, &found);
            lap.executed(named.number, ExecutedCommand { connection, requests, found, before });
            connection.bound_replies(before, round.config.reply_bytes_max);
        }
        lap.end();
        done
    }

    /// Applies the swaps: a command whose pair is another by now is carried out anew.
    fn swap(&mut self, round: &Round<'_>) {
        let Self { commands, swaps, .. } = self;
        if swaps.is_empty() {
            return;
        }
        round.counts.write_batches.add(swaps.len() as u64, 1);
        let mut waiting: Vec<_> = commands.iter_mut().map(|command| &mut command.state).collect();
        waiting.retain(|state| matches!(state, State::Swaps));
        let refused = round.shared.store.apply_each(swaps, |index, outcome| {
            *waiting[index] = match outcome {
                Ok(outcome) if outcome.wrote() => State::Done(Ok(())),
                // Alone it can have memory freed.
                Ok(_) | Err(Error::OutOfMemory { .. }) => State::Alone,
                Err(error) => State::Done(Err(error.into())),
            };
        });
        debug_assert!(refused.is_ok(), "all tables are of this store");
        clear(swaps);
    }
}

impl Command {
    /// Replies, and adds its swap or takes effect; unless there is no room for what it reads and writes.
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
        for (at, key) in self.named.keys(&arguments).iter().flat_map(Arguments::iter).enumerate() {
            match reads.value(self.first + at) {
                Ok(value) => transaction.saw(table, key, value),
                Err(_) => return State::Alone,
            }
        }
        if swaps.bytes() >= WRITTEN_BYTES {
            return State::Alone;
        }
        let mut keyspace = Keyspace::within(&round.shared.databases, session, round.now, &mut transaction);
        if let Err(failure) = (self.handler)(&mut keyspace, &arguments, replies) {
            return State::Done(Err(failure));
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

    /// Carries it out by itself if it is to be, and replies its failure if there is one.
    fn end(&mut self, round: &Round<'_>, connection: &mut Connection) {
        let Connection { requests, session, replies, .. } = connection;
        if !matches!(self.state, State::Done(_)) {
            replies.truncate(self.before);
            let (shared, now) = (round.shared, round.now);
            let context = &mut Context { shared, session, replies, transaction: None, now };
            self.state = State::Done(run_alone(context, self.handler, &requests.arguments(&self.found)));
        }
        if let State::Done(Err(failure)) = &self.state {
            round.counts.commands[self.named.number].errors.add(1);
            failure.reply_after(self.before, replies);
        }
    }
}

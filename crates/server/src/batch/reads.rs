//! The reads of a round, of all connections and datagrams: gathered, carried out together, replied.

use honeycomb_protocol::resp::Found;
use honeycomb_store::{Error, Reads, Table};
use slab::Slab;

use crate::arguments::Arguments;
use crate::batch::round::{COMMANDS_MAX, FOUND_BYTES, Round, VALUE_BYTES_MAX};
use crate::command::{CommandForm, CommandRef, OnKeys};
use crate::commands::query::Page;
use crate::connection::{Connection, PendingRequest};
use crate::datagrams::Datagrams;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::stopwatch::{ExecutedCommand, Stopwatch};
use crate::tally;

pub(super) struct ReadBatch {
    reads: Reads,
    commands: Vec<Command>,
    /// Bytes of replies since the turn began.
    replied: usize,
    budget: Budget,
}

/// Pairs that a batch should have room for, shared between connections. A command for which there is no room
/// is read in vain, and those after it are parsed in vain.
#[derive(Default)]
struct Budget {
    /// Bytes that each pair takes that commands ask for, on average.
    average: usize,
    /// Pairs that the commands of the batch ask for.
    asked: usize,
    /// Connections that are still to be asked for commands in this round.
    connections: usize,
}

/// Bytes that a batch finds. It asks for about [`FOUND_BYTES`]; the rest is for commands that find more
/// than those before them, and for one command of each of many connections.
const FOUND_BYTES_MAX: usize = 4 * FOUND_BYTES;
/// Pairs that each connection may ask for even if there may be no room: fewer are not worth a batch.
const COMMANDS_MIN: usize = 8;

impl Budget {
    /// Pairs that the next connection may ask for.
    fn share(&mut self) -> usize {
        let total = FOUND_BYTES / self.average.max(1);
        let share = total.saturating_sub(self.asked) / self.connections.max(1);
        self.connections = self.connections.saturating_sub(1);
        share.clamp(COMMANDS_MIN, COMMANDS_MAX)
    }

    /// Takes note of how many bytes a batch has found: the last one counts for half.
    fn end(&mut self, bytes: usize) {
        if let Some(each) = bytes.checked_div(std::mem::take(&mut self.asked)) {
            self.average = self.average.midpoint(each);
        }
    }
}

impl Default for ReadBatch {
    fn default() -> Self {
        let reads = Reads::with_limits(FOUND_BYTES_MAX, VALUE_BYTES_MAX);
        Self { reads, commands: Vec::new(), replied: 0, budget: Budget::default() }
    }
}

/// A command that reads.
struct Command {
    connection: usize,
    found: Found,
    number: usize,
    what: What,
    /// Its first read.
    first: usize,
}

/// What it replies of what was read.
enum What {
    Keys(OnKeys),
    Range(Page),
}

/// Whether a command has replied, or is to be executed alone: the batch had no room for what it reads.
enum Outcome {
    Replied(Result<(), Failure>),
    Alone,
}

impl ReadBatch {
    /// Begins a turn.
    pub(super) fn begin(&mut self) {
        self.replied = 0;
    }

    /// Begins a round, in which so many connections are asked for commands.
    pub(super) fn begin_round(&mut self, connections: usize) {
        self.budget.connections = connections;
    }

    /// Bytes of replies since the turn began.
    pub(super) fn replied(&self) -> usize {
        self.replied
    }

    /// Adds the reads at the front of a connection.
    pub(super) fn gather(&mut self, round: &Round<'_>, index: usize, connection: &mut Connection) {
        let mut room = self.budget.share();
        if !connection.may_join() {
            return;
        }
        let table = round.shared.table(connection.session.database);
        while room > 0 {
            let Ok(Some(asked)) = connection.take(&round.config.request) else { return };
            let (first, arguments) = (self.reads.len(), connection.requests.arguments(&asked.found));
            let Some((named, what, pairs)) = self.read_ahead(asked.command, &arguments, table) else {
                return connection.put_back(PendingRequest { is_no_read: true, ..asked });
            };
            let (found, number) = (asked.found, named.number);
            self.commands.push(Command { connection: index, found, number, what, first });
            room = room.saturating_sub(pairs.max(1));
            self.budget.asked += pairs.max(1);
        }
    }

    /// Adds what a command reads: how many pairs at most. None if it cannot be read ahead: then the command
    /// is carried out alone, and has its error from there.
    #[inline]
    fn read_ahead(
        &mut self,
        command: Option<CommandRef>,
        arguments: &Arguments<'_>,
        table: &Table,
    ) -> Option<(CommandRef, What, usize)> {
        let named = command.filter(|command| command.takes(arguments.len()))?;
        match named.form {
            CommandForm::Read(handler) | CommandForm::Values(handler) => {
                let keys = named.read_keys(arguments, table, &mut self.reads)?;
                Some((named, What::Keys(handler), keys))
            }
            CommandForm::Range(parse) => {
                let (page, pairs) = parse(arguments).ok()?.read_ahead(table, &mut self.reads)?;
                Some((named, What::Range(page), pairs))
            }
            _ => None,
        }
    }

    /// Carries out what was gathered and what datagrams ask for, and replies: how much it was.
    pub(super) fn execute(
        &mut self,
        round: &Round<'_>,
        connections: &mut Slab<Connection>,
        datagrams: &mut Datagrams,
        stopwatch: &mut Stopwatch<'_>,
    ) -> usize {
        let (questions, answers) = datagrams.ask(round.shared, round.now, &mut self.reads);
        if self.commands.is_empty() && questions.is_empty() {
            datagrams.send();
            // Of a command that could not be read ahead some keys may have been.
            self.reads.clear();
            return 0;
        }
        let outcome = round.read(&mut self.reads);
        let (mut done, mut lap) = (0, stopwatch.lap(self.commands.len()));
        for command in &self.commands {
            let connection = &mut connections[command.connection];
            if !connection.may_go_on() || connection.is_taken_back(&command.found) {
                // It ends, has more replies than its client takes, or one before is to be executed first.
                connection.take_back(&command.found);
                continue;
            }
            let (before, lookups) = (connection.unsent(), tally::lookups());
            match command.reply(round, connection, &self.reads, &outcome) {
                Outcome::Replied(Ok(())) => {}
                Outcome::Replied(Err(failure)) => {
                    round.counts.commands[command.number].errors.add(1);
                    failure.reply_after(before, &mut connection.replies);
                }
                Outcome::Alone => {
                    tally::forget_since(lookups);
                    connection.replies.truncate(before);
                    connection.take_back_for_alone(&command.found);
                    continue;
                }
            }
            done += 1;
            self.replied += connection.unsent().saturating_sub(before);
            let (requests, found) = (&connection.requests, &command.found);
            lap.executed(command.number, ExecutedCommand { connection, requests, found, before });
            connection.bound_replies(before, round.config.reply_bytes_max);
        }
        lap.end();
        self.commands.clear();
        self.budget.end(self.reads.found_bytes());
        done += questions.execute(&self.reads, outcome.is_ok(), answers);
        datagrams.send();
        self.reads.clear();
        done
    }
}

impl Command {
    #[inline]
    fn reply(
        &self,
        round: &Round<'_>,
        connection: &mut Connection,
        reads: &Reads,
        outcome: &Result<(), Error>,
    ) -> Outcome {
        if let Err(error) = outcome {
            return Outcome::Replied(Err(Failure::other(error.to_string())));
        }
        let Connection { requests, replies, session, .. } = connection;
        let databases = &round.shared.databases;
        match self.what {
            What::Keys(handler) => {
                let mut keyspace = Keyspace::ahead(databases, session, round.now, reads, self.first);
                match handler(&mut keyspace, &requests.arguments(&self.found), replies) {
                    Err(Failure::NoRoom) => Outcome::Alone,
                    replied => Outcome::Replied(replied),
                }
            }
            What::Range(page) => match page.reply(reads, self.first, round.now, replies) {
                Ok(false) => Outcome::Alone,
                replied => Outcome::Replied(replied.map(drop)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_asks_for_as_much_as_it_has_room_for() {
        let mut budget = Budget::default();
        let mut round = |bytes_each: usize, wishes: [usize; 4]| {
            budget.connections = wishes.len();
            let shares = wishes.map(|wish| {
                let share = budget.share();
                budget.asked += share.min(wish);
                share.min(wish)
            });
            // What there is no room for is asked for again.
            budget.end((shares.iter().sum::<usize>() * bytes_each).min(FOUND_BYTES_MAX));
            shares
        };
        assert_eq!(round(100, [COMMANDS_MAX; 4]), [COMMANDS_MAX; 4]);
        for _ in 0..30 {
            round(1024, [COMMANDS_MAX; 4]);
        }
        let fits = FOUND_BYTES / 1024;
        let shares = round(1024, [COMMANDS_MAX; 4]);
        assert!(shares.iter().all(|share| share.abs_diff(fits / 4) <= fits / 8), "{shares:?}");
        // What one connection leaves is for those after it.
        let shares = round(1024, [1, 1, 1, COMMANDS_MAX]);
        assert!(shares[3] > fits / 2, "{shares:?}");
        for _ in 0..30 {
            round(1 << 20, [COMMANDS_MAX; 4]);
        }
        assert_eq!(round(100, [COMMANDS_MAX; 4]), [COMMANDS_MIN; 4]);
    }
}

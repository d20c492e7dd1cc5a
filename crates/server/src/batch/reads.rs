//! The batch of reads of a round, of all connections and datagrams.

use honeycomb_protocol::resp::ParsedRequest;
use honeycomb_store::{Error, Reads, SyncPolicy, TableHandle};
use slab::Slab;

use crate::arguments::Arguments;
use crate::batch::round::{COMMANDS_MAX, FOUND_BYTES, Round, VALUE_BYTES_MAX};
use crate::budget::has_many_arguments;
use crate::command::{CommandForm, CommandRef, Keys, OnKeys};
use crate::commands;
use crate::commands::query::Page;
use crate::connection::{Connection, PendingRequest};
use crate::datagrams::Datagrams;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::needed_version::needed_version;
use crate::stopwatch::{ExecutedCommand, Stopwatch};
use crate::tally;

pub(super) struct ReadBatch {
    reads: Reads,
    commands: Vec<Command>,
    /// Bytes of replies since the start of the iteration.
    replied: usize,
    budget: Budget,
}

/// The number of pairs for which a batch has space, shared between connections. A command that finds no space
/// in the batch reads in vain, and the commands behind it are parsed in vain.
#[derive(Default)]
struct Budget {
    /// Average number of bytes of a requested pair.
    average: usize,
    /// Pairs that the commands of the batch request.
    requested: usize,
    /// Connections that have not added commands in this round yet.
    connections: usize,
}

/// Maximum number of bytes that a batch returns. A batch requests about [`FOUND_BYTES`]; the rest is for
/// commands that return more bytes than the average, and for one command each of many connections.
const FOUND_BYTES_MAX: usize = 4 * FOUND_BYTES;
/// Pairs that each connection may request even if the batch may have no space. A batch of fewer pairs does
/// not pay off.
const COMMANDS_MIN: usize = 8;

impl Budget {
    /// Returns the number of pairs that the next connection may request.
    fn share(&mut self) -> usize {
        let total = FOUND_BYTES / self.average.max(1);
        let share = total.saturating_sub(self.requested) / self.connections.max(1);
        self.connections = self.connections.saturating_sub(1);
        share.clamp(COMMANDS_MIN, COMMANDS_MAX)
    }

    /// Updates the average with the bytes that a batch returned. The last batch has a weight of one half.
    fn end(&mut self, bytes: usize) {
        if let Some(each) = bytes.checked_div(std::mem::take(&mut self.requested)) {
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
    found: ParsedRequest,
    number: usize,
    what: What,
    /// The position of its first read in the batch.
    first: usize,
}

/// How a command replies.
enum What {
    /// The unmodified value of its key.
    Value,
    Keys(OnKeys),
    Range(Page),
}

/// The outcome of a command. A command executes alone if the batch had no space for its reads.
enum Outcome {
    Replied(Result<(), Failure>),
    Alone,
}

impl ReadBatch {
    /// Begins an iteration.
    pub(super) fn begin(&mut self) {
        self.replied = 0;
    }

    /// Begins a round in which `connections` connections may add commands.
    pub(super) fn begin_round(&mut self, connections: usize) {
        self.budget.connections = connections;
    }

    /// Returns the bytes of replies since the start of the iteration.
    pub(super) fn replied(&self) -> usize {
        self.replied
    }

    /// Adds the reads at the front of a connection.
    pub(super) fn gather(&mut self, round: &Round<'_>, index: usize, connection: &mut Connection) {
        let mut room = self.budget.share();
        if !connection.can_batch() {
            return;
        }
        let table = round.shared.table(connection.session.database);
        while room > 0 {
            let Ok(Some(request)) = connection.next_request(&round.config.request) else { return };
            let (first, arguments) = (self.reads.len(), connection.requests.arguments(&request.found));
            let is_possible = |command: &CommandRef| {
                command.accepts(arguments.len())
                    && round.check_lost(&connection.session, (command, &arguments)).is_ok()
            };
            let command = request.command.filter(is_possible);
            let Some((named, what, pairs)) = self.read_ahead(command, &arguments, table) else {
                return connection.put_back(PendingRequest { cannot_batch_read: true, ..request });
            };
            let (found, number) = (request.found, named.number);
            self.commands.push(Command { connection: index, found, number, what, first });
            room = room.saturating_sub(pairs.max(1));
            self.budget.requested += pairs.max(1);
        }
    }

    /// Adds the reads of a command that accepts its arguments. Returns the maximum number of pairs that it
    /// reads, or `None` if the batch cannot execute the command. Such a command executes alone and reports
    /// its errors then.
    #[inline]
    fn read_ahead(
        &mut self,
        command: Option<CommandRef>,
        arguments: &Arguments<'_>,
        table: &TableHandle,
    ) -> Option<(CommandRef, What, usize)> {
        let named = command?;
        if has_many_arguments(arguments) {
            return None;
        }
        match named.form {
            CommandForm::Values(_) if named.keys == Keys::First => {
                self.reads.get(table, &arguments[1]).ok()?;
                Some((named, What::Value, 1))
            }
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

    /// Executes the collected reads and those of datagrams, and replies. Returns the number of executed
    /// commands and operations.
    pub(super) fn execute(
        &mut self,
        round: &Round<'_>,
        connections: &mut Slab<Connection>,
        datagrams: &mut Datagrams,
        stopwatch: &mut Stopwatch<'_>,
    ) -> usize {
        let (requests, replier) = datagrams.collect((round.shared, round.now, round.lost), &mut self.reads);
        if self.commands.is_empty() && requests.is_empty() {
            // Replies to rejected requests and to hellos depend on no pairs.
            datagrams.send(&round.shared.store, Some(0));
            // A rejected command may have added some of its keys.
            self.reads.clear();
            return 0;
        }
        let outcome = round.read(&mut self.reads);
        let (mut done, mut lap) = (0, stopwatch.lap(self.commands.len()));
        let waits_for_log = round.shared.store.sync_policy() == Some(SyncPolicy::Always);
        for command in &self.commands {
            let connection = &mut connections[command.connection];
            if !connection.can_continue() || connection.is_rewound(&command.found) {
                // The connection closes, its client has too many unread replies, or an earlier command must
                // execute first.
                connection.rewind_to(&command.found);
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
                    connection.rewind_to_alone(&command.found);
                    continue;
                }
            }
            done += 1;
            self.replied += connection.unsent().saturating_sub(before);
            if waits_for_log {
                command.note_keys(round, before, connection);
            }
            let (requests, found) = (&connection.requests, &command.found);
            lap.executed(command.number, ExecutedCommand { connection, requests, found, before });
            connection.bound_replies(before, round.config.reply_bytes_max);
        }
        lap.end();
        self.commands.clear();
        self.budget.end(self.reads.found_bytes());
        let (operations, needed) = requests.execute(&self.reads, outcome.is_ok(), replier);
        datagrams.send(&round.shared.store, needed);
        self.reads.clear();
        done + operations
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
        let replied = match self.what {
            What::Value => self.reply_value(round, connection, reads),
            What::Keys(handler) => {
                let mut keyspace = Keyspace::of_batch(databases, session, round.now, reads, self.first);
                handler(&mut keyspace, &requests.arguments(&self.found), replies)
            }
            What::Range(page) => match page.reply(reads, self.first, round.now, replies) {
                Ok(false) => return Outcome::Alone,
                replied => replied.map(drop),
            },
        };
        match replied {
            Err(Failure::NoRoom) => Outcome::Alone,
            replied => Outcome::Replied(replied),
        }
    }

    /// Replies the value of the only key.
    #[inline(always)]
    fn reply_value(
        &self,
        round: &Round<'_>,
        connection: &mut Connection,
        reads: &Reads,
    ) -> Result<(), Failure> {
        let Connection { requests, replies, session, .. } = connection;
        let key = || requests.arguments(&self.found).get(1).expect("read by its key");
        let place = || (round.shared.table(session.database), key());
        let found = Keyspace::read(reads.value(self.first)?, round.now, session.touches, place)?;
        replies.bulk_or_null(found.map(|envelope| envelope.data));
        Ok(())
    }

    /// Records for the reply from byte `before` on that it depends only on the keys of the command.
    fn note_keys(&self, round: &Round<'_>, before: usize, connection: &mut Connection) {
        let (databases, number) = (&round.shared.databases, connection.session.database);
        let command = commands::by_number(self.number);
        let arguments = connection.requests.arguments(&self.found);
        if let Some(version) = needed_version(databases, number, (&command, &arguments)) {
            connection.held.got((before, connection.unsent()), version);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_requests_what_it_has_space_for() {
        let mut budget = Budget::default();
        let mut round = |bytes_each: usize, wishes: [usize; 4]| {
            budget.connections = wishes.len();
            let shares = wishes.map(|wish| {
                let share = budget.share();
                budget.requested += share.min(wish);
                share.min(wish)
            });
            // The next round requests the rest again.
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
        // Later connections get the share that an earlier one leaves.
        let shares = round(1024, [1, 1, 1, COMMANDS_MAX]);
        assert!(shares[3] > fits / 2, "{shares:?}");
        for _ in 0..30 {
            round(1 << 20, [COMMANDS_MAX; 4]);
        }
        assert_eq!(round(100, [COMMANDS_MAX; 4]), [COMMANDS_MIN; 4]);
    }
}

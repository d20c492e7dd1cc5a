//! The reads of a round, of all connections and datagrams: gathered, carried out together, replied.

use honeycomb_protocol::resp::Found;
use honeycomb_store::{Error, Reads, Table};
use slab::Slab;

use crate::arguments::Arguments;
use crate::command::{Named, OnKeys, OnRange, Run};
use crate::commands::{Page, Source};
use crate::connection::{Asked, Connection};
use crate::datagrams::Datagrams;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::stopwatch::{Carried, Stopwatch};
use crate::turn::{Round, TOGETHER};

#[derive(Default)]
pub(super) struct Reading {
    reads: Reads,
    commands: Vec<Command>,
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
    Range(Page, OnRange),
}

impl Reading {
    /// Adds the reads at the front of a connection.
    pub(super) fn gather(&mut self, round: &Round<'_>, index: usize, connection: &mut Connection) {
        if !connection.may_join(round.config) {
            return;
        }
        let table = round.shared.table(connection.session.database);
        let mut room = TOGETHER;
        while room > 0 {
            let Ok(Some(asked)) = connection.take(&round.config.request) else { return };
            let (first, arguments) = (self.reads.len(), connection.requests.arguments(&asked.found));
            let Some((named, what, pairs)) = self.read_ahead(asked.command, &arguments, table) else {
                return connection.put_back(Asked { is_no_read: true, ..asked });
            };
            let (found, number) = (asked.found, named.number);
            self.commands.push(Command { connection: index, found, number, what, first });
            room = room.saturating_sub(pairs);
        }
    }

    /// Adds what a command reads: how many pairs at most. None if it cannot be read ahead: then the command
    /// is carried out alone, and has its error from there.
    #[inline]
    fn read_ahead(
        &mut self,
        command: Option<Named>,
        arguments: &Arguments<'_>,
        table: &Table,
    ) -> Option<(Named, What, usize)> {
        let named = command.filter(|command| command.takes(arguments.len()))?;
        match named.run {
            Run::Read(handler) => {
                let keys = named.read_keys(arguments, table, &mut self.reads)?;
                Some((named, What::Keys(handler), keys))
            }
            Run::Range(parse) => {
                let (page, pairs) = parse(arguments).ok()?.read_ahead(table, &mut self.reads)?;
                Some((named, What::Range(page, parse), pairs))
            }
            _ => None,
        }
    }

    /// Carries out what was gathered and what datagrams ask for, and replies: how much it was.
    pub(super) fn carry_out(
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
        let mut done = self.commands.len();
        let mut lap = stopwatch.lap(done);
        for command in &self.commands {
            let connection = &mut connections[command.connection];
            if connection.session.closing {
                continue;
            }
            let before = connection.unsent();
            if let Err(failure) = command.reply(round, connection, &self.reads, &outcome) {
                round.counts.commands[command.number].errors.add(1);
                failure.reply_after(before, &mut connection.replies);
            }
            lap.carried(command.number, Carried { connection, found: &command.found, before });
            connection.bound_replies(before, round.config.reply_bytes_max);
        }
        lap.end();
        self.commands.clear();
        done += questions.carry_out(&self.reads, outcome.is_ok(), answers);
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
    ) -> Result<(), Failure> {
        if let Err(error) = outcome {
            return Err(Failure::other(error.to_string()));
        }
        let (shared, now) = (round.shared, round.now);
        let database = connection.session.database;
        let table = shared.table(database);
        let (arguments, replies) = (connection.requests.arguments(&self.found), &mut connection.replies);
        match self.what {
            What::Keys(handler) => {
                let mut keyspace = Keyspace::ahead(&shared.databases, database, now, reads, self.first);
                handler(&mut keyspace, &arguments, replies)
            }
            What::Range(page, _) if page.reply(reads, self.first, now, replies)? => Ok(()),
            What::Range(_, parse) => {
                parse(&arguments)?.reply(&Source { store: &shared.store, table, now }, replies)
            }
        }
    }
}

//! A turn: what all connections of a core have asked for, carried out together.
//!
//! Each round takes from every connection the reads at the front of its requests and runs them as one batch;
//! then the writes at the front, as one batch; then one command of any other kind. So the commands of a
//! connection are carried out in their order, a read sees the writes before it, and yet the reads of many
//! connections, and those that one has sent ahead, are in flight together.

use std::sync::Arc;

use honeycomb_protocol::resp::{Replies, Request};
use honeycomb_store::{Batch, Reads};
use slab::Slab;

use crate::arguments::Arguments;
use crate::command::{Command, Named, OnKeys, Run};
use crate::commands::run_alone;
use crate::config::Config;
use crate::connection::{Connection, Found};
use crate::counts::Counts;
use crate::datagrams::Datagrams;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::session::{Context, Session};
use crate::shared::Shared;
use crate::stopwatch::{Carried, Lap, Stopwatch};
use crate::transaction::Transaction;

/// What turns need, kept from one to the next so that its memory is used again.
pub(crate) struct Turn {
    counts: Arc<Counts>,
    reads: Reads,
    reading: Vec<Reading>,
    batch: Batch,
    writing: Vec<Writing>,
    /// Replies to writes, until it is known that they were written.
    drafts: Replies,
    spares: Vec<Request>,
}

/// A command whose keys are being read.
struct Reading {
    connection: usize,
    found: Found,
    number: usize,
    handler: OnKeys,
    first: usize,
}

/// A command whose write is in the batch.
struct Writing {
    connection: usize,
    /// Where the request is.
    start: usize,
    number: usize,
    /// Where the reply to it ends in the drafts.
    draft_end: usize,
    failure: Option<Failure>,
}

/// Commands of one connection in a batch.
const TOGETHER: usize = 1024;
/// Commands that are carried out at once between `MULTI` and `EXEC`. Others are queued if they are of pairs.
const NEVER_QUEUED: [&str; 6] = ["exec", "discard", "multi", "watch", "reset", "quit"];
/// Commands of clients that have not said the password.
const BEFORE_AUTHENTICATION: [&str; 4] = ["auth", "hello", "quit", "reset"];

impl Turn {
    pub(crate) fn new(counts: Arc<Counts>) -> Self {
        Self {
            counts,
            reads: Reads::default(),
            reading: Vec::new(),
            batch: Batch::default(),
            writing: Vec::new(),
            drafts: Replies::default(),
            spares: Vec::new(),
        }
    }

    /// Carries out all whole requests of some connections, as far as these have room for replies; and all
    /// datagrams that were received, some in each round, which it answers.
    pub(crate) fn run(
        &mut self,
        shared: &Shared,
        connections: &mut Slab<Connection>,
        ready: &[usize],
        datagrams: &mut Datagrams,
    ) {
        if ready.is_empty() && !datagrams.has_received() {
            return;
        }
        let mut stopwatch = Stopwatch::start(shared);
        loop {
            let mut done = self.read_together(shared, connections, ready, datagrams, &mut stopwatch);
            done += self.write_together(shared, connections, ready, &mut stopwatch);
            for &index in ready {
                done += usize::from(self.serve_next(shared, &mut connections[index], &mut stopwatch));
            }
            if done == 0 {
                break;
            }
        }
        ready.iter().for_each(|index| connections[*index].compact());
    }

    fn read_together(
        &mut self,
        shared: &Shared,
        connections: &mut Slab<Connection>,
        ready: &[usize],
        datagrams: &mut Datagrams,
        stopwatch: &mut Stopwatch<'_>,
    ) -> usize {
        for &index in ready {
            self.gather_reads(shared, index, &mut connections[index]);
        }
        let (questions, answers) = datagrams.ask(shared, &mut self.reads);
        if self.reading.is_empty() && questions.is_empty() {
            datagrams.send();
            return 0;
        }
        let outcome = shared.store.read(&mut self.reads);
        let now = shared.time.milliseconds();
        let mut done = self.reading.len();
        self.counts.read_batches.add(self.reads.len() as u64);
        let mut lap = stopwatch.lap(done);
        let reply_bytes_max = shared.config().reply_bytes_max;
        for reading in self.reading.drain(..) {
            let connection = &mut connections[reading.connection];
            if connection.session.closing {
                self.spares.push(reading.found.into_spare());
                continue;
            }
            let counts = &self.counts.commands[reading.number];
            counts.microseconds.add(lap.microseconds);
            let start = reading.found.start();
            let table = shared.table(connection.session.database);
            let (arguments, replies) = connection.parts_of(&reading.found);
            let mut keyspace = Keyspace::ahead(table, now, &self.reads, reading.first);
            let before = replies.bytes().len();
            let answered = match &outcome {
                Ok(()) => (reading.handler)(&mut keyspace, &arguments, replies),
                Err(error) => Err(Failure::other(error.to_string())),
            };
            drop(arguments);
            if let Err(failure) = answered {
                counts.errors.add(1);
                failure.reply_after(before, replies);
            }
            self.spares.push(reading.found.into_spare());
            lap.carried(Carried { connection, start, before });
            bound_replies(connection, before, reply_bytes_max);
        }
        lap.end();
        done += questions.carry_out(&self.reads, outcome.is_ok(), answers);
        datagrams.send();
        self.reads.clear();
        done
    }

    fn gather_reads(&mut self, shared: &Shared, index: usize, connection: &mut Connection) {
        let table = shared.table(connection.session.database);
        for _ in 0..TOGETHER {
            let Some(command) = plain(shared, connection) else { return };
            let (Run::Read(handler), arguments) = (&command.run, connection.arguments()) else { return };
            let first = self.reads.len();
            // A key that cannot be has its error from the command alone.
            if command.keys(&arguments).any(|key| !table.allows_key(key)) {
                return;
            }
            for key in command.keys(&arguments) {
                let added = self.reads.get(table, key);
                debug_assert!(added.is_ok(), "{added:?}");
            }
            drop(arguments);
            let (number, handler) = (command.number, *handler);
            let found = connection.take(self.spares.pop().unwrap_or_default());
            self.reading.push(Reading { connection: index, found, number, handler, first });
        }
    }

    fn write_together(
        &mut self,
        shared: &Shared,
        connections: &mut Slab<Connection>,
        ready: &[usize],
        stopwatch: &mut Stopwatch<'_>,
    ) -> usize {
        for &index in ready {
            self.gather_writes(shared, index, &mut connections[index]);
        }
        if self.writing.is_empty() {
            return 0;
        }
        let writing = &mut self.writing;
        let refused = shared.store.apply_each(&self.batch, |index, outcome| {
            writing[index].failure = outcome.err().map(Failure::from);
        });
        debug_assert!(refused.is_ok(), "all tables are of this store");
        let (done, mut draft) = (self.writing.len(), 0);
        self.counts.write_batches.add(done as u64);
        let mut lap = stopwatch.lap(done);
        for Writing { connection, start, number, draft_end, failure } in self.writing.drain(..) {
            let connection = &mut connections[connection];
            let before = connection.unsent();
            let counts = &self.counts.commands[number];
            counts.microseconds.add(lap.microseconds);
            match failure {
                None => connection.replies.append(&self.drafts.bytes()[draft..draft_end]),
                Some(failure) => {
                    counts.errors.add(1);
                    connection.replies.error(&failure.to_string());
                }
            }
            draft = draft_end;
            lap.carried(Carried { connection, start, before });
        }
        lap.end();
        self.batch.clear();
        self.drafts.truncate(0);
        done
    }

    fn gather_writes(&mut self, shared: &Shared, index: usize, connection: &mut Connection) {
        let table = shared.table(connection.session.database);
        for _ in 0..TOGETHER {
            let Some(command) = plain(shared, connection) else { return };
            let arguments = connection.arguments();
            let Run::Write(handler, is_blind) = &command.run else { return };
            if !is_blind(&arguments) {
                return;
            }
            let mut transaction = Transaction::default();
            let mut keyspace = Keyspace::within(table, shared.time.milliseconds(), &mut transaction);
            self.drafts.set_version(connection.replies.version());
            let before = self.drafts.bytes().len();
            let written = handler(&mut keyspace, &arguments, &mut self.drafts);
            drop(arguments);
            let (Ok(()), Ok(blind)) = (written, transaction.into_blind()) else {
                // Its error is replied when it runs alone.
                self.drafts.truncate(before);
                return;
            };
            match blind.value {
                Some(value) => self.batch.put(table, &blind.key, &value),
                None => self.batch.delete(table, &blind.key),
            };
            let draft_end = self.drafts.bytes().len();
            let (start, number) = (connection.start(), command.number);
            self.writing.push(Writing { connection: index, start, number, draft_end, failure: None });
            connection.pass();
        }
    }

    /// Carries out the request at the front of a connection: whether there is one.
    fn serve_next(
        &self,
        shared: &Shared,
        connection: &mut Connection,
        stopwatch: &mut Stopwatch<'_>,
    ) -> bool {
        let config = shared.config();
        if !may_go_on(&config, connection) {
            return false;
        }
        match connection.find(&config.request) {
            Ok(false) => return false,
            Ok(true) => {}
            Err(malformed) => {
                let client = connection.session.client.id;
                tracing::debug!(client, %malformed, "a connection is closed: what came is no request");
                connection.replies.error(&format!("ERR {malformed}"));
                connection.session.closing = true;
                return true;
            }
        }
        let start = connection.start();
        let (arguments, session, replies) = connection.parts();
        let before = replies.bytes().len();
        let found = known(session, &arguments);
        let number = found.as_ref().ok().map(|command| command.number);
        let served = serve(&mut Context { shared, session, replies }, found, &arguments);
        drop(arguments);
        connection.pass();
        self.count(number, served.is_err(), stopwatch.lap(1), Carried { connection, start, before });
        if let Err(failure) = served {
            failure.reply_after(before, &mut connection.replies);
        }
        bound_replies(connection, before, config.reply_bytes_max);
        true
    }

    fn count(&self, number: Option<usize>, failed: bool, mut lap: Lap<'_, '_>, carried: Carried<'_>) {
        let Some(number) = number else { return self.counts.not_carried_out.add(1) };
        let counts = &self.counts.commands[number];
        counts.microseconds.add(lap.microseconds);
        counts.errors.add(u64::from(failed));
        lap.carried(carried);
        lap.end();
    }
}

/// Ends a connection whose replies take too much memory: with an error in place of the last one.
fn bound_replies(connection: &mut Connection, before: usize, bytes_max: usize) {
    if connection.unsent() <= bytes_max {
        return;
    }
    let client = connection.session.client.id;
    tracing::warn!(client, bytes_max, "a connection is closed: its replies take too much memory");
    Failure::RepliesTooLong(bytes_max).reply_after(before, &mut connection.replies);
    connection.session.closing = true;
}

/// The command at the front of a connection, if it is one that may be carried out with others.
fn plain(shared: &Shared, connection: &mut Connection) -> Option<Named> {
    if !connection.session.authenticated || connection.session.queue.is_some() {
        return None;
    }
    let config = shared.config();
    if !may_go_on(&config, connection) || !connection.find(&config.request).unwrap_or(false) {
        return None;
    }
    let (name, arguments) = connection.front();
    Command::named(name).filter(|command| command.check_arity(arguments).is_ok())
}

fn may_go_on(config: &Config, connection: &Connection) -> bool {
    !connection.session.closing && connection.unsent() < config.unsent_bytes_max
}

fn serve(
    context: &mut Context<'_>,
    found: Result<Named, Failure>,
    arguments: &Arguments<'_>,
) -> Result<(), Failure> {
    let command = match found {
        Ok(command) => command,
        Err(failure) => {
            context.session.queue.iter_mut().for_each(|queue| queue.spoiled = true);
            return Err(failure);
        }
    };
    if let Some(queue) = &mut context.session.queue
        && command.on_keys().is_some()
    {
        queue.commands.push(arguments.iter().map(|argument| argument.to_vec()).collect());
        context.replies.simple("QUEUED");
        return Ok(());
    }
    match command.run {
        Run::Read(handler) | Run::Write(handler, _) | Run::Update(handler) => {
            run_alone(context.shared, context.session, handler, arguments, context.replies)
        }
        Run::Serve(handler) => handler(context, arguments),
    }
}

/// The command that the arguments name, if the client may run it where it is.
fn known(session: &Session, arguments: &Arguments<'_>) -> Result<Named, Failure> {
    let unknown = || Failure::UnknownCommand(String::from_utf8_lossy(arguments[0]).into_owned());
    let command = Command::named(arguments[0]).ok_or_else(unknown)?;
    if !session.authenticated && !BEFORE_AUTHENTICATION.contains(&command.name) {
        return Err(Failure::NotAuthenticated);
    }
    command.check_arity(arguments.len())?;
    let is_queued = session.queue.is_some() && command.on_keys().is_none();
    if is_queued && !NEVER_QUEUED.contains(&command.name) {
        return Err(Failure::other(format!("'{}' is not allowed between MULTI and EXEC", command.name)));
    }
    Ok(command)
}

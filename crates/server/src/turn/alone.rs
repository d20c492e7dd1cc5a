//! Commands that are carried out one by one. What they read before they write is read for all connections
//! together; if it is another when they write they read again, by themselves.

use honeycomb_store::{Reads, Table};
use slab::Slab;

use crate::arguments::Arguments;
use crate::command::{Named, Run};
use crate::commands::run_alone;
use crate::connection::{Asked, Connection};
use crate::failure::Failure;
use crate::session::{Context, Session};
use crate::stopwatch::{Carried, Stopwatch};
use crate::transaction::Transaction;
use crate::turn::Round;

/// Commands that are carried out at once between `MULTI` and `EXEC`. Others are queued if they are of pairs.
const NEVER_QUEUED: [&str; 6] = ["exec", "discard", "multi", "watch", "reset", "quit"];
/// Commands of clients that have not said the password.
const BEFORE_AUTHENTICATION: [&str; 4] = ["auth", "hello", "quit", "reset"];

#[derive(Default)]
pub(super) struct Alone {
    reads: Reads,
    /// The first read of the command at the front of each connection, if it reads and then writes.
    firsts: Vec<Option<usize>>,
}

/// What was read of the keys of a command, from a place on.
struct Seen<'s> {
    reads: &'s Reads,
    first: usize,
}

impl Alone {
    /// Adds what the command at the front of a connection reads, if it then writes.
    pub(super) fn gather(&mut self, round: &Round<'_>, connection: &mut Connection) {
        let first = self.reads.len();
        let is_read = self.read_ahead(round, connection).is_some();
        self.firsts.push(is_read.then_some(first));
    }

    fn read_ahead(&mut self, round: &Round<'_>, connection: &mut Connection) -> Option<usize> {
        if !connection.may_join(round.config) {
            return None;
        }
        let asked = connection.take(&round.config.request).ok()??;
        let arguments = connection.requests.arguments(&asked.found);
        let table = round.shared.table(connection.session.database);
        let updates = |named: &Named| matches!(named.run, Run::Update(_)) && named.takes(arguments.len());
        let named = asked.command.filter(updates);
        let keys = named.and_then(|named| named.read_keys(&arguments, table, &mut self.reads));
        connection.put_back(asked);
        keys
    }

    /// Carries out the command at the front of each connection that was gathered, in their order: how many.
    pub(super) fn carry_out(
        &mut self,
        round: &Round<'_>,
        connections: &mut Slab<Connection>,
        ready: &[usize],
        stopwatch: &mut Stopwatch<'_>,
    ) -> usize {
        let Self { reads, firsts } = self;
        debug_assert_eq!(firsts.len(), ready.len());
        let is_read = reads.is_empty() || round.read(reads).is_ok();
        let mut done = 0;
        for (first, &index) in firsts.drain(..).zip(ready) {
            let seen = first.filter(|_| is_read).map(|first| Seen { reads, first });
            done += usize::from(carry_out(round, &mut connections[index], seen, stopwatch));
        }
        reads.clear();
        done
    }
}

impl Seen<'_> {
    /// A transaction that has read the keys of a command.
    fn transaction(&self, table: &Table, keys: &Arguments<'_>) -> Transaction {
        let mut transaction = Transaction::default();
        for (at, key) in keys.iter().enumerate() {
            if let Ok(value) = self.reads.value(self.first + at) {
                transaction.saw(table, key, value);
            }
        }
        transaction
    }
}

/// Carries out the request at the front of a connection, of which something may have been seen: whether
/// there is one.
fn carry_out(
    round: &Round<'_>,
    connection: &mut Connection,
    seen: Option<Seen<'_>>,
    stopwatch: &mut Stopwatch<'_>,
) -> bool {
    if !connection.may_go_on(round.config) {
        return false;
    }
    let Asked { found, command } = match connection.take(&round.config.request) {
        Ok(Some(asked)) => asked,
        Ok(None) => return false,
        Err(malformed) => {
            let client = connection.session.client.id;
            tracing::debug!(client, %malformed, "a connection is closed: what came is no request");
            connection.replies.error(&format!("ERR {malformed}"));
            connection.session.closing = true;
            return true;
        }
    };
    let before = connection.unsent();
    let Connection { requests, session, replies, .. } = connection;
    let arguments = requests.arguments(&found);
    let allowed = allowed(session, command, &arguments);
    let number = allowed.as_ref().ok().map(|command| command.number);
    let served = serve(&mut Context { shared: round.shared, session, replies }, allowed, &arguments, seen);
    let mut lap = stopwatch.lap(1);
    match number {
        Some(number) => {
            round.counts.commands[number].errors.add(u64::from(served.is_err()));
            lap.carried(number, Carried { connection, found: &found, before });
            lap.end();
        }
        None => round.counts.not_carried_out.add(1),
    }
    if let Err(failure) = served {
        failure.reply_after(before, &mut connection.replies);
    }
    connection.bound_replies(before, round.config.reply_bytes_max);
    true
}

fn serve(
    context: &mut Context<'_>,
    allowed: Result<Named, Failure>,
    arguments: &Arguments<'_>,
    seen: Option<Seen<'_>>,
) -> Result<(), Failure> {
    let command = match allowed {
        Ok(command) => command,
        Err(failure) => {
            context.session.queue.iter_mut().for_each(|queue| queue.spoiled = true);
            return Err(failure);
        }
    };
    if let (Some(queue), Some(handler)) = (&mut context.session.queue, command.on_keys()) {
        queue.handlers.push((handler, queue.requests.keep(*arguments)));
        context.replies.simple("QUEUED");
        return Ok(());
    }
    match command.run {
        Run::Read(handler) | Run::Write(handler, _) | Run::Update(handler) => {
            let table = context.shared.table(context.session.database);
            let begun = seen.and_then(|seen| Some(seen.transaction(table, &command.keys(arguments)?)));
            run_alone(context, handler, arguments, begun.unwrap_or_default())
        }
        Run::Range(parse) => {
            let source = context.source();
            parse(arguments)?.reply(&source, context.replies)
        }
        Run::Serve(handler) => handler(context, arguments),
    }
}

/// The command, if the client may run it where it is.
fn allowed(session: &Session, command: Option<Named>, arguments: &Arguments<'_>) -> Result<Named, Failure> {
    let unknown = || Failure::UnknownCommand(String::from_utf8_lossy(&arguments[0]).into_owned());
    let command = command.ok_or_else(unknown)?;
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

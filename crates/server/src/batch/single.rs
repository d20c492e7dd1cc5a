//! Commands that are carried out one by one.

use honeycomb_protocol::resp::Malformed;

use crate::arguments::Arguments;
use crate::batch::round::Round;
use crate::command::CommandRef;
use crate::commands;
use crate::commands::categories::takes_memory;
use crate::connection::{Connection, PendingRequest};
use crate::context::Context;
use crate::cross_protocol;
use crate::failure::Failure;
use crate::room;
use crate::session::{Queue, Session};
use crate::stopwatch::{ExecutedCommand, Stopwatch};
use crate::task::scheduler::Tasks;
use crate::task::{Task, Work, start};

/// Commands that are executed at once between `MULTI` and `EXEC`. All others wait in the queue.
const NEVER_QUEUED: [&str; 7] = ["exec", "discard", "multi", "watch", "ri.watchrange", "reset", "quit"];
/// Commands that no transaction may hold.
const NOT_IN_TRANSACTIONS: [&str; 2] = ["shutdown", "save"];
/// Commands of clients that have not said the password.
const BEFORE_AUTHENTICATION: [&str; 4] = ["auth", "hello", "quit", "reset"];

/// Carries out the request at the front of a connection: whether there is one, and not one that the next
/// round carries out with others.
pub(super) fn execute(
    round: &Round<'_>,
    tasks: &mut Tasks,
    (index, connection): (usize, &mut Connection),
    stopwatch: &mut Stopwatch<'_>,
) -> bool {
    if !connection.may_go_on() {
        return false;
    }
    let PendingRequest { found, command, .. } = match connection.take(connection.limits(round.config)) {
        Ok(Some(asked)) if round.delays(asked.command) => {
            connection.put_back(asked);
            return false;
        }
        Ok(Some(asked)) if round.paused.is_some() || connection.is_for_alone(&asked) => asked,
        Ok(Some(asked)) => {
            connection.put_back(asked);
            return false;
        }
        Ok(None) => return false,
        Err(malformed) => {
            let client = connection.session.client.id;
            tracing::debug!(client, %malformed, "a connection is closed: what came is no request");
            let before = connection.unsent();
            Failure::other(refusal(&malformed, &connection.session))
                .reply_after(before, &mut connection.replies);
            connection.session.closing = true;
            return true;
        }
    };
    let before = connection.unsent();
    let Connection { requests, session, replies, .. } = connection;
    let arguments = requests.arguments(&found);
    if command.is_none() && cross_protocol::ends(round.shared, session, &arguments[0]) {
        return true;
    }
    let allowed = allowed(round, session, command, &arguments);
    let number = allowed.as_ref().ok().map(|command| command.number);
    let context = &mut Context { shared: round.shared, session, replies, transaction: None, now: round.now };
    let served = match serve(context, allowed, &arguments) {
        Ok(Some((named, work))) => {
            let task = Task::new(named, arguments, work, &connection.replies);
            tasks.begin((index, connection), task, round.shared, stopwatch);
            return true;
        }
        Ok(None) => Ok(()),
        Err(failure) => Err(failure),
    };
    let mut lap = stopwatch.lap(1);
    match number {
        Some(number) => {
            round.counts.commands[number].errors.add(u64::from(served.is_err()));
            let (requests, found) = (&connection.requests, &found);
            lap.executed(number, ExecutedCommand { connection, requests, found, before });
            lap.end();
        }
        None => round.counts.commands_rejected.add(1),
    }
    if let Err(failure) = served {
        failure.reply_after(before, &mut connection.replies);
    }
    if connection.session.is_silent() {
        connection.replies.truncate(before);
    }
    connection.bound_replies(before, round.config.reply_bytes_max);
    true
}

/// Queues a command, executes it, or begins it: then the work that is left is returned.
fn serve(
    context: &mut Context<'_>,
    allowed: Result<CommandRef, Failure>,
    arguments: &Arguments<'_>,
) -> Result<Option<(CommandRef, Work)>, Failure> {
    let command = match allowed {
        Ok(command) => command,
        Err(failure) => {
            context.session.spoil(&failure);
            return Err(failure);
        }
    };
    if let Some(queue) = context.session.queue.as_mut().filter(|_| !NEVER_QUEUED.contains(&command.name)) {
        queue.push(command.number, *arguments, context.shared.config().request.request_bytes_max)?;
        context.replies.simple("QUEUED");
        return Ok(None);
    }
    Ok(start(context, command, arguments)?.map(|work| (command, work)))
}

/// The reason for which bytes are no request: clients that have not said the password may send less.
fn refusal(malformed: &Malformed, session: &Session) -> String {
    match malformed {
        Malformed::ArgumentCount if !session.authenticated => {
            "Protocol error: unauthenticated multibulk length".to_owned()
        }
        Malformed::ArgumentLength if !session.authenticated => {
            "Protocol error: unauthenticated bulk length".to_owned()
        }
        other => other.to_string(),
    }
}

/// The command, if the client may run it where it is.
fn allowed(
    round: &Round<'_>,
    session: &Session,
    command: Option<CommandRef>,
    arguments: &Arguments<'_>,
) -> Result<CommandRef, Failure> {
    let unknown = || Failure::UnknownCommand(String::from_utf8_lossy(&arguments[0]).into_owned());
    let command = command.ok_or_else(unknown)?;
    if !session.authenticated && !BEFORE_AUTHENTICATION.contains(&command.name) {
        return Err(Failure::NotAuthenticated);
    }
    if command.name == "exec" && !command.takes(arguments.len()) {
        return Err(Failure::AbortedByArity);
    }
    command.check_arity(arguments.len())?;
    if session.queue.is_some() && NOT_IN_TRANSACTIONS.contains(&command.name) {
        return Err(Failure::other("Command not allowed inside a transaction"));
    }
    let queued = session.queue.as_ref().filter(|_| command.name == "exec");
    if takes_memory(&command) && room::is_full(round.shared, round.config) {
        return Err(Failure::OutOfMemory);
    }
    if queued.is_some_and(may_take_memory) && room::is_full(round.shared, round.config) {
        return Err(Failure::AbortedByMemory);
    }
    Ok(command)
}

/// Returns whether a queued command may allocate memory of the store.
fn may_take_memory(queue: &Queue) -> bool {
    queue.commands.iter().any(|(number, _)| takes_memory(&commands::by_number(*number)))
}

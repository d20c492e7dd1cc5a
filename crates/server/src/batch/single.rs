//! Commands that execute one by one.

use honeycomb_protocol::resp::{self, Malformed, ParsedRequest};
use honeycomb_store::Version;

use crate::arguments::{Arguments, shown};
use crate::batch::limits::check_served;
use crate::batch::round::Round;
use crate::budget::Budget;
use crate::command::{Command, CommandRef};
use crate::commands::by_number;
use crate::commands::categories::allocates_memory;
use crate::commands::containers::check_subcommand;
use crate::commands::subscribe;
use crate::connection::{Connection, PendingRequest};
use crate::context::Context;
use crate::failure::Failure;
use crate::needed_version::needed_by_reply;
use crate::session::{Queue, Session};
use crate::stopwatch::{ExecutedCommand, Stopwatch};
use crate::task::scheduler::Tasks;
use crate::task::{Task, Work, start};
use crate::{cross_protocol, memory_limit};

/// Commands that execute at once between `MULTI` and `EXEC`. All others enter the queue.
const NEVER_QUEUED: [&str; 7] = ["exec", "discard", "multi", "watch", "ri.watchrange", "reset", "quit"];
/// Commands that are not allowed in a transaction.
const NOT_IN_TRANSACTIONS: [&str; 13] = [
    "shutdown",
    "save",
    "waitaof",
    "ri.backup",
    "ri.changes",
    "ri.filter",
    "ri.reduce",
    "ri.top",
    "ri.watch",
    "psubscribe",
    "punsubscribe",
    "subscribe",
    "unsubscribe",
];
/// Commands that a client of RESP2 with subscriptions may send: it expects no other replies.
const OF_SUBSCRIBERS: [&str; 7] =
    ["psubscribe", "punsubscribe", "subscribe", "unsubscribe", "ping", "quit", "reset"];
/// Commands that are allowed before authentication.
const BEFORE_AUTHENTICATION: [&str; 4] = ["auth", "hello", "quit", "reset"];

/// Executes the request at the front of a connection. Returns false if there is no complete request, or if
/// the next round executes it in a batch.
pub(super) fn execute(
    round: &Round<'_>,
    tasks: &mut Tasks,
    (index, connection): (usize, &mut Connection),
    stopwatch: &mut Stopwatch<'_>,
) -> bool {
    if !connection.can_continue() {
        return false;
    }
    // The password may have been removed since the client connected.
    connection.session.authenticated |= round.config.password.is_none();
    let PendingRequest { found, command, .. } = match connection.next_request(connection.limits(round.config))
    {
        Ok(Some(request)) if round.delays(request.command, &connection.session) => {
            connection.put_back(request);
            return false;
        }
        Ok(Some(request)) if executes_alone(round, connection, &request) => request,
        Ok(Some(request)) => {
            connection.put_back(request);
            return false;
        }
        Ok(None) => return false,
        Err(malformed) => {
            close(connection, &malformed);
            return true;
        }
    };
    let before = connection.unsent();
    let Connection { requests, session, replies, .. } = connection;
    let arguments = requests.arguments(&found);
    if command.is_none() && cross_protocol::ends(round.shared, session, &arguments[0]) {
        return true;
    }
    let allowed = allowed(round, session, command, (&found, &arguments))
        .and_then(|command| allowed_for_subscriber(command, session, replies.version()));
    let number = allowed.as_ref().ok().map(|command| command.number);
    let (shared, now, budget) = (round.shared, round.now, Budget::CORE);
    let context = &mut Context { shared, session, replies, transaction: None, now, budget };
    let served = match serve(context, allowed, (&found, &arguments)) {
        Ok(Served::Begun(named, work)) => {
            let task = Task::new(named, connection.take_request(&found), work, &connection.replies);
            tasks.begin((index, connection), task, round.shared, stopwatch);
            return true;
        }
        served => served,
    };
    let needed = needed(round, &connection.session, number, (&arguments, served.as_ref().err()));
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
    complete(connection, &found, served, (before, round.config.reply_bytes_max));
    if let Some(version) = needed {
        connection.held.got((before, connection.unsent()), version);
    }
    true
}

/// Queues the request of a command within a transaction, or completes its reply, which begins at `before`.
fn complete(
    connection: &mut Connection,
    found: &ParsedRequest,
    served: Result<Served, Failure>,
    (before, reply_bytes_max): (usize, usize),
) {
    match served {
        Ok(Served::Queued(command)) => connection.queue_request(command, found),
        Ok(_) => {}
        Err(failure) => failure.reply_after(before, &mut connection.replies),
    }
    if connection.session.end_command() {
        connection.replies.truncate(before);
    }
    connection.bound_replies(before, reply_bytes_max);
}

/// Closes a connection after a malformed request.
#[cold]
fn close(connection: &mut Connection, malformed: &Malformed) {
    let client = connection.session.client.id;
    tracing::debug!(client, %malformed, "closing a connection: malformed request");
    let before = connection.unsent();
    Failure::other(protocol_error(malformed, &connection.session))
        .reply_after(before, &mut connection.replies);
    connection.session.closing = true;
}

/// Returns whether no batch may execute a request: in a pause, and after lost writes, all requests execute
/// in order.
fn executes_alone(round: &Round<'_>, connection: &Connection, request: &PendingRequest) -> bool {
    round.paused.is_some() || round.lost.is_some() || connection.must_execute_alone(request)
}

/// Returns the version that the reply of a command needs; `None`: the read version. A rejected command, which
/// has no number, did nothing.
fn needed(
    round: &Round<'_>,
    session: &Session,
    number: Option<usize>,
    (arguments, failure): (&Arguments<'_>, Option<&Failure>),
) -> Option<Version> {
    let Some(number) = number else { return Some(0) };
    let command = (&*by_number(number), arguments);
    needed_by_reply(&round.shared.databases, session.database, command, failure)
}

/// The outcome of a request without an error.
enum Served {
    Executed,
    /// The reply says that the command with this number waits for `EXEC`.
    Queued(usize),
    /// A long command has begun. This is the remaining work.
    Begun(CommandRef, Work),
}

/// Accepts a command for the queue, executes it, or begins it.
fn serve(
    context: &mut Context<'_>,
    allowed: Result<CommandRef, Failure>,
    (found, arguments): (&ParsedRequest, &Arguments<'_>),
) -> Result<Served, Failure> {
    let command = match allowed {
        Ok(command) => command,
        Err(failure) => {
            context.session.abort(&failure);
            return Err(failure);
        }
    };
    if let Some(queue) = context.session.queue.as_mut().filter(|_| !NEVER_QUEUED.contains(&command.name)) {
        let bytes_max = context.shared.config().request.request_bytes_max;
        queue.check_room(command.is_on_tables(), (found.bytes(), bytes_max))?;
        context.replies.simple("QUEUED");
        return Ok(Served::Queued(command.number));
    }
    if command.name == "ping" && is_subscriber(context.session, context.replies.version()) {
        return subscribe::pong(arguments, context.replies).map(|()| Served::Executed);
    }
    let work = start(context, command, (found, arguments))?;
    Ok(work.map_or(Served::Executed, |work| Served::Begun(command, work)))
}

/// Returns the error message for a malformed request. Clients that have not authenticated have lower limits.
fn protocol_error(malformed: &Malformed, session: &Session) -> String {
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

/// Returns the command if the client may execute it in its current state.
fn allowed(
    round: &Round<'_>,
    session: &Session,
    command: Option<CommandRef>,
    (found, arguments): (&ParsedRequest, &Arguments<'_>),
) -> Result<CommandRef, Failure> {
    let unknown = || Failure::UnknownCommand(shown(&arguments[0]));
    let command = command.ok_or_else(unknown)?;
    if !session.authenticated && !BEFORE_AUTHENTICATION.contains(&command.name) {
        return Err(Failure::NotAuthenticated);
    }
    if command.name == "exec" && !command.accepts(arguments.len()) {
        return Err(Failure::AbortedByArity);
    }
    command.check_arity(arguments.len())?;
    check_served(&command, found, arguments)?;
    round.check_lost(session, (&command, arguments))?;
    if session.queue.is_some() {
        check_queueable(&command, arguments)?;
    }
    let queued = session.queue.as_ref().filter(|_| command.name == "exec");
    if allocates_memory(&command) && memory_limit::is_full(round.shared, round.config) {
        return Err(Failure::OutOfMemory);
    }
    if queued.is_some_and(may_allocate_memory) && memory_limit::is_full(round.shared, round.config) {
        return Err(Failure::AbortedByMemory);
    }
    Ok(command)
}

/// Returns an error if a command cannot enter a transaction. The error aborts the transaction, as in Redis.
fn check_queueable(command: &Command, arguments: &Arguments<'_>) -> Result<(), Failure> {
    if NOT_IN_TRANSACTIONS.contains(&command.name) {
        return Err(Failure::other("Command not allowed inside a transaction"));
    }
    check_subcommand(command, arguments)
}

/// Returns whether a client expects messages only.
fn is_subscriber(session: &Session, version: resp::Version) -> bool {
    session.subscriber.is_some() && version == resp::Version::Resp2
}

fn allowed_for_subscriber(
    command: CommandRef,
    session: &Session,
    version: resp::Version,
) -> Result<CommandRef, Failure> {
    if !is_subscriber(session, version) || OF_SUBSCRIBERS.contains(&command.name) {
        return Ok(command);
    }
    let name = command.name;
    Err(Failure::other(format!(
        "Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in \
         this context"
    )))
}

/// Returns whether a queued command may allocate memory of the store.
fn may_allocate_memory(queue: &Queue) -> bool {
    queue.commands().any(|number| allocates_memory(&by_number(number)))
}

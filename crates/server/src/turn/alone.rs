//! Commands that are carried out one by one.

use crate::arguments::Arguments;
use crate::command::{Named, Run};
use crate::commands::run_alone;
use crate::connection::{Asked, Connection};
use crate::cross_protocol;
use crate::failure::Failure;
use crate::session::{Context, Session};
use crate::stopwatch::{Carried, Stopwatch};
use crate::turn::Round;

/// Commands that are carried out at once between `MULTI` and `EXEC`. Others are queued if they are of pairs.
const NEVER_QUEUED: [&str; 6] = ["exec", "discard", "multi", "watch", "reset", "quit"];
/// Commands of clients that have not said the password.
const BEFORE_AUTHENTICATION: [&str; 4] = ["auth", "hello", "quit", "reset"];

/// Carries out the request at the front of a connection: whether there is one, and not one that the next
/// round carries out with others.
pub(super) fn carry_out(
    round: &Round<'_>,
    connection: &mut Connection,
    stopwatch: &mut Stopwatch<'_>,
) -> bool {
    if !connection.may_go_on(round.config) {
        return false;
    }
    let Asked { found, command, .. } = match connection.take(&round.config.request) {
        Ok(Some(asked)) if connection.is_for_alone(&asked, round.config) => asked,
        Ok(Some(asked)) => {
            connection.put_back(asked);
            return false;
        }
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
    if command.is_none() && cross_protocol::ends(round.shared, session, &arguments[0]) {
        return true;
    }
    let allowed = allowed(session, command, &arguments);
    let number = allowed.as_ref().ok().map(|command| command.number);
    let served = serve(&mut Context { shared: round.shared, session, replies }, allowed, &arguments);
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
) -> Result<(), Failure> {
    let command = match allowed {
        Ok(command) => command,
        Err(failure) => {
            context.session.spoil(&failure);
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
            run_alone(context, handler, arguments)
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
    if command.name == "exec" && !command.takes(arguments.len()) {
        return Err(Failure::AbortedByArity);
    }
    command.check_arity(arguments.len())?;
    let is_queued = session.queue.is_some() && command.on_keys().is_none();
    if is_queued && !NEVER_QUEUED.contains(&command.name) {
        return Err(Failure::other(format!("'{}' is not allowed between MULTI and EXEC", command.name)));
    }
    Ok(command)
}

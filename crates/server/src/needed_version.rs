//! The writes that must be durable before a reply leaves.

use honeycomb_store::Version;

use crate::arguments::{Arguments, is};
use crate::command::{Command, CommandForm};
use crate::commands::categories::is_about_the_server;
use crate::commands::info::counts_pairs;
use crate::commands::slow_log::shows_writes;
use crate::databases::Databases;
use crate::failure::Failure;

/// Returns the version up to which writes must be durable before the reply of a command leaves, or `None` if
/// the reply depends on everything that readers see. `number` is that of the table that the client has
/// selected. Call it after the command has executed, so that no write to its keys is missed.
#[inline]
pub(crate) fn needed_version(
    databases: &Databases,
    number: usize,
    (command, arguments): (&Command, &Arguments<'_>),
) -> Option<Version> {
    let reads_keys = matches!(command.form, CommandForm::Read(_) | CommandForm::Values(_));
    let keys = command.keys(arguments).filter(|_| reads_keys);
    let newest = keys.and_then(|keys| keys.iter().map(|key| databases.newest_write(number, key)).max());
    newest.or_else(|| needs_none(command, arguments).then_some(0))
}

/// Returns the version that the reply of an executed command needs, as [`needed_version`] does. A command
/// that the log has refused did nothing.
pub(crate) fn needed_by_reply(
    databases: &Databases,
    number: usize,
    command: (&Command, &Arguments<'_>),
    failure: Option<&Failure>,
) -> Option<Version> {
    match failure {
        Some(Failure::Refused(_)) => Some(0),
        _ => needed_version(databases, number, command),
    }
}

/// Whether the reply of a command, which accepts its arguments, depends on no pairs.
fn needs_none(command: &Command, arguments: &Arguments<'_>) -> bool {
    match command.name {
        "info" => !counts_pairs(arguments),
        "config" => is_configuration(arguments),
        "slowlog" => !shows_writes(arguments),
        _ => is_about_the_server(command),
    }
}

/// Whether a `CONFIG`, which accepts its arguments, reads or writes parameters. `CONFIG SET appendfsync
/// always` does not count: its reply says that earlier writes are durable.
fn is_configuration(arguments: &Arguments<'_>) -> bool {
    !(is(&arguments[1], "set") && arguments.iter().any(|argument| is(argument, "appendfsync")))
}

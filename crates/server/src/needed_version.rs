//! The writes that must be durable before a reply leaves.

use honeycomb_store::Version;

use crate::arguments::{Arguments, is};
use crate::command::{Command, CommandForm};
use crate::commands::categories::is_about_the_server;
use crate::databases::Databases;

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
    let needs_none = || is_about_the_server(command) || is_configuration(command, arguments);
    newest.or_else(|| needs_none().then_some(0))
}

/// Whether a command, which accepts its arguments, reads or writes parameters. `CONFIG SET appendfsync
/// always` does not count: its reply says that earlier writes are durable.
fn is_configuration(command: &Command, arguments: &Arguments<'_>) -> bool {
    let waits = || is(&arguments[1], "set") && arguments.iter().any(|argument| is(argument, "appendfsync"));
    command.name == "config" && !waits()
}

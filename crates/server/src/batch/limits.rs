//! Limits of the requests of commands that cannot execute in the background: their core parses and executes
//! them whatever their length. Commands on keys have a [budget](crate::budget) instead.

use honeycomb_protocol::resp::ParsedRequest;

use crate::arguments::{Arguments, check_length};
use crate::command::Command;
use crate::failure::Failure;

/// Maximum number of arguments of a command that cannot execute in the background.
const SERVED_ARGUMENTS_MAX: usize = 1024;
/// Maximum number of bytes of such a command.
const SERVED_BYTES_MAX: usize = 64 << 10;
/// The same for commands with many keys or channels, or with a message.
const LISTED_ARGUMENTS_MAX: usize = 65_536;
const LISTED_BYTES_MAX: usize = 2 << 20;
const LISTED: [&str; 6] = ["publish", "watch", "subscribe", "unsubscribe", "psubscribe", "punsubscribe"];

/// Returns an error if a command that cannot execute in the background has a long request.
pub(super) fn check_served(
    command: &Command,
    request: &ParsedRequest,
    arguments: &Arguments<'_>,
) -> Result<(), Failure> {
    if !command.begins_on_core() {
        return Ok(());
    }
    let (count_max, bytes_max) = match LISTED.contains(&command.name) {
        true => (LISTED_ARGUMENTS_MAX, LISTED_BYTES_MAX),
        false => (SERVED_ARGUMENTS_MAX, SERVED_BYTES_MAX),
    };
    let kind = format_args!("'{}' command", command.name);
    check_length(kind, (arguments.len(), "arguments"), count_max)?;
    check_length(kind, (request.bytes(), "bytes"), bytes_max)
}

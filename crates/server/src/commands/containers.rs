//! The container commands: commands that have subcommands.

use crate::arguments::Arguments;
use crate::command::Command;
use crate::commands::subcommands::{self, Subcommand};
use crate::commands::{BY_NUMBER, acl, client, command, config, latency, memory, object, pubsub, slow_log};
use crate::failure::Failure;

/// The containers by name. `object` is missing because it reads pairs in batches and parses its subcommands
/// itself.
const CONTAINERS: &[(&str, &[Subcommand])] = &[
    ("acl", acl::SUBCOMMANDS),
    ("client", client::SUBCOMMANDS),
    ("command", command::SUBCOMMANDS),
    ("config", config::SUBCOMMANDS),
    ("latency", latency::SUBCOMMANDS),
    ("memory", memory::SUBCOMMANDS),
    ("pubsub", pubsub::SUBCOMMANDS),
    ("slowlog", slow_log::SUBCOMMANDS),
];

/// Returns the subcommands of a command. Commands that are not containers have none.
pub(crate) fn of(command: &str) -> &'static [Subcommand] {
    CONTAINERS.iter().find(|(name, _)| *name == command).map_or(&[], |(_, subcommands)| subcommands)
}

/// Returns an error if a container does not have the subcommand that its first argument names, or if that
/// does not accept this number of arguments.
pub(crate) fn check_subcommand(command: &Command, arguments: &Arguments<'_>) -> Result<(), Failure> {
    match of(command.name) {
        _ if arguments.len() < 2 => Ok(()),
        [] if command.name == "object" => object::subcommand(arguments).map(drop),
        [] => Ok(()),
        subcommands => subcommands::find(command.name, subcommands, arguments).map(drop),
    }
}

/// Returns whether a command has the subcommand `HELP`.
pub(crate) fn has_help(command: &str) -> bool {
    !of(command).is_empty() || command == "object"
}

/// Returns the name of a command by number, or `container|subcommand` if the second number is valid.
pub(crate) fn full_name(command: usize, subcommand: usize) -> &'static str {
    let Some(command) = BY_NUMBER.get(command) else { return "NULL" };
    of(command.name).get(subcommand).map_or(command.name, |subcommand| subcommand.name)
}

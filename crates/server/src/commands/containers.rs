//! The commands that have subcommands, by name.

use crate::commands::subcommands::Subcommand;
use crate::commands::{BY_NUMBER, about, acl, client, config, latency, memory, slow_log};

/// The containers by name, without `object`: it reads pairs together with others, and knows its subcommands.
const CONTAINERS: &[(&str, &[Subcommand])] = &[
    ("acl", acl::SUBCOMMANDS),
    ("client", client::SUBCOMMANDS),
    ("command", about::SUBCOMMANDS),
    ("config", config::SUBCOMMANDS),
    ("latency", latency::SUBCOMMANDS),
    ("memory", memory::SUBCOMMANDS),
    ("slowlog", slow_log::SUBCOMMANDS),
];

/// The subcommands of a command; none if it is no container.
pub(crate) fn of(command: &str) -> &'static [Subcommand] {
    CONTAINERS.iter().find(|(name, _)| *name == command).map_or(&[], |(_, subcommands)| subcommands)
}

/// Whether a command has the subcommand `HELP`.
pub(crate) fn has_help(command: &str) -> bool {
    !of(command).is_empty() || command == "object"
}

/// The name of a command by its number, with that of its subcommand if the second number is of one.
pub(crate) fn full_name(command: usize, subcommand: usize) -> &'static str {
    let Some(command) = BY_NUMBER.get(command) else { return "NULL" };
    of(command.name).get(subcommand).map_or(command.name, |subcommand| subcommand.name)
}

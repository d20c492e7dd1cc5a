//! All commands, by name.

mod about;
mod connection;
mod expiry;
mod keys;
mod numbers;
mod ordered;
mod range;
mod scanning;
mod strings;
mod transactions;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::command::Command;

/// All of them.
pub(crate) static BY_NAME: LazyLock<BTreeMap<&'static str, &'static Command>> = LazyLock::new(|| {
    let groups: [&'static [Command]; 9] = [
        about::COMMANDS,
        connection::COMMANDS,
        expiry::COMMANDS,
        keys::COMMANDS,
        numbers::COMMANDS,
        ordered::COMMANDS,
        scanning::COMMANDS,
        strings::COMMANDS,
        transactions::COMMANDS,
    ];
    groups.into_iter().flatten().map(|command| (command.name, command)).collect()
});

pub(crate) use connection::line;
pub(crate) use transactions::run_alone;

//! The command table: every command by number and by name.

mod acl;
mod backup;
mod bitfield;
mod bitop;
mod bits;
pub(crate) mod categories;
mod changes;
mod client;
mod client_filter;
mod command;
mod conditions;
mod config;
mod connection;
pub(crate) mod containers;
mod dump;
mod expiry;
mod functions;
pub(crate) mod info;
mod keys;
mod latency;
mod lcs;
mod memory;
mod moving;
mod mset;
mod numbers;
mod object;
mod ordered;
mod persistence;
mod pubsub;
pub(crate) mod query;
mod random;
pub(crate) mod range;
mod range_functions;
mod server;
mod set;
pub(crate) mod slow_log;
mod strings;
mod subcommands;
pub(crate) mod subscribe;
mod tables;
pub(crate) mod transactions;
pub(crate) mod watch;

use std::collections::HashMap;
use std::sync::LazyLock;

use rustc_hash::FxBuildHasher;

use crate::command::{Command, CommandRef, word};
use crate::letters::Letters;
use crate::server_state::CommandTable;

/// All commands, sorted by name. The index of a command is its number.
pub(crate) static BY_NUMBER: LazyLock<Vec<&'static Command>> = LazyLock::new(|| {
    let groups: [&'static [Command]; 36] = [
        acl::COMMANDS,
        backup::COMMANDS,
        bitfield::COMMANDS,
        bitop::COMMANDS,
        bits::COMMANDS,
        changes::COMMANDS,
        client::COMMANDS,
        command::COMMANDS,
        conditions::COMMANDS,
        config::COMMANDS,
        connection::COMMANDS,
        dump::COMMANDS,
        expiry::COMMANDS,
        functions::COMMANDS,
        range_functions::COMMANDS,
        info::COMMANDS,
        keys::COMMANDS,
        latency::COMMANDS,
        lcs::COMMANDS,
        memory::COMMANDS,
        moving::COMMANDS,
        mset::COMMANDS,
        numbers::COMMANDS,
        object::COMMANDS,
        ordered::COMMANDS,
        persistence::COMMANDS,
        pubsub::COMMANDS,
        random::COMMANDS,
        server::COMMANDS,
        set::COMMANDS,
        slow_log::COMMANDS,
        strings::COMMANDS,
        subscribe::COMMANDS,
        tables::COMMANDS,
        transactions::COMMANDS,
        watch::COMMANDS,
    ];
    let mut commands: Vec<_> = groups.into_iter().flatten().collect();
    commands.sort_by_key(|command| command.name);
    commands
});

/// All commands, keyed by [`word`] of their names.
static BY_NAME: LazyLock<HashMap<u128, CommandRef, FxBuildHasher>> = LazyLock::new(|| {
    let named = |(number, command): (usize, &&'static Command)| CommandRef { command, number };
    let by_word = |named: CommandRef| Some((word(named.name.as_bytes())?, named));
    BY_NUMBER.iter().enumerate().map(named).filter_map(by_word).collect()
});

/// Returns the command with this name, ignoring case.
#[inline]
pub(crate) fn find(name: &[u8]) -> Option<CommandRef> {
    let named = BY_NAME.get(&word(name)?)?;
    (named.name.len() == name.len()).then_some(*named)
}

/// The last lookup of a client. Clients repeat commands, so most lookups are compared with it only.
#[derive(Debug, Default)]
pub(crate) struct LastLookup {
    letters: Letters,
    length: usize,
    found: Option<CommandRef>,
}

impl LastLookup {
    /// Returns the command with this name, like [`find`].
    #[inline]
    pub(crate) fn find(&mut self, name: &[u8]) -> Option<CommandRef> {
        let letters = Letters::of(name)?;
        if (letters, name.len()) != (self.letters, self.length) {
            *self = Self { letters, length: name.len(), found: find(name) };
        }
        self.found
    }
}

/// Returns the properties of the table that the shared state needs.
pub(crate) fn table() -> CommandTable {
    CommandTable { count: BY_NUMBER.len(), full_name: containers::full_name }
}

/// Returns the command with this number.
pub(crate) fn by_number(number: usize) -> CommandRef {
    CommandRef { command: BY_NUMBER[number], number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_name_finds_a_command() {
        for (number, command) in BY_NUMBER.iter().enumerate() {
            let number_of = |name: &str| find(name.as_bytes()).map(|named| named.number);
            assert_eq!(number_of(command.name), Some(number));
            assert_eq!(number_of(&command.name.to_uppercase()), Some(number));
            assert_eq!(number_of(&format!("{}\0", command.name)), None);
            assert_eq!(number_of(&command.name[1..]).filter(|other| *other == number), None);
        }
        for unknown in ["", "nothing", "a name of seventeen"] {
            assert!(find(unknown.as_bytes()).is_none());
        }
    }

    #[test]
    fn a_repeated_lookup_finds_the_same_command() {
        let mut last = LastLookup::default();
        let names =
            ["", "get", "GET", "set", "get\0", "get", "nothing", "a name of seventeen", "nothing", "get"];
        for name in names {
            let number = |found: Option<CommandRef>| found.map(|named| named.number);
            assert_eq!(number(last.find(name.as_bytes())), number(find(name.as_bytes())), "{name:?}");
        }
    }
}

//! All commands, by name.

mod about;
mod acl;
mod bitfield;
mod bitop;
mod bits;
mod categories;
mod client;
mod client_filter;
mod conditions;
mod config;
mod connection;
mod dump;
mod expiry;
mod info;
mod keys;
mod latency;
mod lcs;
mod memory;
mod moving;
mod numbers;
mod object;
mod ordered;
mod query;
mod random;
mod range;
mod scanning;
mod server;
mod several;
mod slow_log;
mod storing;
mod strings;
mod subcommands;
mod transactions;
mod watch;

use std::collections::HashMap;
use std::sync::LazyLock;

use rustc_hash::FxBuildHasher;

use crate::command::{Command, CommandRef, word};

/// All of them, in the order of their names. The place of one is its number.
pub(crate) static BY_NUMBER: LazyLock<Vec<&'static Command>> = LazyLock::new(|| {
    let groups: [&'static [Command]; 29] = [
        about::COMMANDS,
        acl::COMMANDS,
        bitfield::COMMANDS,
        bitop::COMMANDS,
        bits::COMMANDS,
        client::COMMANDS,
        conditions::COMMANDS,
        config::COMMANDS,
        connection::COMMANDS,
        dump::COMMANDS,
        expiry::COMMANDS,
        info::COMMANDS,
        keys::COMMANDS,
        latency::COMMANDS,
        lcs::COMMANDS,
        memory::COMMANDS,
        moving::COMMANDS,
        numbers::COMMANDS,
        object::COMMANDS,
        ordered::COMMANDS,
        random::COMMANDS,
        scanning::COMMANDS,
        server::COMMANDS,
        several::COMMANDS,
        slow_log::COMMANDS,
        storing::COMMANDS,
        strings::COMMANDS,
        transactions::COMMANDS,
        watch::COMMANDS,
    ];
    let mut commands: Vec<_> = groups.into_iter().flatten().collect();
    commands.sort_by_key(|command| command.name);
    commands
});

/// The same by their names, as numbers.
pub(crate) static BY_NAME: LazyLock<HashMap<u128, CommandRef, FxBuildHasher>> = LazyLock::new(|| {
    let named = |(number, command): (usize, &&'static Command)| CommandRef { command, number };
    let by_word = |named: CommandRef| Some((word(named.name.as_bytes())?, named));
    BY_NUMBER.iter().enumerate().map(named).filter_map(by_word).collect()
});

pub(crate) use categories::{is_administrative, takes_memory, writes};
pub(crate) use query::{Page, Query};
pub(crate) use range::{Origin, Range, Walk, each};
pub(crate) use subcommands::full_name;
pub(crate) use transactions::run_alone;
pub(crate) use watch::WatchedRange;

//! `OBJECT`: encoding, reference count and access statistics of a pair.

use honeycomb_protocol::resp::{Replies, parse_decimal};

use crate::arguments::{Arguments, is};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::subcommands::unknown;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::recency;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "object",
    arity: -2,
    keys: Keys::Second,
    form: CommandForm::Read(object),
    usage: "ENCODING key | REFCOUNT key | IDLETIME key | FREQ key | HELP",
    summary: "Returns the encoding, reference count, idle time or access frequency of a value.",
}];

const HELP: [&str; 11] = [
    "OBJECT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "ENCODING <key>",
    "    The encoding that Redis would use: int, embstr or raw.",
    "REFCOUNT <key>",
    "    The number of references to the value: always 1.",
    "IDLETIME <key>",
    "    Seconds since the last access to the value, unless an LFU policy is selected.",
    "FREQ <key>",
    "    The logarithmic access counter of the value, if an LFU policy is selected.",
    "HELP",
    "    This text.",
];

const IDLE_TIME_UNKNOWN: &str = "An LFU maxmemory policy is selected, idle time not tracked. Please note \
     that when switching between policies at runtime LRU and LFU data will take some time to adjust.";
const FREQUENCY_UNKNOWN: &str = "An LFU maxmemory policy is not selected, access frequency not tracked. \
     Please note that when switching between policies at runtime LRU and LFU data will take some time to \
     adjust.";

/// Length of the longest value that Redis encodes as `embstr`: in one allocation with its object header.
const EMBEDDED_BYTES_MAX: usize = 44;

/// The subcommands, and the number of arguments of each, including both names.
const SUBCOMMANDS: [(&str, usize); 5] = [
    ("object|encoding", 3),
    ("object|refcount", 3),
    ("object|idletime", 3),
    ("object|freq", 3),
    ("object|help", 2),
];

/// Returns the name of the subcommand. It exists, and has this number of arguments.
pub(super) fn subcommand(arguments: &Arguments<'_>) -> Result<&'static str, Failure> {
    let own_name = |name: &'static str| &name["object|".len()..];
    match SUBCOMMANDS.iter().find(|(name, _)| is(&arguments[1], own_name(name))) {
        None => Err(unknown("object", &arguments[1])),
        Some((name, count)) if arguments.len() != *count => Err(Failure::Arity(name)),
        Some((name, _)) => Ok(own_name(name)),
    }
}

fn object(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let subcommand = subcommand(arguments)?;
    if subcommand == "help" {
        replies.array(HELP.len());
        HELP.iter().for_each(|line| replies.simple(line));
        return Ok(());
    }
    let key = &arguments[2];
    let table = keyspace.table();
    match (keyspace.peek(key)?, subcommand) {
        (None, _) => replies.null(),
        (Some(envelope), "encoding") => replies.bulk(encoding(envelope.data).as_bytes()),
        (Some(_), "refcount") => replies.integer(1),
        (Some(_), idle_or_frequency) => {
            let tracked = match (recency::frequency(table, key), idle_or_frequency == "idletime") {
                (None, true) => recency::idle_seconds(table, key),
                (Some(frequency), false) => u64::from(frequency),
                (Some(_), true) => return Err(Failure::other(IDLE_TIME_UNKNOWN)),
                (None, false) => return Err(Failure::other(FREQUENCY_UNKNOWN)),
            };
            replies.integer(tracked as i64);
        }
    }
    Ok(())
}

/// Returns the encoding that Redis would choose for a value that was just set.
fn encoding(data: &[u8]) -> &'static str {
    match data.len() {
        _ if parse_decimal(data).is_some() => "int",
        0..=EMBEDDED_BYTES_MAX => "embstr",
        _ => "raw",
    }
}

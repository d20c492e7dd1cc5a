//! `OBJECT`: encoding, reference count and access statistics of a pair.

use honeycomb_protocol::resp::{Replies, parse_decimal};

use crate::arguments::{Arguments, is, shown};
use crate::command::{Command, CommandForm, Keys};
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

fn object(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let subcommand = &arguments[1];
    let Some(key) = arguments.get(2).filter(|_| arguments.len() == 3) else {
        return help(arguments, replies);
    };
    let requested = ["encoding", "refcount", "idletime", "freq"].map(|name| is(subcommand, name));
    if !requested.contains(&true) {
        return Err(unknown(subcommand));
    }
    let table = keyspace.table();
    match (keyspace.peek(key)?, requested) {
        (None, _) => replies.null(),
        (Some(envelope), [true, ..]) => replies.bulk(encoding(envelope.data).as_bytes()),
        (Some(_), [_, true, ..]) => replies.integer(1),
        (Some(_), [.., idle, _]) => {
            let tracked = match (recency::frequency(table, key), idle) {
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

/// Writes the help text for `OBJECT HELP`. Any other subcommand is an error.
fn help(arguments: &Arguments<'_>, replies: &mut Replies) -> Result<(), Failure> {
    if !is(&arguments[1], "help") || arguments.len() != 2 {
        return Err(unknown(&arguments[1]));
    }
    replies.array(HELP.len());
    HELP.iter().for_each(|line| replies.simple(line));
    Ok(())
}

fn unknown(subcommand: &[u8]) -> Failure {
    let subcommand = shown(subcommand);
    Failure::other(format!(
        "unknown subcommand or wrong number of arguments for '{subcommand}'. Try OBJECT HELP."
    ))
}

/// Returns the encoding that Redis would choose for a value that was just set.
fn encoding(data: &[u8]) -> &'static str {
    match data.len() {
        _ if parse_decimal(data).is_some() => "int",
        0..=EMBEDDED_BYTES_MAX => "embstr",
        _ => "raw",
    }
}

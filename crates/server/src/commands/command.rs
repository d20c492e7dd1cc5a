//! `COMMAND`: metadata and documentation of all commands, in the formats of Redis 7.

use honeycomb_protocol::resp::{Replies, parse_decimal};

use crate::arguments::{Arguments, is};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::categories::{allocates_memory, categories, reads, writes};
use crate::commands::subcommands::{self, Subcommand};
use crate::commands::{self, BY_NUMBER, containers};
use crate::context::Context;
use crate::failure::Failure;
use crate::glob;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "command",
    arity: -1,
    keys: Keys::None,
    form: CommandForm::Serve(command),
    usage: "[<subcommand> [argument ...]]",
    summary: "Describes the commands; COMMAND HELP lists the subcommands.",
}];

pub(crate) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "command|count",
        arity: 2,
        usage: "",
        summary: "Returns the number of commands.",
        run: |context, _| {
            context.replies.integer(BY_NUMBER.len() as i64);
            Ok(())
        },
    },
    Subcommand {
        name: "command|docs",
        arity: -2,
        usage: "[name ...]",
        summary: "Returns summary, usage and group of commands.",
        run: |context, arguments| {
            let commands: Vec<_> = selected(arguments).into_iter().flatten().collect();
            context.replies.map(commands.len());
            commands.iter().for_each(|command| document(command, context.replies));
            Ok(())
        },
    },
    Subcommand {
        name: "command|getkeys",
        arity: -3,
        usage: "name [argument ...]",
        summary: "Returns the keys among the arguments of a command.",
        run: |context, arguments| {
            let (_, keys) = keys(arguments)?;
            context.replies.array(keys.len());
            keys.iter().for_each(|key| context.replies.bulk(key));
            Ok(())
        },
    },
    Subcommand {
        name: "command|getkeysandflags",
        arity: -3,
        usage: "name [argument ...]",
        summary: "Returns the keys among the arguments of a command, each with its access flags.",
        run: |context, arguments| {
            let (command, keys) = keys(arguments)?;
            let flags = access(command);
            context.replies.array(keys.len());
            for key in keys {
                context.replies.array(2);
                context.replies.bulk(key);
                context.replies.set(flags.len());
                flags.iter().for_each(|flag| context.replies.simple(flag));
            }
            Ok(())
        },
    },
    Subcommand {
        name: "command|info",
        arity: -2,
        usage: "[name ...]",
        summary: "Returns arity, flags, key positions and categories of commands.",
        run: |context, arguments| {
            let (names, replies) = (arguments.from(2), &mut *context.replies);
            if names.is_empty() {
                describe_all(replies);
                return Ok(());
            }
            replies.array(names.len());
            names.iter().for_each(|name| describe_named(name, replies));
            Ok(())
        },
    },
    Subcommand {
        name: "command|list",
        arity: -2,
        usage: "[FILTERBY MODULE name | ACLCAT category | PATTERN pattern]",
        summary: "Lists the names of commands and subcommands, optionally of a category or a pattern.",
        run: list,
    },
];

fn command(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    if arguments.len() > 1 {
        return subcommands::run(context, ("command", SUBCOMMANDS), arguments);
    }
    describe_all(context.replies);
    Ok(())
}

fn list(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let filter = match (arguments.len(), arguments.get(2)) {
        (2, _) => None,
        (5, Some(word)) if is(word, "filterby") => Some((&arguments[3], &arguments[4])),
        _ => return Err(Failure::Syntax),
    };
    let all = BY_NUMBER.iter().flat_map(|command| {
        let subcommands = containers::of(command.name).iter().map(|subcommand| subcommand.name);
        let names = std::iter::once(command.name.to_owned()).chain(subcommands.map(str::to_owned));
        let help = containers::has_help(command.name).then(|| format!("{}|help", command.name));
        names.chain(help).map(move |name| (name, *command))
    });
    let names: Vec<_> = match filter {
        None => all.map(|(name, _)| name).collect(),
        Some((kind, _)) if is(kind, "module") => Vec::new(),
        Some((kind, category)) if is(kind, "aclcat") => {
            let is_member = |command: &Command| categories(command).iter().any(|name| is(category, name));
            all.filter(|(_, command)| is_member(command)).map(|(name, _)| name).collect()
        }
        Some((kind, pattern)) if is(kind, "pattern") => {
            let pattern = glob::checked(pattern)?.to_ascii_lowercase();
            all.map(|(name, _)| name).filter(|name| glob::matches(&pattern, name.as_bytes())).collect()
        }
        Some(_) => return Err(Failure::Syntax),
    };
    context.replies.array(names.len());
    names.iter().for_each(|name| context.replies.bulk(name.as_bytes()));
    Ok(())
}

/// Returns the commands that the arguments name, or all commands if there are no arguments.
fn selected(arguments: &Arguments<'_>) -> Vec<Option<&'static Command>> {
    let names = arguments.from(2);
    match names.is_empty() {
        true => BY_NUMBER.iter().map(|command| Some(*command)).collect(),
        false => names.iter().map(|name| commands::find(name).map(|named| named.command)).collect(),
    }
}

/// Returns the command that the arguments quote, and the keys among its own arguments.
fn keys<'a>(arguments: &Arguments<'a>) -> Result<(&'static Command, Vec<&'a [u8]>), Failure> {
    let quoted = arguments.from(2);
    let command =
        commands::find(&quoted[0]).ok_or_else(|| Failure::other("Invalid command specified"))?.command;
    if command.keys == Keys::None {
        return Err(Failure::other("The command has no key arguments"));
    }
    if !command.accepts(quoted.len()) {
        return Err(Failure::other("Invalid number of arguments specified for command"));
    }
    let (first, last, step) = match command.keys {
        Keys::Counted => (2, counted_last(&quoted), 2),
        _ => key_positions(command),
    };
    let end = if last < 0 { quoted.len() } else { last as usize + 1 };
    let keys: Vec<_> = quoted.iter().take(end).skip(first as usize).step_by(step.max(1) as usize).collect();
    let no_keys = || Failure::other("Invalid arguments specified for command");
    if keys.is_empty() { Err(no_keys()) } else { Ok((command, keys)) }
}

/// Returns the position of the last key of a [`Keys::Counted`] command, or 0 if the number of keys is
/// invalid. With 0 the command has no keys.
fn counted_last(quoted: &Arguments<'_>) -> i64 {
    let last = parse_decimal(&quoted[1]).unwrap_or(0).saturating_mul(2);
    if (0..quoted.len() as i64 - 1).contains(&last) { last } else { 0 }
}

/// Returns the positions of the first and the last key, and the step between keys. A last position of -1
/// means the last argument.
fn key_positions(command: &Command) -> (i64, i64, i64) {
    match command.keys {
        Keys::None | Keys::Counted => (0, 0, 0),
        Keys::First => (1, 1, 1),
        Keys::Second => (2, 2, 1),
        Keys::FirstTwo => (1, 2, 1),
        Keys::All => (1, -1, 1),
        Keys::FromSecond => (2, -1, 1),
        Keys::EveryOther => (1, -1, 2),
    }
}

/// Commands that read a key's metadata but not its value.
const METADATA_ONLY: &[&str] =
    &["exists", "expiretime", "memory", "object", "pexpiretime", "pttl", "strlen", "touch", "ttl", "type"];

/// Returns how a command accesses its keys, as Redis key flags.
fn access(command: &Command) -> &'static [&'static str] {
    match command.name {
        "set" | "mset" | "msetnx" | "setnx" | "setex" | "psetex" | "msetex" => &["OW", "update"],
        "del" | "unlink" | "delex" => &["RM", "delete"],
        "getdel" => &["RW", "access", "delete"],
        "append" => &["RW", "insert"],
        name if METADATA_ONLY.contains(&name) => &["RO"],
        _ if writes(command) => &["RW", "access", "update"],
        _ => &["RO", "access"],
    }
}

fn flags(command: &Command) -> Vec<&'static str> {
    let categories = categories(command);
    let has = |category: &str| categories.contains(&category);
    let flags = [
        ("readonly", reads(command)),
        ("write", writes(command)),
        ("denyoom", allocates_memory(command)),
        ("admin", has("admin")),
        ("noscript", matches!(command.name, "multi" | "exec" | "discard" | "watch" | "unwatch" | "monitor")),
        ("fast", has("fast")),
    ];
    flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| *flag).collect()
}

/// Writes a command in the format of `COMMAND INFO`: name, arity, flags, key positions, categories, tips, key
/// specifications and subcommands.
fn describe(command: &Command, replies: &mut Replies) {
    let (first, last, step) = key_positions(command);
    replies.array(10);
    replies.bulk(command.name.as_bytes());
    replies.integer(i64::from(command.arity));
    let flags = flags(command);
    replies.set(flags.len());
    flags.iter().for_each(|flag| replies.simple(flag));
    [first, last, step].into_iter().for_each(|number| replies.integer(number));
    describe_categories(command, replies);
    replies.array(0);
    describe_keys(command, replies);
    let subcommands = containers::of(command.name);
    replies.array(subcommands.len());
    subcommands.iter().for_each(|subcommand| describe_subcommand(command, subcommand, replies));
}

fn describe_all(replies: &mut Replies) {
    replies.array(BY_NUMBER.len());
    BY_NUMBER.iter().for_each(|command| describe(command, replies));
}

/// Writes a command, a subcommand named `container|subcommand`, or a null array for an unknown name.
fn describe_named(name: &[u8], replies: &mut Replies) {
    let container = name.split(|byte| *byte == b'|').next().unwrap_or_default();
    let command = commands::find(container).map(|named| named.command);
    let subcommands = command.map_or(&[][..], |command| containers::of(command.name));
    let subcommand = subcommands.iter().find(|subcommand| is(name, subcommand.name));
    match (command, subcommand) {
        (Some(command), Some(subcommand)) => describe_subcommand(command, subcommand, replies),
        (Some(command), None) if name.len() == container.len() => describe(command, replies),
        _ => replies.null_array(),
    }
}

fn describe_subcommand(container: &Command, subcommand: &Subcommand, replies: &mut Replies) {
    let flags = flags(container);
    let flags: Vec<_> = flags.iter().filter(|flag| **flag == "admin").collect();
    replies.array(10);
    replies.bulk(subcommand.name.as_bytes());
    replies.integer(i64::from(subcommand.arity));
    replies.set(flags.len());
    flags.iter().for_each(|flag| replies.simple(flag));
    (0..3).for_each(|_| replies.integer(0));
    describe_categories(container, replies);
    (0..3).for_each(|_| replies.array(0));
}

fn describe_categories(command: &Command, replies: &mut Replies) {
    let categories = categories(command);
    replies.set(categories.len());
    categories.iter().for_each(|category| replies.simple(&format!("@{category}")));
}

/// Writes the key specification that Redis defines since version 7.
fn describe_keys(command: &Command, replies: &mut Replies) {
    let (first, last, step) = key_positions(command);
    if first == 0 {
        return replies.array(0);
    }
    let access = access(command);
    replies.array(1);
    replies.map(3);
    replies.bulk(b"flags");
    replies.set(access.len());
    access.iter().for_each(|flag| replies.simple(flag));
    replies.bulk(b"begin_search");
    replies.map(2);
    typed("index", replies);
    replies.map(1);
    pair("index", first, replies);
    replies.bulk(b"find_keys");
    replies.map(2);
    typed("range", replies);
    replies.map(3);
    // The position of the last key is relative to the first.
    pair("lastkey", if last < 0 { last } else { last - first }, replies);
    pair("keystep", step, replies);
    pair("limit", 0, replies);
}

fn typed(kind: &str, replies: &mut Replies) {
    [b"type", kind.as_bytes(), b"spec"].iter().for_each(|word| replies.bulk(word));
}

fn pair(name: &str, number: i64, replies: &mut Replies) {
    replies.bulk(name.as_bytes());
    replies.integer(number);
}

fn document(command: &Command, replies: &mut Replies) {
    let group = categories(command)[0];
    replies.bulk(command.name.as_bytes());
    replies.map(3);
    for (key, text) in [("summary", command.summary), ("usage", command.usage), ("group", group)] {
        replies.bulk(key.as_bytes());
        replies.bulk(text.as_bytes());
    }
}

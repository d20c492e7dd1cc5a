//! `COMMAND`: which commands there are.

use honeycomb_protocol::resp::{Replies, parse_decimal};

use crate::arguments::{Arguments, is};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::categories::{allocates_memory, categories, reads, writes};
use crate::commands::containers;
use crate::commands::subcommands::{self, Subcommand};
use crate::commands::{self, BY_NUMBER};
use crate::context::Context;
use crate::failure::Failure;
use crate::glob;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "command",
    arity: -1,
    keys: Keys::None,
    form: CommandForm::Serve(command),
    usage: "[<subcommand> [argument ...]]",
    summary: "Which commands there are; COMMAND HELP lists what else it tells.",
}];

pub(crate) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "command|count",
        arity: 2,
        usage: "",
        summary: "How many commands there are.",
        run: |context, _| {
            context.replies.integer(BY_NUMBER.len() as i64);
            Ok(())
        },
    },
    Subcommand {
        name: "command|docs",
        arity: -2,
        usage: "[name ...]",
        summary: "What commands do.",
        run: |context, arguments| {
            let commands: Vec<_> = named(arguments).into_iter().flatten().collect();
            context.replies.map(commands.len());
            commands.iter().for_each(|command| document(command, context.replies));
            Ok(())
        },
    },
    Subcommand {
        name: "command|getkeys",
        arity: -3,
        usage: "name [argument ...]",
        summary: "Which arguments of a command are keys.",
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
        summary: "The same, with what is done to each.",
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
        summary: "Arity, flags, places of keys and categories of commands.",
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
        summary: "The names of commands and subcommands: of all, of a category, or with a pattern.",
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
            let is_of = |command: &Command| categories(command).iter().any(|one| is(category, one));
            all.filter(|(_, command)| is_of(command)).map(|(name, _)| name).collect()
        }
        Some((kind, pattern)) if is(kind, "pattern") => {
            let pattern = pattern.to_ascii_lowercase();
            all.map(|(name, _)| name).filter(|name| glob::matches(&pattern, name.as_bytes())).collect()
        }
        Some(_) => return Err(Failure::Syntax),
    };
    context.replies.array(names.len());
    names.iter().for_each(|name| context.replies.bulk(name.as_bytes()));
    Ok(())
}

/// The commands that the arguments name, all if they name none.
fn named(arguments: &Arguments<'_>) -> Vec<Option<&'static Command>> {
    let names = arguments.from(2);
    match names.is_empty() {
        true => BY_NUMBER.iter().map(|command| Some(*command)).collect(),
        false => names.iter().map(|name| commands::find(name).map(|named| named.command)).collect(),
    }
}

/// The command whose arguments are given, and the keys among them.
fn keys<'a>(arguments: &Arguments<'a>) -> Result<(&'static Command, Vec<&'a [u8]>), Failure> {
    let given = arguments.from(2);
    let command =
        commands::find(&given[0]).ok_or_else(|| Failure::other("Invalid command specified"))?.command;
    if command.keys == Keys::None {
        return Err(Failure::other("The command has no key arguments"));
    }
    if !command.accepts(given.len()) {
        return Err(Failure::other("Invalid number of arguments specified for command"));
    }
    let (first, last, step) = match command.keys {
        Keys::Counted => (2, counted_last(&given), 2),
        _ => places(command),
    };
    let end = if last < 0 { given.len() } else { last as usize + 1 };
    let keys: Vec<_> = given.iter().take(end).skip(first as usize).step_by(step.max(1) as usize).collect();
    let none = || Failure::other("Invalid arguments specified for command");
    if keys.is_empty() { Err(none()) } else { Ok((command, keys)) }
}

/// The last place of a key, if the first argument is the number of keys, each of which a value follows; 0, so
/// that there is none, if the number is not valid.
fn counted_last(given: &Arguments<'_>) -> i64 {
    let last = parse_decimal(&given[1]).unwrap_or(0).saturating_mul(2);
    if (0..given.len() as i64 - 1).contains(&last) { last } else { 0 }
}

/// The first and the last place of a key, and from one to the next; the last is -1 if it is the end.
fn places(command: &Command) -> (i64, i64, i64) {
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

/// Commands that look at no value.
const WITHOUT_VALUE: &[&str] =
    &["exists", "expiretime", "memory", "object", "pexpiretime", "pttl", "strlen", "touch", "ttl", "type"];

/// What is done to the keys of a command, as Redis calls it.
fn access(command: &Command) -> &'static [&'static str] {
    match command.name {
        "set" | "mset" | "msetnx" | "setnx" | "setex" | "psetex" | "msetex" => &["OW", "update"],
        "del" | "unlink" | "delex" => &["RM", "delete"],
        "getdel" => &["RW", "access", "delete"],
        "append" => &["RW", "insert"],
        name if WITHOUT_VALUE.contains(&name) => &["RO"],
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
    flags.iter().filter(|(_, holds)| *holds).map(|(flag, _)| *flag).collect()
}

/// A command as `COMMAND INFO` shows it: name, arity, flags, where its keys are, categories, tips, keys once
/// more, and subcommands.
fn describe(command: &Command, replies: &mut Replies) {
    let (first, last, step) = places(command);
    replies.array(10);
    replies.bulk(command.name.as_bytes());
    replies.integer(i64::from(command.arity));
    let flags = flags(command);
    replies.set(flags.len());
    flags.iter().for_each(|flag| replies.simple(flag));
    [first, last, step].into_iter().for_each(|place| replies.integer(place));
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

/// A command, or a subcommand with the name of its container.
fn describe_named(name: &[u8], replies: &mut Replies) {
    let container = name.split(|byte| *byte == b'|').next().unwrap_or_default();
    let found = commands::find(container).map(|named| named.command);
    let subcommands = found.map_or(&[][..], |command| containers::of(command.name));
    let subcommand = subcommands.iter().find(|subcommand| is(name, subcommand.name));
    match (found, subcommand) {
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

/// Where the keys are, as Redis tells it since its version 7.
fn describe_keys(command: &Command, replies: &mut Replies) {
    let (first, last, step) = places(command);
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
    // Relative to the first.
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

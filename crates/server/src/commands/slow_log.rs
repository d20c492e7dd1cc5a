//! `SLOWLOG`: the log of slow commands.

use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, integer, is};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::subcommands::{self, Subcommand};
use crate::failure::Failure;
use crate::slow_log::Entry;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "slowlog",
    arity: -2,
    keys: Keys::None,
    form: CommandForm::Serve(|context, arguments| {
        subcommands::run(context, ("slowlog", SUBCOMMANDS), arguments)
    }),
    usage: "GET [count] | EXPLAIN [count] | LEN | RESET | HELP",
    summary: "Shows the commands that took longer than slowlog-log-slower-than, and explains them.",
}];

/// Returns whether the reply to a `SLOWLOG` with these arguments shows commands, and so writes.
pub(crate) fn shows_writes(arguments: &Arguments<'_>) -> bool {
    is(&arguments[1], "get") || is(&arguments[1], "explain")
}

pub(crate) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "slowlog|explain",
        arity: -2,
        usage: "[count]",
        summary: "Returns the entries of GET as maps, with batch sizes and memory accesses.",
        run: |context, arguments| {
            let entries = context.shared.slow_log.newest(count(arguments)?);
            context.replies.array(entries.len());
            entries.iter().for_each(|entry| explain(entry, context.replies));
            Ok(())
        },
    },
    Subcommand {
        name: "slowlog|get",
        arity: -2,
        usage: "[count]",
        summary: "Returns the newest entries (10 by default; -1 for all): ID, time, microseconds, arguments, \
                  address and name of the client. Commands that ran in one batch share an entry.",
        run: |context, arguments| {
            let entries = context.shared.slow_log.newest(count(arguments)?);
            context.replies.array(entries.len());
            entries.iter().for_each(|entry| show(entry, context.replies));
            Ok(())
        },
    },
    Subcommand {
        name: "slowlog|len",
        arity: 2,
        usage: "",
        summary: "Returns the number of entries.",
        run: |context, _| {
            context.replies.integer(context.shared.slow_log.len() as i64);
            Ok(())
        },
    },
    Subcommand {
        name: "slowlog|reset",
        arity: 2,
        usage: "",
        summary: "Removes all entries.",
        run: |context, _| {
            context.shared.slow_log.clear();
            context.replies.ok();
            Ok(())
        },
    },
];

fn count(arguments: &Arguments<'_>) -> Result<usize, Failure> {
    if arguments.len() > 3 {
        return Err(Failure::Syntax);
    }
    match arguments.get(2).map(integer).transpose()? {
        None => Ok(10),
        Some(-1) => Ok(usize::MAX),
        Some(count) => {
            usize::try_from(count).map_err(|_| Failure::other("count should be greater than or equal to -1"))
        }
    }
}

fn show(entry: &Entry, replies: &mut Replies) {
    replies.array(6);
    [entry.id, entry.at, entry.took.as_micros() as u64]
        .iter()
        .for_each(|number| replies.integer(*number as i64));
    command(entry, replies);
    replies.bulk(entry.address.as_bytes());
    replies.bulk(&entry.name);
}

fn explain(entry: &Entry, replies: &mut Replies) {
    let memory = entry.touched.memory;
    let numbers = [
        ("id", Some(entry.id)),
        ("time", Some(entry.at)),
        ("microseconds", Some(entry.took.as_micros() as u64)),
        ("together", Some(entry.together as u64)),
        ("request-bytes", Some(entry.request_bytes as u64)),
        ("reply-bytes", Some(entry.reply_bytes as u64)),
        ("chain-steps", Some(entry.touched.chain_steps)),
        ("nodes", memory.map(|memory| memory.nodes)),
        ("bytes", memory.map(|memory| memory.bytes)),
        ("lines", memory.map(|memory| memory.lines)),
    ];
    let known: Vec<_> = numbers.into_iter().filter_map(|(name, number)| Some((name, number?))).collect();
    replies.map(known.len() + 1);
    for (name, number) in known {
        replies.bulk(name.as_bytes());
        replies.integer(number as i64);
    }
    replies.bulk(b"command");
    command(entry, replies);
}

fn command(entry: &Entry, replies: &mut Replies) {
    replies.array(entry.arguments.len());
    entry.arguments.iter().for_each(|argument| replies.bulk(argument));
}

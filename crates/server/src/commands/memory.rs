//! `MEMORY`: the memory usage of a pair and of the server, and problems with it.

use std::fmt::Write;

use honeycomb_memory::heap;
use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, Options};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::subcommands::{self, Subcommand};
use crate::commands::transactions::run_alone;
use crate::context::Context;
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::memory_usage::{MemoryUsage, percent};
use crate::server_state::ServerState;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "memory",
    arity: -2,
    keys: Keys::Second,
    form: CommandForm::Store(|context, arguments| {
        subcommands::run(context, ("memory", SUBCOMMANDS), arguments)
    }),
    usage: "USAGE key [SAMPLES count] | STATS | DOCTOR | MALLOC-STATS | PURGE | HELP",
    summary: "Shows the memory usage of a pair and of the server, and problems with it.",
}];

pub(crate) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "memory|doctor",
        arity: 2,
        usage: "",
        summary: "Returns a report of memory problems in plain text.",
        run: |context, _| {
            let report = report(&problems(context.shared));
            context.replies.verbatim(&report);
            Ok(())
        },
    },
    Subcommand {
        name: "memory|malloc-stats",
        arity: 2,
        usage: "",
        summary: "Returns the usage of the store's arena in plain text.",
        run: malloc_stats,
    },
    Subcommand {
        name: "memory|purge",
        arity: 2,
        usage: "",
        summary: "Returns free heap memory to the operating system; the store keeps its arena.",
        run: |context, _| {
            heap::trim();
            context.replies.ok();
            Ok(())
        },
    },
    Subcommand {
        name: "memory|stats",
        arity: 2,
        usage: "",
        summary: "Returns the memory usage of the server by purpose.",
        run: stats,
    },
    Subcommand {
        name: "memory|usage",
        arity: -3,
        usage: "key [SAMPLES count]",
        summary: "Returns the bytes of a pair in its leaf, or in slots and slab of an unordered database, \
            and in the buffer of an overflow value.",
        run: usage,
    },
];

/// A usage of at least this percentage of a limit is a problem.
const PERCENT_MAX: f64 = 90.0;
/// It is a problem if snapshots pin at least this percentage of the arena.
const PINNED_PERCENT_MAX: f64 = 10.0;

fn stats(context: &mut Context<'_>, _: &Arguments<'_>) -> Result<(), Failure> {
    let shared = context.shared;
    let usage = MemoryUsage::of(shared);
    let pairs: u64 = shared.tables().iter().map(|table| table.pair_count()).sum();
    let dataset = usage.pairs();
    let numbers = [
        ("peak.allocated", usage.peak),
        ("total.allocated", usage.used),
        ("clients.normal", usage.of_clients),
        ("overhead.total", usage.used - dataset.min(usage.used)),
        ("keys.count", pairs as usize),
        ("keys.bytes-per-key", dataset.checked_div(pairs as usize).unwrap_or(0)),
        ("dataset.bytes", dataset),
        ("allocator.allocated", usage.arena.arena_bytes - usage.arena.free_bytes),
        ("allocator.active", usage.arena.arena_bytes),
        ("allocator.resident", usage.resident),
    ];
    let ratios = [
        ("dataset.percentage", percent(dataset, usage.used)),
        ("peak.percentage", usage.percent_of_peak()),
        ("fragmentation", usage.resident_ratio()),
    ];
    let replies = &mut *context.replies;
    replies.map(numbers.len() + ratios.len() + 1);
    for (name, number) in numbers {
        replies.bulk(name.as_bytes());
        replies.integer(number as i64);
    }
    for (name, ratio) in ratios {
        replies.bulk(name.as_bytes());
        replies.double(ratio);
    }
    replies.bulk(b"fragmentation.bytes");
    replies.integer(usage.resident as i64 - usage.used as i64);
    Ok(())
}

/// Describes each problem that an operator should know about.
fn problems(shared: &ServerState) -> Vec<String> {
    let (usage, config) = (MemoryUsage::of(shared), shared.config());
    let (used, limit) = (usage.arena.arena_bytes - usage.arena.free_bytes, config.memory_limit_bytes());
    let pinned = shared.store.statistics().snapshots.pinned_bytes as usize;
    let mut problems = Vec::new();
    if percent(used, limit) >= PERCENT_MAX && !config.eviction.policy.evicts() {
        problems.push(format!(
            "The store uses {used} of the {limit} bytes of maxmemory. The policy is noeviction, so the \
             server rejects writes above this limit."
        ));
    }
    let (clients, clients_max) = (usage.of_clients, config.clients_bytes_max);
    if percent(clients, clients_max) >= PERCENT_MAX {
        problems.push(format!(
            "Clients use {clients} of the {clients_max} bytes of maxmemory-clients. Above this limit the \
             server disconnects the client that uses the most memory."
        ));
    }
    if percent(pinned, usage.arena.arena_bytes) >= PINNED_PERCENT_MAX {
        problems.push(format!("The oldest snapshot prevents the reclamation of {pinned} bytes."));
    }
    problems
}

fn report(problems: &[String]) -> String {
    let mut report = match problems {
        [] => "The server found no memory problems.\n".to_owned(),
        _ => format!("Memory problems: {}\n", problems.len()),
    };
    for problem in problems {
        let _ = writeln!(report, " * {problem}");
    }
    report
}

fn malloc_stats(context: &mut Context<'_>, _: &Arguments<'_>) -> Result<(), Failure> {
    let arena = MemoryUsage::of(context.shared).arena;
    let mut text = format!("Bytes of the arena: {}\n", arena.arena_bytes);
    for (kind, bytes) in [
        ("free", arena.free_bytes),
        ("nodes", arena.node_bytes),
        ("overflow values", arena.value_bytes),
        ("reserve for removals", arena.reserve_bytes),
        ("retired", arena.retired_bytes),
        ("private to writes", arena.private_bytes),
    ] {
        let _ = writeln!(text, "{kind}: {bytes}");
    }
    let outside = arena.page_table_bytes + arena.overhead_bytes;
    let _ = writeln!(text, "Bytes outside the arena (page table and allocator metadata): {outside}");
    context.replies.verbatim(&text);
    Ok(())
}

fn usage(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (databases, session, now) = (&context.shared.databases, &*context.session, context.now);
    match context.transaction.as_deref_mut() {
        Some(transaction) => {
            let mut keyspace = Keyspace::in_transaction(databases, session, now, transaction);
            pair_usage(&mut keyspace, arguments, context.replies)
        }
        None => run_alone(context, pair_usage, arguments, context.budget),
    }
}

fn pair_usage(
    keyspace: &mut Keyspace<'_>,
    arguments: &Arguments<'_>,
    replies: &mut Replies,
) -> Result<(), Failure> {
    let (key, mut options) = (&arguments[2], Options::from(arguments, 3));
    while let Some(word) = options.word() {
        match &*word {
            b"SAMPLES" if options.integer()? >= 0 => {}
            _ => return Err(Failure::Syntax),
        }
    }
    let unordered = keyspace.table().unordered().cloned();
    match keyspace.peek(key)? {
        Some(envelope) => {
            let bytes = match unordered {
                Some(table) => table.pair_bytes(key.len(), envelope.bytes()),
                None => envelope.pair_bytes(key),
            };
            replies.integer(bytes as i64);
        }
        None => replies.null(),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_lists_all_problems() {
        assert_eq!(report(&[]), "The server found no memory problems.\n");
        let problems = ["One.".to_owned(), "Two.".to_owned()];
        assert_eq!(report(&problems), "Memory problems: 2\n * One.\n * Two.\n");
    }
}

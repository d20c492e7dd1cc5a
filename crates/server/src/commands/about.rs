//! What the server is and how it does.

use std::fmt::Write;

use honeycomb_memory::sync::Ordering;
use honeycomb_protocol::resp::Replies;

use crate::arguments::{Arguments, is};
use crate::command::{Command, Keys, Run};
use crate::commands::BY_NAME;
use crate::failure::Failure;
use crate::glob;
use crate::session::Context;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "info",
        arity: -1,
        keys: Keys::None,
        run: Run::Serve(info),
        usage: "[section ...]",
        summary: "How the server does: server, clients, memory, stats, keyspace.",
    },
    Command {
        name: "command",
        arity: -1,
        keys: Keys::None,
        run: Run::Serve(command),
        usage: "[COUNT | LIST | INFO [name ...] | DOCS [name ...]]",
        summary: "Which commands there are.",
    },
    Command {
        name: "config",
        arity: -2,
        keys: Keys::None,
        run: Run::Serve(config),
        usage: "GET pattern [pattern ...]",
        summary: "The parameters that the server was started with.",
    },
];

fn info(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let wanted = |section: &str| {
        let everything = |name: &&[u8]| ["all", "default", "everything"].iter().any(|all| is(name, all));
        arguments.len() == 1 || arguments[1..].iter().any(|name| is(name, section) || everything(name))
    };
    let mut text = String::new();
    for (name, section) in sections(context) {
        if wanted(name) {
            let _ = write!(text, "# {}{}\r\n{section}\r\n", name[..1].to_uppercase(), &name[1..]);
        }
    }
    context.replies.verbatim(&text);
    Ok(())
}

fn sections(context: &Context<'_>) -> [(&'static str, String); 5] {
    let shared = context.shared;
    let seconds = shared.time.milliseconds().saturating_sub(shared.started) / 1000;
    let statistics = shared.store.statistics();
    let count = |counter: &honeycomb_memory::sync::AtomicU64| counter.load(Ordering::Relaxed);
    let keyspace = shared.tables().iter().filter(|table| table.pair_count() > 0);
    [
        (
            "server",
            lines(&[
                ("honeycomb_version", env!("CARGO_PKG_VERSION").to_owned()),
                ("tcp_port", shared.config.address.port().to_string()),
                ("cores", shared.config.cores.to_string()),
                ("uptime_in_seconds", seconds.to_string()),
            ]),
        ),
        ("clients", lines(&[("connected_clients", shared.connections.load(Ordering::Relaxed).to_string())])),
        (
            "memory",
            lines(&[
                ("used_memory", (statistics.memory.arena_bytes - statistics.memory.free_bytes).to_string()),
                ("maxmemory", statistics.memory.arena_bytes.to_string()),
            ]),
        ),
        (
            "stats",
            lines(&[
                ("total_commands_processed", count(&shared.commands).to_string()),
                ("expired_keys", count(&shared.expired).to_string()),
            ]),
        ),
        (
            "keyspace",
            keyspace.map(|table| format!("db{}:keys={}\r\n", table.name(), table.pair_count())).collect(),
        ),
    ]
}

fn lines(fields: &[(&str, String)]) -> String {
    fields.iter().map(|(name, value)| format!("{name}:{value}\r\n")).collect()
}

fn command(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let replies = &mut *context.replies;
    let Some(form) = arguments.get(1) else {
        replies.array(BY_NAME.len());
        BY_NAME.values().for_each(|command| describe(command, replies));
        return Ok(());
    };
    let named: Vec<_> = match &arguments[2..] {
        [] => BY_NAME.values().map(|command| Some(*command)).collect(),
        names => names.iter().map(|name| Command::named(name)).collect(),
    };
    if is(form, "count") {
        replies.integer(BY_NAME.len() as i64);
    } else if is(form, "list") {
        replies.array(BY_NAME.len());
        BY_NAME.keys().for_each(|name| replies.bulk(name.as_bytes()));
    } else if is(form, "info") {
        replies.array(named.len());
        named.iter().for_each(|command| match command {
            Some(command) => describe(command, replies),
            None => replies.null_array(),
        });
    } else if is(form, "docs") {
        let known: Vec<_> = named.into_iter().flatten().collect();
        replies.map(known.len());
        known.iter().for_each(|command| document(command, replies));
    } else {
        return Err(Failure::other("COMMAND knows COUNT, LIST, INFO and DOCS"));
    }
    Ok(())
}

/// A command as `COMMAND INFO` shows it: name, arity, flags, and where its keys are.
fn describe(command: &Command, replies: &mut Replies) {
    let (first, last, step) = match command.keys {
        Keys::None => (0, 0, 0),
        Keys::First => (1, 1, 1),
        Keys::All => (1, -1, 1),
        Keys::EveryOther => (1, -1, 2),
    };
    replies.array(6);
    replies.bulk(command.name.as_bytes());
    replies.integer(i64::from(command.arity));
    let flags: &[&str] = match command.run {
        Run::Read(_) => &["readonly", "fast"],
        Run::Write(..) | Run::Update(_) => &["write", "denyoom"],
        Run::Serve(_) => &[],
    };
    replies.set(flags.len());
    flags.iter().for_each(|flag| replies.simple(flag));
    [first, last, step].into_iter().for_each(|place| replies.integer(place));
}

fn document(command: &Command, replies: &mut Replies) {
    replies.bulk(command.name.as_bytes());
    replies.map(2);
    for (key, text) in [("summary", command.summary), ("usage", command.usage)] {
        replies.bulk(key.as_bytes());
        replies.bulk(text.as_bytes());
    }
}

fn config(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    if !is(arguments[1], "get") || arguments.len() < 3 {
        return Err(Failure::other("CONFIG knows GET; parameters are set when the server is started"));
    }
    let config = &context.shared.config;
    let parameters = [
        ("bind", config.address.ip().to_string()),
        ("cores", config.cores.to_string()),
        ("databases", config.databases.to_string()),
        ("maxclients", config.connections_max.to_string()),
        ("maxmemory", context.shared.store.statistics().memory.arena_bytes.to_string()),
        ("port", config.address.port().to_string()),
        ("save", String::new()),
        ("appendonly", "no".to_owned()),
    ];
    let asked = |name: &str| {
        arguments[2..].iter().any(|pattern| glob::matches(&pattern.to_ascii_lowercase(), name.as_bytes()))
    };
    let found: Vec<_> = parameters.iter().filter(|(name, _)| asked(name)).collect();
    context.replies.map(found.len());
    for (name, value) in found {
        context.replies.bulk(name.as_bytes());
        context.replies.bulk(value.as_bytes());
    }
    Ok(())
}

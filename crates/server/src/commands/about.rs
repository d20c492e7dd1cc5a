//! What the server is and how it does.

use std::fmt::Write;

use honeycomb_memory::sync::Ordering;
use honeycomb_protocol::resp::Replies;
use honeycomb_store::Table;

use crate::arguments::{Arguments, is};
use crate::command::{Command, Keys, Run};
use crate::commands::BY_NUMBER;
use crate::deadlines::{Survey, slot};
use crate::eviction::POLICIES;
use crate::failure::Failure;
use crate::parameters::name;
use crate::session::Context;
use crate::shared::Shared;
use crate::totals::Totals;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "info",
        arity: -1,
        keys: Keys::None,
        run: Run::Serve(info),
        usage: "[section ...]",
        summary: "How the server does: server, clients, memory, stats, commandstats, keyspace.",
    },
    Command {
        name: "command",
        arity: -1,
        keys: Keys::None,
        run: Run::Serve(command),
        usage: "[COUNT | LIST | INFO [name ...] | DOCS [name ...]]",
        summary: "Which commands there are.",
    },
];

/// The Redis whose commands on strings, keys and connections these are: clients ask for it to know what they
/// may send.
const REDIS_VERSION: &str = "7.4.0";

fn info(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let wanted = |section: &str| {
        let everything = |name: &[u8]| ["all", "default", "everything"].iter().any(|all| is(name, all));
        arguments.len() == 1 || arguments.from(1).iter().any(|name| is(name, section) || everything(name))
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

fn sections(context: &Context<'_>) -> [(&'static str, String); 6] {
    let (shared, totals) = (context.shared, Totals::since_reset(context.shared));
    [
        ("server", server(shared)),
        ("clients", lines(&[("connected_clients", shared.connections.load(Ordering::Relaxed).to_string())])),
        ("memory", memory(shared)),
        ("stats", stats(shared, &totals)),
        ("commandstats", commands(&totals)),
        ("keyspace", keyspace(shared)),
    ]
}

fn server(shared: &Shared) -> String {
    let seconds = shared.time.milliseconds().saturating_sub(shared.started) / 1000;
    let config = shared.config();
    lines(&[
        ("honeycomb_version", env!("CARGO_PKG_VERSION").to_owned()),
        ("redis_version", REDIS_VERSION.to_owned()),
        ("tcp_port", config.address.port().to_string()),
        ("cores", config.cores.to_string()),
        ("uptime_in_seconds", seconds.to_string()),
    ])
}

fn memory(shared: &Shared) -> String {
    let memory = shared.store.statistics().memory;
    let clients = shared.clients.bytes().load(Ordering::Relaxed);
    lines(&[
        ("used_memory", (memory.arena_bytes - memory.free_bytes + clients).to_string()),
        ("mem_clients_normal", clients.to_string()),
        ("maxmemory", memory.arena_bytes.to_string()),
        ("maxmemory_policy", name(shared.config().eviction.policy, POLICIES)),
    ])
}

fn keyspace(shared: &Shared) -> String {
    let surveys = shared.deadlines.survey(shared.time.milliseconds()).unwrap_or_default();
    let used = shared.tables().iter().enumerate().filter(|(_, table)| table.pair_count() > 0);
    let line = |(number, table): (usize, &Table)| {
        let surveyed = slot(table).and_then(|slot| surveys.get(slot).copied());
        let (Survey { expires, average_ttl }, keys) = (surveyed.unwrap_or_default(), table.pair_count());
        format!("db{number}:keys={keys},expires={expires},avg_ttl={average_ttl}\r\n")
    };
    used.map(line).collect()
}

fn stats(shared: &Shared, totals: &Totals) -> String {
    lines(&[
        ("total_connections_received", totals.accepted.to_string()),
        ("rejected_connections", totals.refused.to_string()),
        ("total_commands_processed", totals.carried_out().to_string()),
        ("total_net_input_bytes", totals.received_bytes.to_string()),
        ("total_net_output_bytes", totals.sent_bytes.to_string()),
        ("expired_keys", totals.expired.to_string()),
        ("evicted_keys", totals.evicted_pairs.to_string()),
        (
            "expired_stale_perc",
            format!("{:.2}", shared.deadlines.overdue_percent(shared.time.milliseconds())),
        ),
    ])
}

/// The commands that were carried out, as Redis shows them.
fn commands(totals: &Totals) -> String {
    let mut text = String::new();
    for (command, (microseconds, errors)) in BY_NUMBER.iter().zip(&totals.commands) {
        let (calls, sum) = (microseconds.count(), microseconds.sum);
        if calls > 0 {
            let each = sum as f64 / calls as f64;
            let _ =
                write!(text, "cmdstat_{}:calls={calls},usec={sum},usec_per_call={each:.2},", command.name);
            let _ = write!(text, "rejected_calls=0,failed_calls={errors}\r\n");
        }
    }
    text
}

fn lines(fields: &[(&str, String)]) -> String {
    fields.iter().map(|(name, value)| format!("{name}:{value}\r\n")).collect()
}

fn command(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let replies = &mut *context.replies;
    let Some(form) = arguments.get(1) else {
        replies.array(BY_NUMBER.len());
        BY_NUMBER.iter().for_each(|command| describe(command, replies));
        return Ok(());
    };
    let names = arguments.from(2);
    let named: Vec<_> = match names.is_empty() {
        true => BY_NUMBER.iter().map(|command| Some(*command)).collect(),
        false => names.iter().map(|name| Command::named(name).map(|named| named.command)).collect(),
    };
    if is(form, "count") {
        replies.integer(BY_NUMBER.len() as i64);
    } else if is(form, "list") {
        replies.array(BY_NUMBER.len());
        BY_NUMBER.iter().for_each(|command| replies.bulk(command.name.as_bytes()));
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
        Keys::Second => (2, 2, 1),
        Keys::All => (1, -1, 1),
        Keys::EveryOther => (1, -1, 2),
    };
    replies.array(6);
    replies.bulk(command.name.as_bytes());
    replies.integer(i64::from(command.arity));
    let flags: &[&str] = match command.run {
        Run::Read(_) | Run::Values(_) | Run::Range(_) => &["readonly", "fast"],
        Run::Walk(_) => &["readonly"],
        Run::Write(..) | Run::Update(_) => &["write", "denyoom"],
        Run::Exec | Run::Serve(_) => &[],
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

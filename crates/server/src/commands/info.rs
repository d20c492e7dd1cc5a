//! `INFO`: state and statistics of the server, in the format of Redis. Fields about features that this server
//! does not have, such as the append-only file, have the values that Redis reports when they are disabled.
//! A reply with a section that counts pairs depends on all writes so far, as a scan does. The other sections
//! describe the process and its log, so they are there even while nothing becomes durable.

use std::fmt::Write;

use honeycomb_memory::sync::Ordering;

use crate::arguments::{Arguments, is};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::BY_NUMBER;
use crate::commands::persistence::last_save;
use crate::commands::pubsub;
use crate::context::Context;
use crate::deadlines::{Survey, slot};
use crate::eviction_policy::POLICIES;
use crate::failure::Failure;
use crate::memory_usage::MemoryUsage;
use crate::notifications::Kind;
use crate::parameters::name;
use crate::tally::PREFIXES;
use crate::{VERSION_OF_REDIS, process};

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "info",
    arity: -1,
    keys: Keys::None,
    form: CommandForm::Serve(info),
    usage: "[section ...]",
    summary: "Returns state and statistics in sections: server, clients, memory, persistence, stats, \
        replication, cpu, modules, commandstats, errorstats, latencystats, cluster, unordered, keyspace; or \
        default, all, everything.",
}];

type Section = fn(&Context<'_>, &mut Lines) -> ();

/// The sections that count pairs.
const OF_PAIRS: [&str; 2] = ["Unordered", "Keyspace"];

/// The sections, and whether the default output includes each.
const SECTIONS: [(&str, bool, Section); 14] = [
    ("Server", true, server),
    ("Clients", true, clients),
    ("Memory", true, memory),
    ("Persistence", true, persistence),
    ("Stats", true, stats),
    ("Replication", true, replication),
    ("CPU", true, processor),
    ("Modules", true, |_, _| {}),
    ("Commandstats", false, commands),
    ("Errorstats", true, errors),
    ("Latencystats", false, latencies),
    ("Cluster", true, |_, lines| lines.field("cluster_enabled", 0)),
    ("Unordered", true, unordered),
    ("Keyspace", true, keyspace),
];

/// The text of a section.
struct Lines(String);

impl Lines {
    fn field(&mut self, name: &str, value: impl std::fmt::Display) {
        let _ = write!(self.0, "{name}:{value}\r\n");
    }
}

fn info(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let mut text = String::new();
    context.flush_counts();
    for (name, section) in requested(arguments) {
        let mut lines = Lines(String::new());
        section(context, &mut lines);
        let gap = if text.is_empty() { "" } else { "\r\n" };
        let _ = write!(text, "{gap}# {name}\r\n{}", lines.0);
    }
    context.replies.verbatim(&text);
    Ok(())
}

/// Returns whether the reply to an `INFO` with these arguments counts pairs.
pub(crate) fn counts_pairs(arguments: &Arguments<'_>) -> bool {
    requested(arguments).any(|(name, _)| OF_PAIRS.contains(&name))
}

/// Returns the sections that a client requests, in their order.
fn requested(arguments: &Arguments<'_>) -> impl Iterator<Item = (&'static str, Section)> {
    let named = arguments.from(1);
    let is_named = move |name: &str| named.iter().any(|section| is(section, name));
    let everything = is_named("all") || is_named("everything");
    let default = named.is_empty() || is_named("default");
    let sections = SECTIONS.into_iter();
    let requested =
        sections.filter(move |&(name, is_default, _)| everything || default && is_default || is_named(name));
    requested.map(|(name, _, section)| (name, section))
}

fn server(context: &Context<'_>, lines: &mut Lines) {
    let (shared, config) = (context.shared, context.shared.config());
    let seconds = shared.time.milliseconds().saturating_sub(shared.started) / 1000;
    lines.field("redis_version", VERSION_OF_REDIS);
    lines.field("honeycomb_version", env!("CARGO_PKG_VERSION"));
    lines.field("redis_mode", "standalone");
    lines.field("os", process::system());
    lines.field("arch_bits", usize::BITS);
    lines.field("multiplexing_api", "epoll");
    lines.field("process_id", std::process::id());
    lines.field("run_id", &shared.run_id);
    lines.field("tcp_port", config.address.port());
    lines.field("server_time_usec", shared.time.microseconds());
    lines.field("uptime_in_seconds", seconds);
    lines.field("uptime_in_days", seconds / 86_400);
    lines.field("cores", config.cores);
    lines.field("executable", process::executable());
    lines.field("config_file", "");
    lines.field("io_threads_active", 0);
    lines.field(
        "listener0",
        format_args!("name=tcp,bind={},port={}", config.address.ip(), config.address.port()),
    );
}

fn clients(context: &Context<'_>, lines: &mut Lines) {
    let (shared, all) = (context.shared, context.shared.clients.all());
    let activity = || all.iter().map(|client| client.activity());
    lines.field("connected_clients", shared.connections.load(Ordering::Relaxed));
    lines.field("cluster_connections", 0);
    lines.field("maxclients", shared.config().connections_max);
    lines.field(
        "client_recent_max_input_buffer",
        activity().map(|activity| activity.request_bytes).max().unwrap_or(0),
    );
    lines.field(
        "client_recent_max_output_buffer",
        activity().map(|activity| activity.reply_bytes).max().unwrap_or(0),
    );
    lines.field("blocked_clients", 0);
    lines.field("tracking_clients", 0);
    lines.field("watching_clients", activity().filter(|activity| activity.watched > 0).count());
    lines.field("clients_in_timeout_table", 0);
    lines.field("total_watched_keys", activity().map(|activity| activity.watched).sum::<usize>());
    lines.field("total_blocking_keys", 0);
}

fn memory(context: &Context<'_>, lines: &mut Lines) {
    let shared = context.shared;
    let usage = MemoryUsage::of(shared);
    let MemoryUsage { used, peak, resident, of_clients, .. } = usage;
    let sizes = [
        ("used_memory", used),
        ("used_memory_rss", resident),
        ("used_memory_peak", peak),
        ("total_system_memory", process::system_memory_bytes()),
        ("maxmemory", shared.config().memory_limit_bytes()),
    ];
    for (name, bytes) in sizes {
        lines.field(name, bytes);
        lines.field(&format!("{name}_human"), human(bytes));
    }
    lines.field("used_memory_peak_perc", format_args!("{:.2}%", usage.percent_of_peak()));
    lines.field("used_memory_dataset", usage.pairs());
    lines.field("maxmemory_policy", name(shared.config().eviction.policy, POLICIES));
    lines.field("mem_fragmentation_ratio", format_args!("{:.2}", usage.resident_ratio()));
    lines.field("mem_fragmentation_bytes", resident as i64 - used as i64);
    lines.field("mem_clients_normal", of_clients);
    lines.field("mem_clients_slaves", 0);
    lines.field("mem_allocator", "honeycomb");
    lines.field("active_defrag_running", 0);
}

fn persistence(context: &Context<'_>, lines: &mut Lines) {
    let found = context.shared.store.durability_statistics();
    let (is_durable, statistics) = (found.is_some(), found.unwrap_or_default());
    let has_failed = |failed: bool| if failed { "err" } else { "ok" };
    let is_refusing = statistics.is_full || statistics.failure.is_some();
    lines.field("loading", 0);
    lines.field("async_loading", 0);
    lines.field("rdb_changes_since_last_save", statistics.records_since_checkpoint);
    lines.field("rdb_bgsave_in_progress", u8::from(statistics.is_checkpoint_running));
    lines.field("rdb_last_save_time", if is_durable { last_save(context) } else { 0 });
    lines.field("rdb_last_bgsave_status", has_failed(statistics.checkpoint_error.is_some()));
    lines.field("rdb_saves", statistics.checkpoints);
    lines.field("aof_enabled", u8::from(is_durable));
    lines.field("aof_rewrite_in_progress", u8::from(statistics.is_checkpoint_running));
    lines.field("aof_rewrite_scheduled", 0);
    lines.field("aof_last_write_status", has_failed(is_refusing));
    lines.field("module_fork_in_progress", 0);
    if is_durable {
        lines.field("aof_current_size", statistics.bytes_since_checkpoint);
        lines.field("aof_buffer_length", statistics.queued_bytes);
        lines.field("log_records", statistics.records);
        lines.field("log_groups", statistics.groups);
        lines.field("log_files", statistics.files);
        lines.field("durable_version", statistics.durable_version);
        lines.field("log_direct_writes", u8::from(statistics.is_direct));
        lines.field("archived_files", statistics.archived_files);
        lines.field("archive_error", statistics.archive_error.unwrap_or_default());
        lines.field("open_backups", context.shared.backups.len());
        lines.field("read_only_reason", statistics.failure.unwrap_or_default());
    }
}

fn stats(context: &Context<'_>, lines: &mut Lines) {
    let totals = context.shared.totals_since_reset();
    lines.field("total_connections_received", totals.accepted);
    lines.field("total_commands_processed", totals.executed());
    lines.field("instantaneous_ops_per_sec", context.shared.pace.commands());
    lines.field("total_net_input_bytes", totals.received_bytes);
    lines.field("total_net_output_bytes", totals.sent_bytes);
    lines.field("rejected_connections", totals.connections_rejected);
    lines.field("sync_full", 0);
    lines.field("sync_partial_ok", 0);
    lines.field("sync_partial_err", 0);
    lines.field("expired_keys", totals.expired);
    lines.field("evicted_clients", totals.evicted);
    lines.field("task_slices", totals.slices);
    lines.field("background_tasks", totals.moved);
    let overdue = context.shared.deadlines.overdue_percent(context.shared.time.milliseconds());
    lines.field("expired_stale_perc", format_args!("{overdue:.2}"));
    lines.field("evicted_keys", totals.evicted_pairs);
    lines.field("keyspace_hits", totals.keyspace_hits);
    lines.field("keyspace_misses", totals.keyspace_misses);
    let subscriptions = |kind| pubsub::with_all(context.shared, kind, <[_]>::len);
    lines.field("pubsub_channels", subscriptions(Kind::Channel));
    lines.field("pubsub_patterns", subscriptions(Kind::Pattern));
    lines.field("latest_fork_usec", 0);
    lines.field("unexpected_error_replies", 0);
    lines.field("total_error_replies", totals.errors.iter().sum::<u64>());
}

fn replication(_: &Context<'_>, lines: &mut Lines) {
    lines.field("role", "master");
    lines.field("connected_slaves", 0);
    lines.field("master_failover_state", "no-failover");
    lines.field("master_repl_offset", 0);
    lines.field("second_repl_offset", -1);
    lines.field("repl_backlog_active", 0);
}

fn processor(_: &Context<'_>, lines: &mut Lines) {
    let (system, user) = process::processor_seconds();
    lines.field("used_cpu_sys", format_args!("{system:.6}"));
    lines.field("used_cpu_user", format_args!("{user:.6}"));
}

/// Lists the commands that were executed.
fn commands(context: &Context<'_>, lines: &mut Lines) {
    let totals = context.shared.totals_since_reset();
    for (command, (microseconds, errors)) in BY_NUMBER.iter().zip(&totals.commands) {
        let (calls, sum) = (microseconds.count(), microseconds.sum);
        if calls > 0 {
            let each = sum as f64 / calls as f64;
            let times = format!("calls={calls},usec={sum},usec_per_call={each:.2}");
            let line = format_args!("{times},rejected_calls=0,failed_calls={errors}");
            lines.field(&format!("cmdstat_{}", command.name), line);
        }
    }
}

/// Lists the nonzero counts of error replies by their first word.
fn errors(context: &Context<'_>, lines: &mut Lines) {
    let totals = context.shared.totals_since_reset();
    for (prefix, count) in PREFIXES.iter().zip(totals.errors).filter(|(_, count)| *count > 0) {
        lines.field(&format!("errorstat_{prefix}"), format_args!("count={count}"));
    }
}

/// Lists latency percentiles of commands in microseconds. Each is the upper bound of a histogram bucket.
fn latencies(context: &Context<'_>, lines: &mut Lines) {
    let totals = context.shared.totals_since_reset();
    for (command, (microseconds, _)) in BY_NUMBER.iter().zip(&totals.commands) {
        if microseconds.count() > 0 {
            let [median, high, highest] =
                [0.5, 0.99, 0.999].map(|share| format!("{:.3}", microseconds.bound(share) as f64));
            let line = format_args!("p50={median},p99={high},p99.9={highest}");
            lines.field(&format!("latency_percentiles_usec_{}", command.name), line);
        }
    }
}

/// The memory of unordered databases.
fn unordered(context: &Context<'_>, lines: &mut Lines) {
    let shared = context.shared;
    if !shared.databases.has_unordered() {
        return;
    }
    for (number, it) in shared.databases.unordered_statistics(&shared.store.statistics()) {
        let line = format_args!(
            "buckets={},used_slots={},bucket_bytes={},slab_bytes={},free_slab_bytes={}",
            it.buckets, it.used_slots, it.bucket_bytes, it.slab_bytes, it.free_slab_bytes
        );
        lines.field(&format!("unordered_db{number}"), line);
    }
}

fn keyspace(context: &Context<'_>, lines: &mut Lines) {
    let shared = context.shared;
    let surveys = shared.deadlines.survey(shared.time.milliseconds()).unwrap_or_default();
    let numbered = (0..shared.tables().len()).map(|number| (number, shared.table(number)));
    for (number, table) in numbered.filter(|(_, table)| table.pair_count() > 0) {
        let surveyed = slot(table).and_then(|slot| surveys.get(slot).copied());
        let (Survey { expires, average_ttl }, keys) = (surveyed.unwrap_or_default(), table.pair_count());
        let line = format_args!("keys={keys},expires={expires},avg_ttl={average_ttl}");
        lines.field(&format!("db{number}"), line);
    }
}

/// Formats a number of bytes with a binary unit.
fn human(bytes: usize) -> String {
    let units = [("T", 1_u64 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)];
    let unit = units.iter().find(|(_, size)| bytes as u64 >= *size);
    unit.map_or(format!("{bytes}B"), |(name, size)| format!("{:.2}{name}", bytes as f64 / *size as f64))
}

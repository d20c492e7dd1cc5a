//! The metrics of the server, as OpenMetrics text.

use std::fmt::Error;
use std::sync::Arc;
use std::time::Duration;

use honeycomb_memory::sync::Ordering;
use honeycomb_store::{
    AccessCounts, DurabilityStatistics, Statistics, TableStatistics, UnorderedStatistics, WRITE_MICROSECONDS,
};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::commands::BY_NUMBER;
use crate::counts::{BUCKETS, Distribution};
use crate::databases;
use crate::deadlines::{self, Deadlines};
use crate::server_state::ServerState;
use crate::tally::PREFIXES;
use crate::totals::Totals;

/// Returns all metrics.
pub(crate) fn text(shared: &Arc<ServerState>) -> String {
    let mut registry = Registry::with_prefix("honeycomb");
    registry.register_collector(Box::new(All(shared.clone())));
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    text
}

#[derive(Debug)]
struct All(Arc<ServerState>);

impl Collector for All {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let mut writer = Writer(&mut encoder);
        let totals = self.0.totals();
        commands(&mut writer, &totals)?;
        connections(&mut writer, &totals, self.0.connections.load(Ordering::Relaxed) as u64)?;
        let bytes = self.0.clients.all_bytes() as f64;
        writer.gauge("client_memory_bytes", "Bytes of requests, replies and queues of all clients", bytes)?;
        let statistics = self.0.store.statistics();
        let now = self.0.time.milliseconds();
        deadlines(&mut writer, &self.0.deadlines, now)?;
        memory(&mut writer, &statistics)?;
        self.0.databases.before_next_swap(|| {
            pairs(&mut writer, &self.0, &statistics)?;
            unordered(&mut writer, &self.0, &statistics)
        })?;
        store(&mut writer, &statistics)?;
        if let Some(durability) = self.0.store.durability_statistics() {
            log(&mut writer, &durability)?;
        }
        self.0.store.access_counts().map_or(Ok(()), |touched| accelerator(&mut writer, &touched))
    }
}

fn commands(writer: &mut Writer<'_, '_>, totals: &Totals) -> Result<(), Error> {
    let run = || BY_NUMBER.iter().zip(&totals.commands).filter(|(_, (times, _))| times.count() > 0);
    let about = "Time from the start of the event-loop iteration of a command to its reply";
    let mut family = writer.family("command_duration_seconds", about, MetricType::Histogram)?;
    for (command, (times, _)) in run() {
        histogram(family.encode_family(&[("command", command.name)])?, times, 1e-6)?;
    }
    let mut family = writer.family("command_errors", "Error replies by command", MetricType::Counter)?;
    for (command, (_, errors)) in run() {
        let labels = [("command", command.name)];
        family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(errors, None)?;
    }
    let about = "Commands that are unknown, have a wrong number of arguments, or are not allowed";
    writer.counter("commands_rejected", about, totals.commands_rejected)?;
    let about = "Lookups of existing keys by commands that read";
    writer.counter("keyspace_hits", about, totals.keyspace_hits)?;
    let about = "Lookups of absent keys by commands that read";
    writer.counter("keyspace_misses", about, totals.keyspace_misses)?;
    let mut family =
        writer.family("error_replies", "Error replies by their first word", MetricType::Counter)?;
    for (prefix, count) in PREFIXES.iter().zip(totals.errors).filter(|(_, count)| *count > 0) {
        let labels = [("prefix", *prefix)];
        family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
    }
    writer.counter("expired_pairs", "Deleted pairs that had expired", totals.expired)?;
    writer.counter("evicted_pairs", "Pairs evicted because of maxmemory-policy", totals.evicted_pairs)?;
    let batch =
        writer.family("batch_reads", "Reads in a batch of an event-loop iteration", MetricType::Histogram)?;
    histogram(batch, &totals.read_batches, 1.0)?;
    let batch = writer.family(
        "batch_writes",
        "Writes in a batch of an event-loop iteration",
        MetricType::Histogram,
    )?;
    histogram(batch, &totals.write_batches, 1.0)
}

fn deadlines(writer: &mut Writer<'_, '_>, deadlines: &Deadlines, now: u64) -> Result<(), Error> {
    let about = "Entries of the index of deadlines, including stale ones";
    writer.gauge("deadlines", about, deadlines.entries() as f64)?;
    let about = "Entries past their deadline, counted up to 65536";
    writer.gauge("deadlines_overdue", about, deadlines.overdue(now).unwrap_or(0) as f64)
}

fn connections(writer: &mut Writer<'_, '_>, totals: &Totals, connected: u64) -> Result<(), Error> {
    writer.gauge("connections", "Open connections", connected as f64)?;
    writer.counter("connections_accepted", "Accepted connections", totals.accepted)?;
    writer.counter(
        "connections_rejected",
        "Connections rejected because of maxclients",
        totals.connections_rejected,
    )?;
    writer.counter("connections_timed_out", "Connections closed because of timeout", totals.timed_out)?;
    writer.counter("task_slices", "Slices of long commands", totals.slices)?;
    writer.counter("background_tasks", "Long commands that moved to the background thread", totals.moved)?;
    writer.counter(
        "connections_evicted",
        "Connections closed because of maxmemory-clients",
        totals.evicted,
    )?;
    writer.counter("received_bytes", "Bytes of requests", totals.received_bytes)?;
    writer.counter("sent_bytes", "Bytes of replies", totals.sent_bytes)
}

fn memory(writer: &mut Writer<'_, '_>, statistics: &Statistics) -> Result<(), Error> {
    let memory = &statistics.memory;
    let kinds = [
        ("free", memory.free_bytes),
        ("nodes", memory.node_bytes),
        ("values", memory.value_bytes),
        ("table_pages", memory.table_page_bytes),
        ("reserve", memory.reserve_bytes),
        ("retired", memory.retired_bytes),
        ("private", memory.private_bytes),
    ];
    let about = "Bytes of the arena by use";
    let mut family = writer.family("arena_bytes", about, MetricType::Gauge)?;
    for (kind, bytes) in kinds {
        family.encode_family(&[("kind", kind)])?.encode_gauge(&(bytes as u64))?;
    }
    let overhead = (memory.page_table_bytes + memory.overhead_bytes) as f64;
    writer.gauge(
        "memory_overhead_bytes",
        "Bytes of the page table and of the management of the arena",
        overhead,
    )?;
    writer.gauge("nodes", "Published nodes", memory.nodes as f64)?;
    writer.gauge("overflow_values", "Overflow values", memory.values as f64)
}

/// The pairs of the tables that clients select, by number, and of other tables of the store, by name.
fn pairs(writer: &mut Writer<'_, '_>, shared: &ServerState, statistics: &Statistics) -> Result<(), Error> {
    let selected = shared.tables();
    let numbered = (0..selected.len()).map(|number| (number.to_string(), shared.table(number).pair_count()));
    let is_other = |table: &&TableStatistics| {
        let is_own = [deadlines::TABLE_NAME, databases::PLACES_TABLE].contains(&&*table.name);
        !is_own && selected.iter().all(|one| one.name() != table.name)
    };
    let others = statistics.tables.iter().filter(is_other).map(|table| (table.name.clone(), table.pairs));
    let mut family = writer.family("pairs", "Pairs of a table", MetricType::Gauge)?;
    for (table, pairs) in numbered.chain(others).filter(|(_, pairs)| *pairs > 0) {
        family.encode_family(&[("table", table)])?.encode_gauge(&pairs)?;
    }
    Ok(())
}

/// The memory of unordered tables, by the number with which clients select them.
fn unordered(
    writer: &mut Writer<'_, '_>,
    shared: &ServerState,
    statistics: &Statistics,
) -> Result<(), Error> {
    let tables = shared.databases.unordered_statistics(statistics);
    type Count = fn(&UnorderedStatistics) -> u64;
    let families: [(&str, &str, Count); 5] = [
        ("unordered_buckets", "Buckets of an unordered table, without chained ones", |it| it.buckets),
        ("unordered_used_slots", "Slots in use of an unordered table", |it| it.used_slots),
        ("unordered_bucket_bytes", "Bytes of the pages with buckets", |it| it.bucket_bytes as u64),
        ("unordered_slab_bytes", "Bytes of the pages with slabs", |it| it.slab_bytes as u64),
        ("unordered_free_slab_bytes", "Bytes of free slabs", |it| it.free_slab_bytes as u64),
    ];
    for (name, about, count) in families.into_iter().filter(|_| !tables.is_empty()) {
        let mut family = writer.family(name, about, MetricType::Gauge)?;
        for (table, statistics) in &tables {
            family.encode_family(&[("table", table.to_string())])?.encode_gauge(&count(statistics))?;
        }
    }
    Ok(())
}

fn store(writer: &mut Writer<'_, '_>, statistics: &Statistics) -> Result<(), Error> {
    let versions = &statistics.versions;
    writer.counter("versions", "Released versions", versions.read_version)?;
    writer.counter("chain_steps", "Steps from nodes to previous versions", versions.chain_steps)?;
    writer.gauge(
        "chain_steps_max",
        "Maximum number of such steps for one node",
        versions.chain_steps_max as f64,
    )?;
    let about = "Scans that returned to the root because a leaf was newer than their version";
    writer.counter("scan_descents", about, versions.scan_descents)?;
    let snapshots = &statistics.snapshots;
    writer.gauge("snapshots", "Open snapshots and iterators", snapshots.count as f64)?;
    writer.gauge(
        "snapshot_oldest_seconds",
        "Age of the oldest snapshot or iterator",
        snapshots.oldest_seconds,
    )?;
    writer.gauge(
        "snapshot_pinned_bytes",
        "Bytes that the oldest snapshot or iterator pins",
        snapshots.pinned_bytes as f64,
    )?;
    let writes = &statistics.writes;
    let kinds = [
        ("retry", writes.retries),
        ("consolidation", writes.consolidations),
        ("patch", writes.patches),
        ("leaf_split", writes.leaf_splits),
        ("leaf_redistribution", writes.leaf_redistributions),
        ("leaf_merge", writes.leaf_merges),
        ("compaction", writes.compactions),
        ("interior_split", writes.interior_splits),
        ("interior_merge", writes.interior_merges),
        ("root_growth", writes.root_growths),
        ("root_collapse", writes.root_collapses),
    ];
    let mut family = writer.family("tree_changes", "Changes of trees by writes", MetricType::Counter)?;
    for (kind, count) in kinds {
        family.encode_family(&[("kind", kind)])?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
    }
    Ok(())
}

fn accelerator(writer: &mut Writer<'_, '_>, touched: &AccessCounts) -> Result<(), Error> {
    let about = "Searched nodes by level; leaves are level 0";
    let mut family = writer.family("accelerator_nodes", about, MetricType::Counter)?;
    for (level, counts) in touched.levels.iter().enumerate() {
        let labels = [("level", level.to_string())];
        family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&counts.nodes, None)?;
    }
    for (name, about, lines) in [
        ("accelerator_bytes", "Bytes read in searches", false),
        ("accelerator_lines", "Cache lines read in searches", true),
    ] {
        let mut family = writer.family(name, about, MetricType::Counter)?;
        for (level, counts) in touched.levels.iter().enumerate() {
            let blocks = [
                ("header", counts.header),
                ("columns", counts.columns),
                ("items", counts.items),
                ("log", counts.log),
            ];
            for (block, counts) in blocks {
                let labels = [("level", level.to_string()), ("block", block.to_owned())];
                let count = if lines { counts.lines } else { counts.bytes };
                family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&count, None)?;
            }
        }
    }
    let about = "Log blocks skipped because no fingerprint matched the key";
    writer.counter("accelerator_log_blocks_skipped", about, touched.log_blocks_skipped)
}

fn log(writer: &mut Writer<'_, '_>, log: &DurabilityStatistics) -> Result<(), Error> {
    writer.counter("log_records", "Records that were written to the log", log.records)?;
    writer.counter("log_groups", "Groups of records, each written at once", log.groups)?;
    writer.counter("log_syncs", "Writes and syncs that made records durable", log.syncs)?;
    writer.counter("log_bytes", "Bytes of records that were written to the log", log.bytes)?;
    writer.gauge("log_queued_bytes", "Bytes of records that wait for the log", log.queued_bytes as f64)?;
    writer.gauge("log_files", "Log files", log.files as f64)?;
    let refuses = log.is_full || log.failure.is_some();
    writer.gauge("log_refuses_writes", "1 while the log refuses writes", f64::from(u8::from(refuses)))?;
    let about =
        "1 after a failed write or sync of the log: the server is read-only until it is started again";
    writer.gauge("log_failed", about, f64::from(u8::from(log.failure.is_some())))?;
    let about = "The version up to which all writes are durable";
    writer.counter("durable_version", about, log.durable_version)?;
    writer.counter("log_archived_files", "Log files that were copied to the archive", log.archived_files)?;
    let fails = f64::from(u8::from(log.archive_error.is_some()));
    writer.gauge("log_archive_fails", "1 while log files cannot be copied to the archive", fails)?;
    writer.gauge("change_streams", "Readers of changes", log.change_streams as f64)?;
    let about = "Versions by which the slowest reader of changes is behind the log";
    writer.gauge("change_stream_lag", about, log.change_stream_lag as f64)?;
    writer.counter("checkpoints", "Completed checkpoints", log.checkpoints)?;
    writer.counter("checkpoints_failed", "Failed checkpoints", log.failed_checkpoints)?;
    let about = "Seconds since the last checkpoint, or since the start";
    writer.gauge("checkpoint_age_seconds", about, log.checkpoint_age.as_secs_f64())?;
    let about = "Time of the write of a group, with its sync if it has one";
    log_times(writer, ("log_write_seconds", about), log.write_time, log.write_times)?;
    let about = "Time of the write of a group with a sync";
    log_times(writer, ("log_sync_seconds", about), log.sync_time, log.sync_times)
}

/// Writes a histogram of times of the log.
fn log_times(
    writer: &mut Writer<'_, '_>,
    (name, about): (&str, &str),
    sum: Duration,
    times: [u64; WRITE_MICROSECONDS.len() + 1],
) -> Result<(), Error> {
    let bounds = WRITE_MICROSECONDS.iter().map(|&bound| bound as f64 * 1e-6).chain([f64::INFINITY]);
    let buckets: Vec<_> = bounds.zip(times).collect();
    let mut family = writer.family(name, about, MetricType::Histogram)?;
    family.encode_histogram::<NoLabelSet>(sum.as_secs_f64(), times.iter().sum(), &buckets, None)
}

fn histogram(mut encoder: MetricEncoder<'_>, of: &Distribution, unit: f64) -> Result<(), Error> {
    let bound = |bucket| if bucket == BUCKETS - 1 { f64::INFINITY } else { (1_u64 << bucket) as f64 * unit };
    let buckets: Vec<_> = of.buckets.iter().enumerate().map(|(at, count)| (bound(at), *count)).collect();
    encoder.encode_histogram::<NoLabelSet>(of.sum as f64 * unit, of.count(), &buckets, None)
}

struct Writer<'w, 'e>(&'w mut DescriptorEncoder<'e>);

impl Writer<'_, '_> {
    fn family<'f>(
        &'f mut self,
        name: &'f str,
        about: &str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'f>, Error> {
        self.0.encode_descriptor(name, about, None, kind)
    }

    fn counter(&mut self, name: &str, about: &str, count: u64) -> Result<(), Error> {
        self.family(name, about, MetricType::Counter)?.encode_counter::<NoLabelSet, _, u64>(&count, None)
    }

    fn gauge(&mut self, name: &str, about: &str, number: f64) -> Result<(), Error> {
        self.family(name, about, MetricType::Gauge)?.encode_gauge(&number)
    }
}

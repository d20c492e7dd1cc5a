//! Measures what durability costs in the library, each case beside the same one without: batched inserts with
//! a log, gets beside a checkpoint, and writes beside a reader of changes; and recoveries beside the rates
//! that limit them. All cases alternate.

mod recovery;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use hdrhistogram::Histogram;
use honeycomb_store::{Batch, Config, DurabilityConfig, Store, SyncPolicy, Table};
use honeycomb_workload::mix;

use crate::map::Failure;
use crate::open_loop::histogram;
use crate::progress::{self, step};
use crate::summary::{Summary, median};

/// Operations of a batch.
const BATCH: u64 = 256;

/// The size of a measurement.
#[derive(Debug, Clone, Args)]
pub struct DurabilityArguments {
    /// Folder on the disk to measure; its files of a store are removed
    #[arg(long)]
    dir: PathBuf,
    /// Pairs of 16 + 16 bytes
    #[arg(long, default_value_t = 2_000_000)]
    pairs: u64,
    /// Number of measurements of each case
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Writes a second beside a checkpoint and beside a reader of changes
    #[arg(long, default_value_t = 200_000)]
    writes_per_second: u64,
}

/// The samples of a case, and of the same case without durability.
type Samples = (Vec<f64>, Vec<f64>);

/// Measures everything. Returns a table.
pub fn run(arguments: &DurabilityArguments) -> Result<String, Failure> {
    let (mut inserts, mut tails, mut memory, mut writes) =
        (Samples::default(), Samples::default(), Vec::new(), Samples::default());
    let (mut from_log, mut from_checkpoint) = (Samples::default(), Samples::default());
    let mut to_bulk_load = Samples::default();
    let progress = progress::bar(6 * arguments.rounds);
    for _ in 0..arguments.rounds {
        inserts.1.push(step(&progress, "inserts in memory", || insert_rate(arguments, None))?);
        let everysec = Some(SyncPolicy::EverySecond);
        inserts.0.push(step(&progress, "inserts with a log", || insert_rate(arguments, everysec))?);
        let beside = step(&progress, "gets beside a checkpoint", || beside_checkpoint(arguments))?;
        tails.0.push(beside.p99);
        tails.1.push(beside.p99_before);
        memory.push(beside.memory);
        writes.1.push(step(&progress, "writes", || paced_rate(arguments, false))?);
        writes.0.push(step(&progress, "writes beside a reader", || paced_rate(arguments, true))?);
        let recovery = step(&progress, "recoveries", || recovery::measure(arguments))?;
        from_log.0.push(recovery.from_log);
        from_log.1.push(inserts.1[inserts.1.len() - 1]);
        from_checkpoint.0.push(recovery.from_checkpoint);
        from_checkpoint.1.push(recovery.disk);
        to_bulk_load.0.push(recovery.from_checkpoint);
        to_bulk_load.1.push(recovery.bulk_load);
    }
    progress.finish_and_clear();
    let rows = [
        ("batched inserts: everysec to in memory, rate", ratio(&inserts)),
        ("gets at half load: beside a checkpoint to without, p99", ratio(&tails)),
        ("memory: during a checkpoint to before", (median(&memory), spread(&memory))),
        ("writes: beside a reader of changes to without, rate", ratio(&writes)),
        ("recovery from the log to batched inserts, rate", ratio(&from_log)),
        ("recovery from a checkpoint to a bulk load, rate", ratio(&to_bulk_load)),
        ("recovery from a checkpoint to sequential reads of the disk, rate", ratio(&from_checkpoint)),
    ];
    let mut text = format!("{} pairs of 16 + 16 bytes, {} rounds:\n\n", arguments.pairs, arguments.rounds);
    text += "| | ratio of medians | spread |\n|---|---|---|\n";
    for (name, (ratio, spread)) in rows {
        writeln!(text, "| {name} | {ratio:.2} | {:.0}% |", spread * 100.0)?;
    }
    writeln!(text, "\n{:.0} writes a second beside a reader of changes", median(&writes.0))?;
    Ok(text)
}

/// The ratio of the medians, and the spread of the numerator.
fn ratio((with, without): &Samples) -> (f64, f64) {
    (median(with) / median(without), spread(with))
}

/// The difference of the largest and the smallest sample, as a part of the median.
fn spread(samples: &[f64]) -> f64 {
    let Summary { median, min, max, .. } = Summary::of(samples);
    (max - min) / median
}

/// Opens an empty store: in memory without a policy.
fn open(arguments: &DurabilityArguments, policy: Option<SyncPolicy>) -> Result<(Store, Table), Failure> {
    remove_store(&arguments.dir)?;
    open_again(arguments, policy)
}

/// Opens the store with the files that are there.
fn open_again(
    arguments: &DurabilityArguments,
    policy: Option<SyncPolicy>,
) -> Result<(Store, Table), Failure> {
    let durability = policy.map(|policy| {
        let durability = DurabilityConfig::directory(&arguments.dir)?;
        Ok::<_, Failure>(DurabilityConfig { policy, checkpoint_log_bytes: u64::MAX, ..durability })
    });
    let (memory_bytes, durability) = (memory_bytes(arguments)?, durability.transpose()?);
    let store = Store::open(Config { memory_bytes, durability, ..Config::default() })?;
    let table = store.table("pairs")?;
    Ok((store, table))
}

fn memory_bytes(arguments: &DurabilityArguments) -> Result<usize, Failure> {
    Ok(usize::try_from(arguments.pairs * 160)? + (256 << 20))
}

/// Removes the files of a store from a folder, and no others.
fn remove_store(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_of_store = path.extension().is_some_and(|extension| {
            ["log", "spare", "checkpoint", "new"].iter().any(|known| extension == *known)
        });
        if is_of_store || path.ends_with("manifest") {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn key(number: u64) -> [u8; 16] {
    let half = mix(number).to_be_bytes();
    std::array::from_fn(|at| half[at % 8] ^ (at / 8) as u8)
}

/// Puts the pairs with some numbers, as one batch.
fn put(store: &Store, table: &Table, numbers: impl Iterator<Item = u64>) -> Result<(), Failure> {
    let mut batch = Batch::default();
    numbers.for_each(|number| _ = batch.put(table, &key(number), &key(number ^ 1)));
    let mut failed = None;
    store.apply_each(&batch, |_, outcome| failed = outcome.err())?;
    failed.map_or(Ok(()), |error| Err(error.into()))
}

fn load(arguments: &DurabilityArguments, store: &Store, table: &Table) -> Result<(), Failure> {
    let mut batches = (0..arguments.pairs).step_by(BATCH as usize);
    let end = |first: u64| arguments.pairs.min(first + BATCH);
    batches.try_for_each(|first| put(store, table, first..end(first)))
}

/// Returns inserts a second.
fn insert_rate(arguments: &DurabilityArguments, policy: Option<SyncPolicy>) -> Result<f64, Failure> {
    let (store, table) = open(arguments, policy)?;
    let start = Instant::now();
    load(arguments, &store, &table)?;
    Ok(arguments.pairs as f64 / start.elapsed().as_secs_f64())
}

/// What a checkpoint does to the operations beside it.
struct BesideCheckpoint {
    p99_before: f64,
    p99: f64,
    /// Used memory at its maximum during the checkpoint, as a multiple of that before.
    memory: f64,
}

/// Measures gets at half of their maximum rate, beside a writer, before and during a checkpoint.
fn beside_checkpoint(arguments: &DurabilityArguments) -> Result<BesideCheckpoint, Failure> {
    let (store, table) = open(arguments, Some(SyncPolicy::EverySecond))?;
    load(arguments, &store, &table)?;
    let free_bytes = || store.free_and_retired_bytes().0;
    let (is_done, least_free) = (AtomicBool::new(false), AtomicUsize::new(usize::MAX));
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let writes = Paced::new(arguments.writes_per_second / 4);
            writes.run(|first| {
                least_free.fetch_min(free_bytes(), Ordering::Relaxed);
                let numbers = (first..first + BATCH).map(|number| mix(number) % arguments.pairs);
                put(&store, &table, numbers).map(|()| !is_done.load(Ordering::Relaxed))
            })
        });
        let measured = (|| {
            let interval = 2 * gets(&table, arguments.pairs, Duration::ZERO, || false)?.0;
            let before = gets(&table, arguments.pairs, interval, || false)?.1;
            let free = least_free.swap(usize::MAX, Ordering::Relaxed);
            let checkpoint = scope.spawn(|| store.checkpoint());
            let during = gets(&table, arguments.pairs, interval, || !checkpoint.is_finished())?.1;
            checkpoint.join().map_err(|_| "the checkpoint has panicked")??;
            let total = memory_bytes(arguments)?;
            let used = |free: usize| total.saturating_sub(free) as f64;
            let memory = used(least_free.load(Ordering::Relaxed)) / used(free);
            let p99 = |histogram: &Histogram<u64>| histogram.value_at_quantile(0.99) as f64;
            Ok(BesideCheckpoint { p99_before: p99(&before), p99: p99(&during), memory })
        })();
        is_done.store(true, Ordering::Relaxed);
        writer.join().map_err(|_| "the writer has panicked")??;
        measured
    })
}

/// Gets pairs, one each interval, for a second at least and while `goes_on`. Returns the mean time between
/// two gets, and the latencies in nanoseconds from the due times on.
fn gets(
    table: &Table,
    pairs: u64,
    interval: Duration,
    goes_on: impl Fn() -> bool,
) -> Result<(Duration, Histogram<u64>), Failure> {
    let mut latencies = histogram()?;
    let start = Instant::now();
    let mut count = 0_u32;
    while start.elapsed() < Duration::from_secs(1) || goes_on() {
        let due = interval * count;
        while start.elapsed() < due {
            std::hint::spin_loop();
        }
        table.get(&key(mix(u64::from(count)) % pairs))?;
        let took = start.elapsed().saturating_sub(due);
        latencies.saturating_record(took.as_nanos() as u64);
        count += 1;
    }
    Ok((start.elapsed() / count.max(1), latencies))
}

/// Writes all pairs at the rate of the arguments, beside a reader that must receive all of them in order if
/// `has_reader`. Returns the writes a second.
fn paced_rate(arguments: &DurabilityArguments, has_reader: bool) -> Result<f64, Failure> {
    let (store, table) = open(arguments, Some(SyncPolicy::EverySecond))?;
    let stream = has_reader.then(|| store.changes::<[u8]>(&table, .., store.read_version())).transpose()?;
    thread::scope(|scope| {
        let reader = stream.map(|mut stream| {
            scope.spawn(move || {
                let (mut received, mut version) = (0, 0);
                while received < arguments.pairs {
                    let changes = stream.wait(Duration::from_secs(10))?;
                    if changes.is_empty() || changes.iter().any(|change| change.version < version) {
                        return Err(format!("changes are missing after {received}").into());
                    }
                    version = stream.version();
                    received += changes.len() as u64;
                }
                Ok::<_, Failure>(())
            })
        });
        let start = Instant::now();
        Paced::new(arguments.writes_per_second).run(|first| {
            let end = arguments.pairs.min(first + BATCH);
            put(&store, &table, first..end).map(|()| end < arguments.pairs)
        })?;
        let rate = arguments.pairs as f64 / start.elapsed().as_secs_f64();
        reader.map(|reader| reader.join().map_err(|_| "the reader has panicked")?).transpose()?;
        Ok(rate)
    })
}

/// Batches at a rate.
struct Paced {
    interval: Duration,
}

impl Paced {
    fn new(writes_per_second: u64) -> Self {
        Self { interval: Duration::from_secs_f64(BATCH as f64 / writes_per_second.max(1) as f64) }
    }

    /// Passes the number of the first write of each batch to `write` when it is due, until it returns false.
    fn run(&self, mut write: impl FnMut(u64) -> Result<bool, Failure>) -> Result<(), Failure> {
        let start = Instant::now();
        for batch in 0_u32.. {
            thread::sleep((self.interval * batch).saturating_sub(start.elapsed()));
            if !write(u64::from(batch) * BATCH)? {
                break;
            }
        }
        Ok(())
    }
}

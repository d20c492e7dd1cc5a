//! The rates of recoveries, from the log and from a checkpoint, beside those of the library and of the disk
//! that limit them.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use honeycomb_store::{Config, Store, SyncPolicy};
use rustix::fs::{Advice, fadvise};

use super::{DurabilityArguments, key, load, memory_bytes, open, open_again};
use crate::map::Failure;

/// Bytes of one read.
const READ_BYTES: usize = 1 << 20;

/// Pairs a second.
pub(super) struct RecoveryRates {
    pub(super) from_log: f64,
    pub(super) from_checkpoint: f64,
    /// The bulk load into a store in memory.
    pub(super) bulk_load: f64,
    /// The sequential read of the checkpoint, without the cache of the operating system.
    pub(super) disk: f64,
}

/// Writes the pairs, and measures the recovery of the store, first from its log and then from a checkpoint.
pub(super) fn measure(arguments: &DurabilityArguments) -> Result<RecoveryRates, Failure> {
    let rate = |start: Instant| arguments.pairs as f64 / start.elapsed().as_secs_f64();
    let (store, table) = open(arguments, Some(SyncPolicy::Never))?;
    load(arguments, &store, &table)?;
    drop((store, table));
    let start = Instant::now();
    let (store, table) = open_again(arguments, Some(SyncPolicy::Never))?;
    let from_log = rate(start);
    check(arguments, table.pair_count())?;
    store.checkpoint()?;
    drop((store, table));
    let disk = read_rate(&checkpoint(&arguments.dir)?)? * arguments.pairs as f64;
    let start = Instant::now();
    let (store, table) = open_again(arguments, Some(SyncPolicy::Never))?;
    let from_checkpoint = rate(start);
    check(arguments, table.pair_count())?;
    drop((store, table));
    Ok(RecoveryRates { from_log, from_checkpoint, bulk_load: bulk_load_rate(arguments)?, disk })
}

fn check(arguments: &DurabilityArguments, found: u64) -> Result<(), Failure> {
    let pairs = arguments.pairs;
    if found == pairs { Ok(()) } else { Err(format!("{found} of {pairs} pairs are there").into()) }
}

/// Returns how often a second a file can be read.
fn read_rate(path: &Path) -> Result<f64, Failure> {
    let (mut file, mut bytes) = (File::open(path)?, vec![0; READ_BYTES]);
    file.sync_all()?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    let start = Instant::now();
    while file.read(&mut bytes)? > 0 {}
    Ok(1.0 / start.elapsed().as_secs_f64())
}

/// Returns the file of the only checkpoint.
fn checkpoint(folder: &Path) -> Result<PathBuf, Failure> {
    let is_checkpoint = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "checkpoint");
    let mut paths = std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(paths.find(is_checkpoint).ok_or("there is no checkpoint")?)
}

/// Returns pairs a second.
fn bulk_load_rate(arguments: &DurabilityArguments) -> Result<f64, Failure> {
    let mut keys: Vec<_> = (0..arguments.pairs).map(|number| (key(number), key(number ^ 1))).collect();
    keys.sort_unstable();
    let config = Config { memory_bytes: memory_bytes(arguments)?, ..Config::default() };
    let table = Store::open(config)?.table("pairs")?;
    let start = Instant::now();
    table.load_sorted(keys)?;
    Ok(arguments.pairs as f64 / start.elapsed().as_secs_f64())
}

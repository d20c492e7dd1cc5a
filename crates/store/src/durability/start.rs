//! The start of a durable store: recovery, then the log.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use honeycomb_btree::{Forest, Version};
use honeycomb_log::{Changes, CheckpointReader, Directory};

use super::checkpoints::{Checkpoints, Source};
use super::config::LOG_FILE_BYTES_MAX;
use super::log_state::LogState;
use super::state::Durability;
use super::statistics::LogPosition;
use super::table_ids::TableIds;
use super::{log_thread, recovery, spare_thread};
use crate::config::Config;
use crate::error::Error;
use crate::store_state::StoreState;

/// Versions that a start does not use, because a power cut may have lost them: more than the records that the
/// last log file and the queue can have. Earlier files are durable, and a record has 40 bytes at least.
const LOST_VERSIONS_MAX: u64 = 1 << 29;
const _: () = assert!(LOST_VERSIONS_MAX > LOG_FILE_BYTES_MAX / 40 + (1 << 16));

/// Recovers the store from its files, and starts to log its writes.
pub(crate) fn start(state: &Arc<StoreState>, config: &Config) -> Result<(), Error> {
    let Some(durability) = &config.durability else { return Ok(()) };
    durability.check(config.mvcc)?;
    let directory = Directory::open(durability.storage.clone())?;
    let manifest = directory.manifest();
    let checkpoint = directory.checkpoint()?;
    let age = checkpoint.as_ref().map_or(Duration::ZERO, |checkpoint| age_of(checkpoint, config));
    let table_ids = TableIds::default();
    let forest = &state.forest;
    // Otherwise all leaves would be so old that the first write to each has to rebuild it.
    forest.skip_to(manifest.version);
    let (recovery, replayed, tails) =
        recovery::recover(state, (&directory, checkpoint), (durability, config.memory_bytes), &table_ids)?;
    skip_lost_versions(forest, recovery.version);
    let (version, position) =
        (forest.read_version(), LogPosition { records: replayed.records, bytes: replayed.bytes });
    let writer = directory.start_writer((replayed, tails), durability.log_file_bytes, durability.secret)?;
    let clock = config.clock.clone();
    let log = Arc::new(LogState::new(durability, clock, writer, (version, table_ids, position)));
    forest.set_journal(log.clone());
    let source = Source {
        forest: state.forest.clone(),
        directory: state.directory.clone(),
        leases: state.leases.clone(),
        log: log.clone(),
    };
    let checkpoints = Checkpoints::new(durability, source, (manifest, age), config.memory_bytes);
    let checkpoints = Arc::new(checkpoints);
    // Its drop ends the threads that were started, if a later one cannot be.
    let mut started = Durability {
        log_thread: None,
        spare_thread: None,
        checkpoint_thread: None,
        log,
        checkpoints,
        recovery,
        writes_wait: durability.writes_wait,
    };
    started.log_thread = Some(spawn_log_thread(&started.log, forest.clone())?);
    started.spare_thread = Some(spawn_spare_thread(&started.log)?);
    started.checkpoint_thread = Some(spawn_checkpoint_thread(&started.checkpoints)?);
    state.set_durability(started);
    declare_tables(state)
}

/// Makes later versions differ from all that an earlier process has used, so that a reader of changes that
/// has seen lost versions misses no later ones. A store without a record has used none: the first record is
/// durable before a program writes to the store.
fn skip_lost_versions(forest: &Forest, last: Version) {
    if last > 0 {
        forest.skip_to(last + LOST_VERSIONS_MAX);
    }
}

/// The time since the checkpoint of an earlier process was begun.
fn age_of(checkpoint: &CheckpointReader, config: &Config) -> Duration {
    // The clock of the system may have gone back since.
    Duration::from_millis(config.clock.milliseconds().saturating_sub(checkpoint.time()))
}

fn spawn_log_thread(log: &Arc<LogState>, forest: Arc<Forest>) -> Result<JoinHandle<()>, Error> {
    let state = log.clone();
    let handle = thread::Builder::new().name("honeycomb-log".to_owned());
    let handle = handle.spawn(move || log_thread::run(&state, &forest)).map_err(Error::Thread)?;
    let _first = log.thread.set(handle.thread().clone());
    Ok(handle)
}

fn spawn_spare_thread(log: &Arc<LogState>) -> Result<JoinHandle<()>, Error> {
    let state = log.clone();
    let handle = thread::Builder::new().name("honeycomb-spare".to_owned());
    let handle = handle.spawn(move || spare_thread::run(&state)).map_err(Error::Thread)?;
    let _first = log.spare_thread.set(handle.thread().clone());
    Ok(handle)
}

fn spawn_checkpoint_thread(checkpoints: &Arc<Checkpoints>) -> Result<JoinHandle<()>, Error> {
    let checkpoints = checkpoints.clone();
    let handle = thread::Builder::new().name("honeycomb-ckpt".to_owned());
    handle.spawn(move || checkpoints.run()).map_err(Error::Thread)
}

/// Writes the identifiers that the tables have now: those of earlier records have no meaning any more. The
/// record is durable before a program has the store, so the next start skips the versions after it.
///
/// On a full disk the store refuses writes until the record is durable. Its version counts as durable at
/// once, because reads of it see the recovered state, which the next start has as well.
fn declare_tables(state: &StoreState) -> Result<(), Error> {
    let mut changes = Changes::default();
    changes.restart();
    let tables = state.directory.read();
    tables.values().for_each(|entry| entry.declare(&mut changes));
    drop(tables);
    let version = state.forest.record(&changes)?;
    let Some(log) = state.log() else { return Ok(()) };
    match log.wait_durable_with_room(version, || Ok(())) {
        Err(Error::DiskFull) => {
            log.set_durable(version);
            Ok(())
        }
        waited => waited,
    }
}

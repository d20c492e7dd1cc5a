//! An example application of Honeycomb: the metadata of a directory tree in an ordered key-value store.
//!
//! The paper designed Honeycomb for this use, the metadata of a distributed file system. Table `files` maps
//! paths to file attributes, table `chunks` maps (file, offset) to chunks. The application uses only public
//! interfaces: the library ([`EmbeddedStore`]) or, through a Redis client, a server ([`ServerStore`]).
//!
//! [`Walk::new`] lists the tree. [`index`] reads, cuts and stores all files on all cores. Then it lists
//! directories (prefix scans), looks up the chunks of byte ranges (scans with floor start) and finds the
//! largest files below directories, all in one snapshot, and compares each answer with the file system.
//! [`tour`] shows further commands to a server that keeps such an index.
//!
//! The command `honeycomb` calls this library for `honeycomb index` and `honeycomb tour`.

mod answers;
mod chunk;
mod compare;
mod content;
mod error;
mod escape;
mod exceptions;
mod fill;
mod path_key;
mod progress;
mod record;
mod report;
mod rows;
mod samples;
mod store;
mod tables;
pub mod tour;
mod walk;

use std::time::Duration;

use answers::Answers;
use compare::Plan;
pub use error::Error;
pub use progress::{Phase, PhaseProgress, StartPhase, Unit};
pub use report::{AnswerReport, IndexReport, StorageReport};
use samples::Samples;
pub use store::{
    EmbeddedStore, IndexSnapshot, IndexStore, IndexTable, KeyRange, NewPair, PairVisitor, ServerStore,
};
use tables::Tables;
pub use walk::Walk;

/// The parameters of an index run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Reads all files and stores the checksums of their chunks.
    pub checksums: bool,
    /// The seed of the random choices.
    pub seed: u64,
    /// The number of random byte ranges to compare.
    pub ranges: u64,
    /// The limit on the time of all comparisons.
    pub compare_time: Duration,
    /// Receives the progress.
    pub start_phase: StartPhase,
}

/// Stores the index of a walked directory, replaces an earlier index of it, and compares answers of the store
/// with the file system.
///
/// # Errors
/// The store is full or unreachable, or it contains pairs that this application did not write.
pub fn index(walk: &Walk, store: &dyn IndexStore, options: &Options) -> Result<IndexReport, Error> {
    let tables = Tables::new(store);
    let removed = tables.remove(&walk.root)?;
    let filled = fill::fill(&tables, walk, options.checksums, options.start_phase)?;
    let answers = Answers::new(store.snapshot()?);
    let plan = Plan {
        seed: options.seed,
        ranges: options.ranges,
        time: options.compare_time,
        start_phase: options.start_phase,
    };
    let samples = Samples::new(&answers, &walk.root)?;
    let comparison = compare::compare(&answers, walk, &plan)?;
    Ok(IndexReport {
        storage: StorageReport::new(walk, &filled, removed, store.server()),
        answers: AnswerReport { samples, seed: plan.seed, comparison },
    })
}

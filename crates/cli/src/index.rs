//! `honeycomb index`: a directory tree in a store, and the store's answers against the file system.
//!
//! It is what the Honeycomb paper's store was built for, a distributed file system's metadata: table `files`
//! maps paths to metadata, table `chunks` maps (file, offset) to chunks. One walk says what there is; all
//! cores read, cut and store the files; then every answer comes from one snapshot and is compared.

mod answers;
mod chunk;
mod compare;
mod content;
mod fill;
mod path_key;
mod record;
mod report;
mod shown;
mod tables;
mod walk;

use crate::{Verdict, arguments::Index, error::Error, image, output, summary::Summary};
use answers::Answers;
use compare::Plan;
use fill::Filled;
use honeycomb_store::Store;
use report::{Asked, Indexed, Stored, Walked};
use std::time::{Duration, Instant};
use tables::Tables;
use walk::Walk;

/// Runs the command.
///
/// # Errors
/// The directory cannot be read, the store is full, or an image cannot be loaded or saved.
pub(crate) fn run(arguments: &Index) -> Result<Verdict, Error> {
    let start = Instant::now();
    let walk = walk::walk(&arguments.directory)?;
    let walk_time = start.elapsed();
    let mut store =
        image::open_or_empty(arguments.store.as_deref(), &arguments.memory, fill::raw_bytes(&walk))?;
    let (filled, asked) = fill_and_ask(arguments, &store, &walk)?;
    let saved = image::save(&store, arguments.store.as_deref())?;
    let report = Indexed {
        walk: Walked::new(&walk, walk_time),
        stored: Stored::new(&filled),
        store: Summary::of(&mut store)?,
        asked,
        saved,
    };
    output::print(&report, arguments.json.json)?;
    Ok(if report.asked.comparison.is_good() { Verdict::Good } else { Verdict::Bad })
}

fn fill_and_ask(arguments: &Index, store: &Store, walk: &Walk) -> Result<(Filled, Asked), Error> {
    let tables = Tables::open(store)?;
    let forgotten = tables.forget(store, &walk.root)?;
    let filled = Filled { forgotten, ..fill::fill(&tables, walk, !arguments.no_checksum)? };
    let answers = Answers::new(&tables, store.snapshot()?);
    let plan = Plan {
        seed: arguments.seed.unwrap_or_else(|| fastrand::u64(..)),
        ranges: arguments.ranges,
        time: Duration::from_secs(arguments.compare_seconds),
    };
    let asked = Asked {
        shown: shown::show(&answers, &walk.root)?,
        seed: plan.seed,
        comparison: compare::compare(&answers, walk, &plan)?,
    };
    Ok((filled, asked))
}

//! `honeycomb index`: a directory tree in a store, and the store's answers against the file system.
//!
//! It is what the Honeycomb paper's store was built for, a distributed file system's metadata: table `files`
//! maps paths to metadata, table `chunks` maps (file, offset) to chunks. They are kept by a store of this
//! process or by a server. One walk says what there is; all
//! cores read, cut and store the files; then every answer comes from one moment and is compared.

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

use crate::{
    Verdict,
    arguments::Index,
    error::Error,
    image,
    keeper::{Keeper, Local, Remote},
    output,
    summary::Summary,
};
use answers::Answers;
use compare::Plan;
use fill::Filled;
use report::{Asked, Stored, Walked};
use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};
use tables::Tables;
use walk::Walk;

pub(crate) use path_key::{children, subtree};
pub(crate) use report::Indexed;

/// Runs the command.
///
/// # Errors
/// The directory cannot be read, the store is full or cannot be reached, or an image cannot be loaded or
/// saved.
pub(crate) fn run(arguments: &Index) -> Result<Verdict, Error> {
    let report = match arguments.server {
        Some(address) => at_server(arguments, |_| Ok(address))?,
        None => in_process(arguments)?,
    };
    output::print(&report, arguments.json.json)?;
    Ok(report.verdict())
}

fn walk(arguments: &Index) -> Result<(Walk, Walked), Error> {
    let start = Instant::now();
    let walk = walk::walk(&arguments.directory)?;
    let walked = Walked::new(&walk, start.elapsed());
    Ok((walk, walked))
}

/// The index in a store of this process.
fn in_process(arguments: &Index) -> Result<Indexed, Error> {
    let (walk, walked) = walk(arguments)?;
    let mut store =
        image::open_or_empty(arguments.store.as_deref(), &arguments.memory, fill::raw_bytes(&walk))?;
    let (filled, asked) = fill_and_ask(arguments, &Local::new(&store)?, &walk)?;
    let saved = image::save(&store, arguments.store.as_deref())?;
    let (stored, store) = (Stored::new(&filled), Some(Summary::of(&mut store)?));
    Ok(Indexed { walk: walked, stored, server: None, store, asked, saved })
}

/// The index behind a server, which `find` says the address of, given the bytes of keys and values to come.
///
/// # Errors
/// As [`run`], and an error of `find`.
pub(crate) fn at_server(
    arguments: &Index,
    find: impl FnOnce(u64) -> Result<SocketAddr, Error>,
) -> Result<Indexed, Error> {
    let (walk, walked) = walk(arguments)?;
    let server = Remote::new(find(fill::raw_bytes(&walk))?);
    let (filled, asked) = fill_and_ask(arguments, &server, &walk)?;
    let (stored, address) = (Stored::new(&filled), Some(server.address().to_string()));
    Ok(Indexed { walk: walked, stored, server: address, store: None, asked, saved: None })
}

fn fill_and_ask(arguments: &Index, keeper: &dyn Keeper, walk: &Walk) -> Result<(Filled, Asked), Error> {
    let tables = Tables::new(keeper);
    let forgotten = tables.forget(&walk.root)?;
    let filled = Filled { forgotten, ..fill::fill(&tables, walk, !arguments.no_checksum)? };
    let answers = Answers::new(keeper.moment()?);
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

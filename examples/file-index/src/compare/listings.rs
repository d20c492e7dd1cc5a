//! Compares listings of directories, by prefix scans, with the file system.

use std::path::Path;
use std::time::Instant;
use std::{fs, io};

use rayon::prelude::*;

use super::{Collector, QueryCounts, QueryResult};
use crate::answers::Answers;
use crate::compare::Plan;
use crate::progress::{Phase, Unit};
use crate::record::Attributes;
use crate::walk::{Entry, Walk};
use crate::{Error, escape, path_key};

/// The keys and attributes of the entries of a directory, in key order.
type Listing = Vec<(Vec<u8>, Attributes)>;

/// Compares the listings of all directories in random order, until the deadline.
pub(super) fn compare(
    answers: &Answers<'_>,
    walk: &Walk,
    plan: &Plan,
    random: &mut fastrand::Rng,
    deadline: Instant,
) -> Result<QueryCounts, Error> {
    let was_listed = |entry: &&Entry| entry.attributes.is_directory() && !walk.is_mount(entry);
    let mut directories: Vec<&Entry> = walk.entries.iter().filter(was_listed).collect();
    random.shuffle(&mut directories);
    let collector = Collector::new(directories.len());
    let total = Some(directories.len() as u64);
    let progress = (plan.start_phase)(Phase { name: "comparing", total, unit: Unit::Items("directories") });
    directories.par_iter().try_for_each(|directory| {
        progress.advance(1);
        let start = Instant::now();
        if start >= deadline {
            return Ok(());
        }
        let path = directory.path();
        let answer = answers.listing(&path)?;
        let time = start.elapsed();
        let answer = answer.into_iter().map(|(key, record)| (key, record.attributes)).collect();
        collector.add(check(walk, &path, &answer), time, || escape::path(&path));
        Ok::<(), Error>(())
    })?;
    Ok(collector.into_counts())
}

fn check(walk: &Walk, directory: &Path, answer: &Listing) -> QueryResult {
    let now = match list(directory) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return QueryResult::Unreadable,
        Err(_) => Listing::new(),
    };
    if *answer == now {
        return QueryResult::Agrees;
    }
    let prefix = path_key::children(directory);
    let walked: Listing =
        walk.with_prefix(&prefix).map(|entry| (entry.key.clone(), entry.attributes)).collect();
    let has_changed = |(key, attributes): &(Vec<u8>, Attributes)| {
        walk.entry(key).is_some_and(|entry| entry.attributes != *attributes)
    };
    let changed = || walk.changed(directory) || now.iter().any(has_changed);
    if *answer == walked && changed() {
        QueryResult::Changed
    } else {
        QueryResult::Differs(difference(answer, &now))
    }
}

/// Returns the current listing. Skips paths without a key and files that disappear meanwhile.
fn list(directory: &Path) -> io::Result<Listing> {
    let mut listing = Listing::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if let (Some(key), Ok(metadata)) = (path_key::key_of(&path), fs::symlink_metadata(&path)) {
            listing.push((key, Attributes::new(&metadata)));
        }
    }
    listing.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(listing)
}

fn difference(answer: &Listing, now: &Listing) -> String {
    let show = |pair: Option<&(Vec<u8>, Attributes)>| match pair {
        Some((key, attributes)) => format!("{} {attributes:?}", escape::bytes(&path_key::path_of(key))),
        None => "no further entry".into(),
    };
    let at = answer.iter().zip(now).take_while(|(answer, now)| answer == now).count();
    let (answer, now) = (show(answer.get(at)), show(now.get(at)));
    format!("after {at} entries the store has {answer}, the file system {now}")
}

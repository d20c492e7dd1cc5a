//! Compares the largest files below directories with a new walk of each directory.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{Collector, QueryCounts, QueryResult};
use crate::answers::{Answers, Largest};
use crate::record::Attributes;
use crate::walk::{self, Entry, Walk};
use crate::{Error, escape, path_key};

/// The number of files that a query requests.
pub(crate) const LARGEST: usize = 10;

/// The number of random draws of a directory, in addition to the root.
const DRAWS: usize = 15;

/// Compares the largest files below the root and below random directories, until `deadline`.
pub(super) fn compare(
    answers: &Answers<'_>,
    walk: &Walk,
    random: &mut fastrand::Rng,
    deadline: Instant,
) -> Result<QueryCounts, Error> {
    let directories = directories(walk, random);
    let collector = Collector::new(directories.len());
    for directory in &directories {
        let start = Instant::now();
        if start >= deadline {
            break;
        }
        let answer = answers.largest(directory, LARGEST)?;
        let time = start.elapsed();
        collector.add(check(walk, directory, &answer), time, || escape::path(directory));
    }
    Ok(collector.into_counts())
}

/// Returns the root and random ancestors of random files. So large directories are likely.
fn directories(walk: &Walk, random: &mut fastrand::Rng) -> Vec<PathBuf> {
    let files: Vec<&Entry> = walk.entries.iter().filter(|entry| entry.attributes.is_file()).collect();
    let mut directories = vec![walk.root.clone()];
    for _ in 0..DRAWS {
        let Some(file) = random.choice(&files) else { break };
        let path = file.path();
        let ancestors = path.ancestors().skip(1).take_while(|directory| **directory != walk.root);
        let drawn = random.choice(ancestors.map(Path::to_owned).collect::<Vec<_>>());
        directories.extend(drawn.filter(|directory| !directories.contains(directory)));
    }
    directories
}

fn check(walk: &Walk, directory: &Path, answer: &[(u64, Vec<u8>)]) -> QueryResult {
    let now = current_largest(directory);
    if answer == now {
        return QueryResult::Agrees;
    }
    let mut changed = now.iter().chain(answer).filter(|file| !(now.contains(file) && answer.contains(file)));
    if answer == largest_in_walk(walk, directory)
        && changed.any(|(_, path)| walk.changed(path_key::as_path(path)))
    {
        return QueryResult::Changed;
    }
    let at = answer.iter().zip(&now).take_while(|(answer, now)| answer == now).count();
    let show = |file: Option<&(u64, Vec<u8>)>| match file {
        Some((size, path)) => format!("{} of {size} B", escape::bytes(path)),
        None => "no file".into(),
    };
    let (answer, now) = (show(answer.get(at)), show(now.get(at)));
    QueryResult::Differs(format!("file {} is {answer} in the store, {now} in the file system", at + 1))
}

fn current_largest(directory: &Path) -> Vec<(u64, Vec<u8>)> {
    let mut largest = Largest::new(LARGEST);
    for entry in walk::below(directory).flatten() {
        let attributes = entry.metadata().ok().map(|metadata| Attributes::new(&metadata));
        if let (Some(attributes), Some(_)) =
            (attributes.filter(Attributes::is_file), path_key::key_of(entry.path()))
        {
            largest.add(attributes.size, || entry.path().as_os_str().as_bytes().to_vec());
        }
    }
    largest.into_sorted()
}

/// Returns the largest files at the time of the walk.
fn largest_in_walk(walk: &Walk, directory: &Path) -> Vec<(u64, Vec<u8>)> {
    let mut largest = Largest::new(LARGEST);
    let prefix = path_key::subtree(directory);
    for entry in walk.with_prefix(&prefix).filter(|entry| entry.attributes.is_file()) {
        largest.add(entry.attributes.size, || path_key::path_of(&entry.key));
    }
    largest.into_sorted()
}

//! Directories listed by prefix scans, against what the file system lists.

use super::{Compared, Judgement, Ledger};
use crate::{
    error::Error,
    index::{
        answers::Answers,
        path_key,
        record::Facts,
        walk::{Entry, Walk},
    },
    parallel,
    progress::{Progress, Unit},
    text::{self, Form},
};
use std::{fs, io, path::Path, time::Instant};

/// Keys and facts of what a directory lists, in the order of the keys.
type Listing = Vec<(Vec<u8>, Facts)>;

/// Compares the listings of all directories in random order, for as long as there is time.
pub(super) fn compare(
    answers: &Answers<'_>,
    walk: &Walk,
    random: &mut fastrand::Rng,
    deadline: Instant,
) -> Result<Compared, Error> {
    let is_listed = |entry: &&Entry| entry.facts.is_directory() && !walk.is_mount(entry);
    let mut directories: Vec<&Entry> = walk.entries.iter().filter(is_listed).collect();
    random.shuffle(&mut directories);
    let ledger = Ledger::new(directories.len());
    let progress = Progress::towards("comparing", directories.len() as u64, Unit::Things("directories"));
    parallel::for_each_index(
        directories.len(),
        || (),
        |(), index| {
            progress.advance(1);
            let now = Instant::now();
            if now >= deadline {
                return Ok(());
            }
            let path = directories[index].path();
            let answer = answers.listing(&path)?;
            let time = now.elapsed();
            let answer = answer.into_iter().map(|(key, record)| (key, record.facts)).collect();
            ledger.write(judge(walk, &path, &answer), time, || text::path(&path));
            Ok::<(), Error>(())
        },
    )?;
    Ok(ledger.close())
}

fn judge(walk: &Walk, directory: &Path, answer: &Listing) -> Judgement {
    let now = match list(directory) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Judgement::Unreadable,
        Err(_) => Listing::new(),
    };
    if *answer == now {
        return Judgement::Agrees;
    }
    let prefix = path_key::children(directory);
    let saw: Listing = walk.with_prefix(&prefix).map(|entry| (entry.key.clone(), entry.facts)).collect();
    let has_changed =
        |(key, facts): &(Vec<u8>, Facts)| walk.entry(key).is_some_and(|entry| entry.facts != *facts);
    let changed = || walk.changed(directory) || now.iter().any(has_changed);
    if *answer == saw && changed() {
        Judgement::Changed
    } else {
        Judgement::Differs(difference(answer, &now))
    }
}

/// What the file system lists: whatever has a key and is still there when asked for its facts.
fn list(directory: &Path) -> io::Result<Listing> {
    let mut listing = Listing::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if let (Some(key), Ok(metadata)) = (path_key::key_of(&path), fs::symlink_metadata(&path)) {
            listing.push((key, Facts::of(&metadata)));
        }
    }
    listing.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(listing)
}

fn difference(answer: &Listing, now: &Listing) -> String {
    let show = |pair: Option<&(Vec<u8>, Facts)>| match pair {
        Some((key, facts)) => format!("{} {facts:?}", Form::Escaped.print(&path_key::path_of(key))),
        None => "nothing more".into(),
    };
    let at = answer.iter().zip(now).take_while(|(answer, now)| answer == now).count();
    let (answer, now) = (show(answer.get(at)), show(now.get(at)));
    format!("after {at} entries the store has {answer}, the file system {now}")
}

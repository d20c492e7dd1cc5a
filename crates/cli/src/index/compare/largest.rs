//! The largest files below directories, against another walk.

use super::{Compared, Judgement, Ledger};
use crate::{
    error::Error,
    index::{
        answers::{Answers, Largest},
        path_key,
        record::Facts,
        walk::{self, Entry, Walk},
    },
    text::{self, Form},
};
use std::{
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    time::Instant,
};

/// How many files are asked for.
pub(crate) const LARGEST: usize = 10;

/// How many directories are tried to be drawn beside the root.
const DRAWS: usize = 15;

/// Compares the largest files below the root and below some of its directories, for as long as there is time.
pub(super) fn compare(
    answers: &Answers<'_>,
    walk: &Walk,
    random: &mut fastrand::Rng,
    deadline: Instant,
) -> Result<Compared, Error> {
    let directories = directories(walk, random);
    let ledger = Ledger::new(directories.len());
    for directory in &directories {
        let now = Instant::now();
        if now >= deadline {
            break;
        }
        let answer = answers.largest(directory, LARGEST)?;
        let time = now.elapsed();
        ledger.write(judge(walk, directory, &answer), time, || text::path(directory));
    }
    Ok(ledger.close())
}

/// The root and directories above randomly drawn files, so that large directories are likely.
fn directories(walk: &Walk, random: &mut fastrand::Rng) -> Vec<PathBuf> {
    let files: Vec<&Entry> = walk.entries.iter().filter(|entry| entry.facts.is_file()).collect();
    let mut directories = vec![walk.root.clone()];
    for _ in 0..DRAWS {
        let Some(file) = random.choice(&files) else { break };
        let path = file.path();
        let above = path.ancestors().skip(1).take_while(|directory| **directory != walk.root);
        let drawn = random.choice(above.map(Path::to_owned).collect::<Vec<_>>());
        directories.extend(drawn.filter(|directory| !directories.contains(directory)));
    }
    directories
}

fn judge(walk: &Walk, directory: &Path, answer: &[(u64, Vec<u8>)]) -> Judgement {
    let now = largest_now(directory);
    if answer == now {
        return Judgement::Agrees;
    }
    let mut changed = now.iter().chain(answer).filter(|file| !(now.contains(file) && answer.contains(file)));
    if answer == largest_then(walk, directory)
        && changed.any(|(_, path)| walk.changed(path_key::as_path(path)))
    {
        return Judgement::Changed;
    }
    let at = answer.iter().zip(&now).take_while(|(answer, now)| answer == now).count();
    let show = |file: Option<&(u64, Vec<u8>)>| match file {
        Some((size, path)) => format!("{} of {size} B", Form::Escaped.print(path)),
        None => "nothing".into(),
    };
    let (answer, now) = (show(answer.get(at)), show(now.get(at)));
    Judgement::Differs(format!("number {} of the store is {answer}, of the file system {now}", at + 1))
}

fn largest_now(directory: &Path) -> Vec<(u64, Vec<u8>)> {
    let mut largest = Largest::new(LARGEST);
    for entry in walk::below(directory).flatten() {
        let facts = entry.metadata().ok().map(|metadata| Facts::of(&metadata)).filter(Facts::is_file);
        if let (Some(facts), Some(_)) = (facts, path_key::key_of(entry.path())) {
            largest.take(facts.size, || entry.path().as_os_str().as_bytes().to_vec());
        }
    }
    largest.in_order()
}

/// The largest files as the walk saw them.
fn largest_then(walk: &Walk, directory: &Path) -> Vec<(u64, Vec<u8>)> {
    let mut largest = Largest::new(LARGEST);
    let prefix = path_key::subtree(directory);
    for entry in walk.with_prefix(&prefix).filter(|entry| entry.facts.is_file()) {
        largest.take(entry.facts.size, || path_key::path_of(&entry.key));
    }
    largest.in_order()
}

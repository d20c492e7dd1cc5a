//! Chunks of byte ranges found by scans with floor start, against the files.

use super::{Compared, Judgement, Ledger};
use crate::{
    error::Error,
    index::{
        answers::Answers,
        chunk::{self, CHUNK_BYTES_MAX, Chunk},
        content::{self, Trouble},
        record::Facts,
        walk::{Entry, Walk},
    },
    parallel,
    progress::{Progress, Unit},
    text,
};
use std::{fs, ops::Range, path::Path, time::Instant};

/// Bytes of the longest range asked for.
const RANGE_BYTES_MAX: u64 = 4 * CHUNK_BYTES_MAX;

/// Compares the chunks of `count` random byte ranges, for as long as there is time.
pub(super) fn compare(
    answers: &Answers<'_>,
    walk: &Walk,
    random: &mut fastrand::Rng,
    count: u64,
    deadline: Instant,
) -> Result<Compared, Error> {
    let questions = questions(walk, random, count);
    let ledger = Ledger::new(questions.len());
    let progress = Progress::towards("comparing", questions.len() as u64, Unit::Things("byte ranges"));
    parallel::for_each_index(questions.len(), Vec::new, |buffer, index| {
        progress.advance(1);
        let now = Instant::now();
        if now >= deadline {
            return Ok(());
        }
        let (entry, range) = &questions[index];
        let path = entry.path();
        let answer = answers.chunks(&path, range.clone())?;
        let time = now.elapsed();
        let judgement = judge(&entry.facts, &path, range, &answer, buffer);
        ledger.write(judgement, time, || {
            format!("bytes {} to {} of {}", range.start, range.end, text::path(&path))
        });
        Ok::<(), Error>(())
    })?;
    Ok(ledger.close())
}

/// Random files with random ranges: half of them of files that have several chunks, if there are any.
fn questions<'a>(walk: &'a Walk, random: &mut fastrand::Rng, count: u64) -> Vec<(&'a Entry, Range<u64>)> {
    let with_content = |entry: &&Entry| entry.facts.content_bytes() > 0;
    let files: Vec<&Entry> = walk.entries.iter().filter(with_content).collect();
    let is_cut = |entry: &&Entry| chunk::count(entry.facts.size) > 1;
    let large: Vec<&Entry> = files.iter().copied().filter(is_cut).collect();
    let mut question = |number: u64| {
        let among = if number % 2 == 1 && !large.is_empty() { &large } else { &files };
        let entry = random.choice(among)?;
        let start = random.u64(0..entry.facts.size);
        let length = (RANGE_BYTES_MAX as f64).powf(random.f64()) as u64;
        Some((*entry, start..start + length.max(1)))
    };
    (0..count).map_while(&mut question).collect()
}

/// The chunks that hold bytes of `range`, by the size of the file alone.
fn expected(file_bytes: u64, range: &Range<u64>) -> impl Iterator<Item = Chunk> {
    let holds =
        |chunk: &Chunk| chunk.offset < range.end && chunk.offset + u64::from(chunk.length) > range.start;
    chunk::cut(file_bytes).filter(holds)
}

fn judge(
    facts: &Facts,
    path: &Path,
    range: &Range<u64>,
    answer: &[Chunk],
    buffer: &mut Vec<u8>,
) -> Judgement {
    let bounds = answer.iter().map(|chunk| Chunk { checksum: None, ..*chunk });
    if !bounds.eq(expected(facts.size, range)) {
        let expected: Vec<_> = expected(facts.size, range).collect();
        return Judgement::Differs(format!("the store has {answer:?}, the file is cut into {expected:?}"));
    }
    if answer.iter().any(|chunk| chunk.checksum.is_none()) {
        let now = fs::symlink_metadata(path).ok().map(|metadata| Facts::of(&metadata));
        return if now == Some(*facts) { Judgement::Agrees } else { Judgement::Changed };
    }
    match content::read(path, facts, expected(facts.size, range), buffer) {
        Ok(chunks) if chunks == answer => Judgement::Agrees,
        Ok(chunks) => Judgement::Differs(format!("the store has {answer:?}, the file {chunks:?}")),
        Err(Trouble::Changed) => Judgement::Changed,
        Err(Trouble::Unreadable(_)) => Judgement::Unreadable,
    }
}

//! Compares the chunks of byte ranges, by scans with floor start, with the files.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use rayon::prelude::*;

use super::{Collector, QueryCounts, QueryResult};
use crate::answers::Answers;
use crate::chunk::{self, CHUNK_BYTES_MAX, Chunk};
use crate::compare::Plan;
use crate::content::{self, ReadError};
use crate::progress::{Phase, Unit};
use crate::record::Attributes;
use crate::walk::{Entry, Walk};
use crate::{Error, escape};

/// The length of the longest range, in bytes.
const RANGE_BYTES_MAX: u64 = 4 * CHUNK_BYTES_MAX;

/// Compares the chunks of random byte ranges, until the deadline.
pub(super) fn compare(
    answers: &Answers<'_>,
    walk: &Walk,
    plan: &Plan,
    random: &mut fastrand::Rng,
    deadline: Instant,
) -> Result<QueryCounts, Error> {
    let queries = queries(walk, random, plan.ranges);
    let collector = Collector::new(queries.len());
    let total = Some(queries.len() as u64);
    let progress = (plan.start_phase)(Phase { name: "comparing", total, unit: Unit::Items("byte ranges") });
    queries.par_iter().try_for_each_init(Vec::new, |buffer, (entry, range)| {
        progress.advance(1);
        let start = Instant::now();
        if start >= deadline {
            return Ok(());
        }
        let path = entry.path();
        let answer = answers.chunks(&path, range.clone())?;
        let time = start.elapsed();
        let result = check(&entry.attributes, &path, range, &answer, buffer);
        collector.add(result, time, || {
            format!("bytes {} to {} of {}", range.start, range.end, escape::path(&path))
        });
        Ok::<(), Error>(())
    })?;
    Ok(collector.into_counts())
}

/// Returns random ranges of random files. Half of the files have several chunks, if there are such files.
fn queries<'a>(walk: &'a Walk, random: &mut fastrand::Rng, count: u64) -> Vec<(&'a Entry, Range<u64>)> {
    let has_content = |entry: &&Entry| entry.attributes.content_bytes() > 0;
    let files: Vec<&Entry> = walk.entries.iter().filter(has_content).collect();
    let has_several_chunks = |entry: &&Entry| chunk::count(entry.attributes.size) > 1;
    let large: Vec<&Entry> = files.iter().copied().filter(has_several_chunks).collect();
    let mut query = |number: u64| {
        let files = if number % 2 == 1 && !large.is_empty() { &large } else { &files };
        let entry = random.choice(files)?;
        let start = random.u64(0..entry.attributes.size);
        let length = (RANGE_BYTES_MAX as f64).powf(random.f64()) as u64;
        Some((*entry, start..start + length.max(1)))
    };
    (0..count).map_while(&mut query).collect()
}

/// Returns the chunks that contain bytes of `range`, computed from the size of the file.
fn expected(file_bytes: u64, range: &Range<u64>) -> impl Iterator<Item = Chunk> {
    let overlaps =
        |chunk: &Chunk| chunk.offset < range.end && chunk.offset + u64::from(chunk.length) > range.start;
    chunk::split(file_bytes).filter(overlaps)
}

fn check(
    attributes: &Attributes,
    path: &Path,
    range: &Range<u64>,
    answer: &[Chunk],
    buffer: &mut Vec<u8>,
) -> QueryResult {
    let bounds = answer.iter().map(|chunk| Chunk { checksum: None, ..*chunk });
    if !bounds.eq(expected(attributes.size, range)) {
        let expected: Vec<_> = expected(attributes.size, range).collect();
        return QueryResult::Differs(format!(
            "the store has {answer:?}, the file is split into {expected:?}"
        ));
    }
    if answer.iter().any(|chunk| chunk.checksum.is_none()) {
        let now = fs::symlink_metadata(path).ok().map(|metadata| Attributes::new(&metadata));
        return if now == Some(*attributes) { QueryResult::Agrees } else { QueryResult::Changed };
    }
    match content::read(path, attributes, expected(attributes.size, range), buffer) {
        Ok(chunks) if chunks == answer => QueryResult::Agrees,
        Ok(chunks) => QueryResult::Differs(format!("the store has {answer:?}, the file {chunks:?}")),
        Err(ReadError::Changed) => QueryResult::Changed,
        Err(ReadError::Unreadable(_)) => QueryResult::Unreadable,
    }
}

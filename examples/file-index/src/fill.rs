//! Stores the files of a walk. All cores read files, split them into chunks and put the pairs.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::chunk::{self, Chunk};
use crate::content::{self, ReadError};
use crate::exceptions::Exceptions;
use crate::progress::{Phase, StartPhase, Unit};
use crate::record::{RECORD_BYTES, Record};
use crate::tables::Tables;
use crate::walk::{Entry, Walk};
use crate::{Error, escape, path_key};

/// The number of stored pairs and bytes, and the times.
#[derive(Default)]
pub(crate) struct FillStatistics {
    /// Pairs of the table `files`.
    pub(crate) files: u64,
    /// Pairs of the table `chunks`.
    pub(crate) chunks: u64,
    /// Bytes of the keys and values.
    pub(crate) raw_bytes: u64,
    /// Bytes read for checksums.
    pub(crate) read_bytes: u64,
    /// Files that cannot be read. Their chunks have no checksums.
    pub(crate) unreadable: Exceptions,
    /// Files that changed between the walk and the end of the read. Their chunks have no checksums.
    pub(crate) changed: Exceptions,
    /// The duration of the whole step.
    pub(crate) time: Duration,
    /// The time in the store, summed over all threads.
    pub(crate) store_time: Duration,
}

/// Stores all entries of `walk` with the attributes from the walk. Reads the files if `checksums` is set.
///
/// # Errors
/// The store is full or unreachable.
pub(crate) fn fill(
    tables: &Tables<'_>,
    walk: &Walk,
    checksums: bool,
    start_phase: StartPhase,
) -> Result<FillStatistics, Error> {
    let start = Instant::now();
    let first = tables.allocate_identifiers(walk.entries.len())?;
    let (total, unit) = match checksums {
        true => (walk.file_bytes, Unit::Bytes),
        false => (walk.entries.len() as u64, Unit::Items("entries")),
    };
    let progress = start_phase(Phase { name: "indexing", total: Some(total), unit });
    let statistics = Mutex::new(FillStatistics::default());
    walk.entries.par_iter().enumerate().try_for_each_init(Vec::new, |buffer, (index, entry)| {
        let (chunks, error) = chunks(entry, checksums, buffer);
        let record = Record { identifier: first + index as u64, attributes: entry.attributes };
        let put_start = Instant::now();
        tables.put(&entry.key, record, &chunks)?;
        let put_time = put_start.elapsed();
        statistics.lock().unwrap_or_else(PoisonError::into_inner).add(entry, &chunks, error, put_time);
        progress.advance(if checksums { entry.attributes.content_bytes() } else { 1 });
        Ok::<(), Error>(())
    })?;
    let statistics = statistics.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(FillStatistics { time: start.elapsed(), ..statistics })
}

/// Returns the chunks of an entry. If `checksums` is set but the file cannot be read, returns chunks without
/// checksums, and the error.
fn chunks(entry: &Entry, checksums: bool, buffer: &mut Vec<u8>) -> (Vec<Chunk>, Option<ReadError>) {
    let without_checksums = || chunk::split(entry.attributes.content_bytes()).collect();
    if !checksums || entry.attributes.content_bytes() == 0 {
        return (without_checksums(), None);
    }
    match content::read(&entry.path(), &entry.attributes, chunk::split(entry.attributes.size), buffer) {
        Ok(chunks) => (chunks, None),
        Err(error) => (without_checksums(), Some(error)),
    }
}

impl FillStatistics {
    fn add(&mut self, entry: &Entry, chunks: &[Chunk], error: Option<ReadError>, store_time: Duration) {
        self.store_time += store_time;
        self.files += 1;
        self.chunks += chunks.len() as u64;
        let chunk_bytes = |chunk: &Chunk| (chunk::KEY_BYTES + chunk.value().len()) as u64;
        self.raw_bytes +=
            (entry.key.len() + RECORD_BYTES) as u64 + chunks.iter().map(chunk_bytes).sum::<u64>();
        let with_checksum = chunks.iter().filter(|chunk| chunk.checksum.is_some());
        self.read_bytes += with_checksum.map(|chunk| u64::from(chunk.length)).sum::<u64>();
        let name = || escape::bytes(&path_key::path_of(&entry.key));
        match error {
            Some(ReadError::Changed) => self.changed.add(name),
            Some(ReadError::Unreadable(error)) => self.unreadable.add(|| format!("{} ({error})", name())),
            None => {}
        }
    }
}

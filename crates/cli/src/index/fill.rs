//! From the walk into the store: every file is read, cut into chunks and stored, by all cores at once.

use super::{
    chunk::{self, Chunk},
    content::{self, Trouble},
    path_key,
    record::{RECORD_BYTES, Record},
    tables::Tables,
    walk::{Entry, Walk},
};
use crate::{
    error::Error,
    noted::Noted,
    parallel,
    progress::{Progress, Unit},
    text::Form,
};
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// What was stored.
#[derive(Default)]
pub(crate) struct Filled {
    /// Pairs of the table `files`.
    pub(crate) files: u64,
    /// Pairs of the table `chunks`.
    pub(crate) chunks: u64,
    /// Bytes of their keys and values.
    pub(crate) raw_bytes: u64,
    /// Pairs of the table `files` that an earlier index had stored and that were taken out first.
    pub(crate) forgotten: u64,
    /// Bytes read for checksums.
    pub(crate) read_bytes: u64,
    /// Files that could not be read: their chunks have no checksums.
    pub(crate) unreadable: Noted,
    /// Files that changed between the walk and the end of their reading: their chunks have no checksums.
    pub(crate) changed: Noted,
    /// How long it took.
    pub(crate) time: Duration,
    /// How long threads spent in the store, together.
    pub(crate) store_time: Duration,
}

/// Bytes of the keys and values that [`fill`] will store.
pub(crate) fn raw_bytes(walk: &Walk) -> u64 {
    let chunk_bytes = (chunk::KEY_BYTES + chunk::VALUE_BYTES_MAX) as u64;
    let entry_bytes = |entry: &Entry| {
        let chunks = chunk::count(entry.facts.content_bytes());
        (entry.key.len() + RECORD_BYTES) as u64 + chunks * chunk_bytes
    };
    walk.entries.iter().map(entry_bytes).sum()
}

/// Stores every entry of `walk`, as the walk saw it; with `checksum`, reads the files.
///
/// # Errors
/// The store is full, or cannot be reached.
pub(crate) fn fill(tables: &Tables<'_>, walk: &Walk, checksum: bool) -> Result<Filled, Error> {
    let start = Instant::now();
    let first = tables.number(walk.entries.len())?;
    let progress = if checksum {
        Progress::towards("indexing", walk.file_bytes, Unit::Bytes)
    } else {
        Progress::towards("indexing", walk.entries.len() as u64, Unit::Things("entries"))
    };
    let filled = Mutex::new(Filled::default());
    let store_nanoseconds = AtomicU64::new(0);
    parallel::for_each_index(walk.entries.len(), Vec::new, |buffer, index| {
        let entry = &walk.entries[index];
        let (chunks, trouble) = chunks(entry, checksum, buffer);
        let storing = Instant::now();
        tables.put(&entry.key, Record { identifier: first + index as u64, facts: entry.facts }, &chunks)?;
        store_nanoseconds.fetch_add(storing.elapsed().as_nanos() as u64, Ordering::Relaxed);
        filled.lock().unwrap_or_else(PoisonError::into_inner).count(entry, &chunks, trouble);
        progress.advance(if checksum { entry.facts.content_bytes() } else { 1 });
        Ok::<(), Error>(())
    })?;
    let filled = filled.into_inner().unwrap_or_else(PoisonError::into_inner);
    let store_time = Duration::from_nanos(store_nanoseconds.into_inner());
    Ok(Filled { time: start.elapsed(), store_time, ..filled })
}

/// The chunks of an entry, and why they have no checksums if they should have but have not.
fn chunks(entry: &Entry, checksum: bool, buffer: &mut Vec<u8>) -> (Vec<Chunk>, Option<Trouble>) {
    let without = || chunk::cut(entry.facts.content_bytes()).collect();
    if !checksum || entry.facts.content_bytes() == 0 {
        return (without(), None);
    }
    match content::read(&entry.path(), &entry.facts, chunk::cut(entry.facts.size), buffer) {
        Ok(chunks) => (chunks, None),
        Err(trouble) => (without(), Some(trouble)),
    }
}

impl Filled {
    fn count(&mut self, entry: &Entry, chunks: &[Chunk], trouble: Option<Trouble>) {
        self.files += 1;
        self.chunks += chunks.len() as u64;
        let chunk_bytes = |chunk: &Chunk| (chunk::KEY_BYTES + chunk.value().len()) as u64;
        self.raw_bytes +=
            (entry.key.len() + RECORD_BYTES) as u64 + chunks.iter().map(chunk_bytes).sum::<u64>();
        let with_checksum = chunks.iter().filter(|chunk| chunk.checksum.is_some());
        self.read_bytes += with_checksum.map(|chunk| u64::from(chunk.length)).sum::<u64>();
        let name = || Form::Escaped.print(&path_key::path_of(&entry.key));
        match trouble {
            Some(Trouble::Changed) => self.changed.note(name),
            Some(Trouble::Unreadable(error)) => self.unreadable.note(|| format!("{} ({error})", name())),
            None => {}
        }
    }
}

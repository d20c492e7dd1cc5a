//! The tables of an index and how they are filled: files, their chunks, and the counter that numbers files.

use super::{
    chunk::{self, Chunk},
    path_key,
    record::Record,
};
use crate::{
    error::Error,
    pages::{self, Request},
};
use honeycomb_store::{Store, Table};
use std::path::Path;

/// The key of the counter that numbers files.
const LAST_IDENTIFIER: &[u8] = b"last file identifier";

/// The tables of an index.
pub(crate) struct Tables {
    /// Path to metadata; see [`path_key`] and [`super::record`].
    pub(crate) files: Table,
    /// (File, offset) to chunk; see [`super::chunk`].
    pub(crate) chunks: Table,
    counters: Table,
}

impl Tables {
    /// Opens the tables of `store`, or makes them.
    ///
    /// # Errors
    /// The store is full.
    pub(crate) fn open(store: &Store) -> Result<Tables, Error> {
        Ok(Tables {
            files: store.table("files")?,
            chunks: store.table("chunks")?,
            counters: store.table("counters")?,
        })
    }

    /// Sets `count` identifiers aside, which no other file of the store has or will have, and returns the
    /// first.
    ///
    /// # Errors
    /// The store is full.
    pub(crate) fn number(&self, count: usize) -> Result<u64, Error> {
        let last = self.counters.add(LAST_IDENTIFIER, count as i64)?;
        Ok(last + 1 - count as u64)
    }

    /// Stores a file. Its chunks go first, so that whoever finds the file finds all its chunks.
    ///
    /// # Errors
    /// The store is full.
    pub(crate) fn put(&self, key: &[u8], record: Record, chunks: &[Chunk]) -> Result<(), Error> {
        for chunk in chunks {
            self.chunks.put(&chunk::key_of(record.identifier, chunk.offset), &chunk.value())?;
        }
        Ok(self.files.put(key, &record.to_bytes())?)
    }

    /// Takes out what is known of `directory` and all below it; returns how many files that were.
    ///
    /// # Errors
    /// The store is full.
    pub(crate) fn forget(&self, store: &Store, directory: &Path) -> Result<u64, Error> {
        let snapshot = store.snapshot()?;
        let mut forgotten = 0;
        let mut forget = |key: &[u8], value: &[u8]| {
            forgotten += 1;
            self.files.delete(key)?;
            match Record::from_bytes(value) {
                Some(record) if record.facts.content_bytes() > 0 => self.forget_chunks(record.identifier),
                _ => Ok(()),
            }
        };
        if let Some(key) = path_key::key_of(directory)
            && let Some(value) = snapshot.get(&self.files, &key)?
        {
            forget(&key, &value)?;
        }
        pages::for_each(&snapshot, &self.files, Request::prefix(&path_key::subtree(directory)), forget)?;
        Ok(forgotten)
    }

    fn forget_chunks(&self, identifier: u64) -> Result<(), Error> {
        let (first, end) = (chunk::key_of(identifier, 0), chunk::key_of(identifier + 1, 0));
        self.chunks.delete_range(&first[..]..&end[..])?;
        Ok(())
    }
}

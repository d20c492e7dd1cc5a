//! Writes to the tables of an index: files, their chunks, and the counter that numbers files.

use std::path::Path;

use crate::chunk::{self, Chunk};
use crate::record::Record;
use crate::store::{IndexStore, IndexTable, KeyRange, NewPair};
use crate::{Error, path_key};

/// The key of the counter that numbers files.
const LAST_IDENTIFIER: &[u8] = b"last file identifier";

/// The tables of an index.
pub(crate) struct Tables<'s> {
    store: &'s dyn IndexStore,
}

impl<'s> Tables<'s> {
    /// Returns the tables in `store`.
    pub(crate) fn new(store: &'s dyn IndexStore) -> Tables<'s> {
        Tables { store }
    }

    /// Allocates `count` consecutive identifiers and returns the first. No other file of the store ever gets
    /// them.
    ///
    /// # Errors
    /// The store is full or unreachable.
    pub(crate) fn allocate_identifiers(&self, count: usize) -> Result<u64, Error> {
        let last = self.store.add(IndexTable::Counters, LAST_IDENTIFIER, count as i64)?;
        Ok(last as u64 + 1 - count as u64)
    }

    /// Stores the chunks of a file, then its record. So a reader that finds the record also finds all chunks.
    ///
    /// # Errors
    /// The store is full or unreachable.
    pub(crate) fn put(&self, key: &[u8], record: Record, chunks: &[Chunk]) -> Result<(), Error> {
        let new_chunk = |chunk: &Chunk| NewPair {
            table: IndexTable::Chunks,
            key: chunk::key_of(record.identifier, chunk.offset).to_vec(),
            value: chunk.value(),
        };
        let file = NewPair { table: IndexTable::Files, key: key.to_vec(), value: record.to_bytes().to_vec() };
        let pairs: Vec<NewPair> = chunks.iter().map(new_chunk).chain([file]).collect();
        self.store.put(&pairs)
    }

    /// Removes `directory` and all files below it from the index. Returns the number of removed files.
    ///
    /// # Errors
    /// The store is full or unreachable.
    pub(crate) fn remove(&self, directory: &Path) -> Result<u64, Error> {
        let snapshot = self.store.snapshot()?;
        let mut removed = 0;
        let mut remove = |key: &[u8], value: &[u8]| {
            removed += 1;
            self.store.delete(IndexTable::Files, key)?;
            match Record::from_bytes(value) {
                Some(record) if record.attributes.content_bytes() > 0 => {
                    self.remove_chunks(record.identifier)
                }
                _ => Ok(()),
            }
        };
        if let Some(key) = path_key::key_of(directory)
            && let Some(value) = snapshot.get(IndexTable::Files, &key)?
        {
            remove(&key, &value)?;
        }
        snapshot.scan(IndexTable::Files, KeyRange::prefix(&path_key::subtree(directory)), &mut remove)?;
        Ok(removed)
    }

    fn remove_chunks(&self, identifier: u64) -> Result<(), Error> {
        let (first, end) = (chunk::key_of(identifier, 0), chunk::key_of(identifier + 1, 0));
        self.store.delete_range(IndexTable::Chunks, &first, &end)
    }
}

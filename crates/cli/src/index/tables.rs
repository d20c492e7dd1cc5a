//! The tables of an index and how they are filled: files, their chunks, and the counter that numbers files.

use super::{
    chunk::{self, Chunk},
    path_key,
    record::Record,
};
use crate::{
    error::Error,
    keeper::{Keeper, New, Place},
    pages::Request,
};
use std::path::Path;

/// The key of the counter that numbers files.
const LAST_IDENTIFIER: &[u8] = b"last file identifier";

/// The tables of an index.
pub(crate) struct Tables<'k> {
    keeper: &'k dyn Keeper,
}

impl<'k> Tables<'k> {
    /// The tables that somebody keeps.
    pub(crate) fn new(keeper: &'k dyn Keeper) -> Tables<'k> {
        Tables { keeper }
    }

    /// Sets `count` identifiers aside, which no other file of the store has or will have, and returns the
    /// first.
    ///
    /// # Errors
    /// The store is full, or cannot be reached.
    pub(crate) fn number(&self, count: usize) -> Result<u64, Error> {
        let last = self.keeper.add(Place::Counters, LAST_IDENTIFIER, count as i64)?;
        Ok(last as u64 + 1 - count as u64)
    }

    /// Stores a file. Its chunks go first, so that whoever finds the file finds all its chunks.
    ///
    /// # Errors
    /// The store is full, or cannot be reached.
    pub(crate) fn put(&self, key: &[u8], record: Record, chunks: &[Chunk]) -> Result<(), Error> {
        let new_chunk = |chunk: &Chunk| New {
            place: Place::Chunks,
            key: chunk::key_of(record.identifier, chunk.offset).to_vec(),
            value: chunk.value(),
        };
        let file = New { place: Place::Files, key: key.to_vec(), value: record.to_bytes().to_vec() };
        let pairs: Vec<New> = chunks.iter().map(new_chunk).chain([file]).collect();
        self.keeper.put(&pairs)
    }

    /// Takes out what is known of `directory` and all below it; returns how many files that were.
    ///
    /// # Errors
    /// The store is full, or cannot be reached.
    pub(crate) fn forget(&self, directory: &Path) -> Result<u64, Error> {
        let moment = self.keeper.moment()?;
        let mut forgotten = 0;
        let mut forget = |key: &[u8], value: &[u8]| {
            forgotten += 1;
            self.keeper.delete(Place::Files, key)?;
            match Record::from_bytes(value) {
                Some(record) if record.facts.content_bytes() > 0 => self.forget_chunks(record.identifier),
                _ => Ok(()),
            }
        };
        if let Some(key) = path_key::key_of(directory)
            && let Some(value) = moment.get(Place::Files, &key)?
        {
            forget(&key, &value)?;
        }
        moment.scan(Place::Files, Request::prefix(&path_key::subtree(directory)), &mut forget)?;
        Ok(forgotten)
    }

    fn forget_chunks(&self, identifier: u64) -> Result<(), Error> {
        let (first, end) = (chunk::key_of(identifier, 0), chunk::key_of(identifier + 1, 0));
        self.keeper.delete_range(Place::Chunks, &first, &end)
    }
}

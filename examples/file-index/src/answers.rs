//! Queries about files. One snapshot answers all of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::{Bound, Range};
use std::path::Path;

use crate::chunk::{self, Chunk};
use crate::record::Record;
use crate::store::{IndexSnapshot, IndexTable, KeyRange};
use crate::{Error, path_key};

/// Answers queries from a snapshot of an index.
pub(crate) struct Answers<'a> {
    snapshot: Box<dyn IndexSnapshot + 'a>,
}

impl<'a> Answers<'a> {
    /// Answers queries from `snapshot`.
    pub(crate) fn new(snapshot: Box<dyn IndexSnapshot + 'a>) -> Answers<'a> {
        Answers { snapshot }
    }

    /// Returns the record of the file at `path`, with one get.
    ///
    /// # Errors
    /// The store returns an error, or the value is not a record.
    pub(crate) fn record(&self, path: &Path) -> Result<Option<Record>, Error> {
        let Some(key) = path_key::key_of(path) else { return Ok(None) };
        let value = self.snapshot.get(IndexTable::Files, &key)?;
        value.map(|value| record(&key, &value)).transpose()
    }

    /// Returns the keys and records of the entries of `directory`, ordered by name, with one prefix scan.
    ///
    /// # Errors
    /// The store returns an error, or the range contains other pairs.
    pub(crate) fn listing(&self, directory: &Path) -> Result<Vec<(Vec<u8>, Record)>, Error> {
        let prefix = path_key::children(directory);
        let mut listing = Vec::new();
        let mut visit = |key: &[u8], value: &[u8]| {
            listing.push((key.to_vec(), record(key, value)?));
            Ok(())
        };
        self.snapshot.scan(IndexTable::Files, KeyRange::prefix(&prefix), &mut visit)?;
        Ok(listing)
    }

    /// Returns the chunks that contain bytes of `range` of the file at `path`, with a get and a scan with
    /// floor start.
    ///
    /// # Errors
    /// The store returns an error, or the range contains other pairs.
    pub(crate) fn chunks(&self, path: &Path, range: Range<u64>) -> Result<Vec<Chunk>, Error> {
        let Some(Record { identifier, .. }) = self.record(path)? else { return Ok(Vec::new()) };
        let (from, to) = (chunk::key_of(identifier, range.start), chunk::key_of(identifier, range.end));
        let (lower, upper) = (Bound::Included(from.to_vec()), Bound::Excluded(to.to_vec()));
        let range_of_chunks = KeyRange { lower, upper, floor_start: true };
        let mut chunks = Vec::new();
        let mut visit = |key: &[u8], value: &[u8]| {
            let (file, chunk) =
                Chunk::from_pair(key, value).ok_or_else(|| Error::foreign_pair("chunks", key))?;
            // If the file is empty or ends before the range, the floor is not a chunk of the range.
            if file == identifier && chunk.offset + u64::from(chunk.length) > range.start {
                chunks.push(chunk);
            }
            Ok(())
        };
        self.snapshot.scan(IndexTable::Chunks, range_of_chunks, &mut visit)?;
        Ok(chunks)
    }

    /// Returns the sizes and paths of the `count` largest regular files below `directory`, with one prefix
    /// scan. The largest file comes first; files of equal size are ordered by path.
    ///
    /// # Errors
    /// The store returns an error, or the range contains other pairs.
    pub(crate) fn largest(&self, directory: &Path, count: usize) -> Result<Vec<(u64, Vec<u8>)>, Error> {
        let mut largest = Largest::new(count);
        let prefix = path_key::subtree(directory);
        let mut visit = |key: &[u8], value: &[u8]| {
            let attributes = record(key, value)?.attributes;
            if attributes.is_file() {
                largest.add(attributes.size, || path_key::path_of(key));
            }
            Ok(())
        };
        self.snapshot.scan(IndexTable::Files, KeyRange::prefix(&prefix), &mut visit)?;
        Ok(largest.into_sorted())
    }
}

/// Selects the largest of many files.
pub(crate) struct Largest {
    count: usize,
    /// The smallest file is at the top. A larger file replaces it.
    heap: BinaryHeap<(Reverse<u64>, Vec<u8>)>,
}

impl Largest {
    /// Keeps the `count` largest files.
    pub(crate) fn new(count: usize) -> Largest {
        Largest { count, heap: BinaryHeap::new() }
    }

    /// Adds a file with `size` bytes.
    pub(crate) fn add(&mut self, size: u64, path: impl FnOnce() -> Vec<u8>) {
        if self.heap.len() == self.count && self.heap.peek().is_some_and(|(Reverse(least), _)| size < *least)
        {
            return;
        }
        self.heap.push((Reverse(size), path()));
        if self.heap.len() > self.count {
            self.heap.pop();
        }
    }

    /// Returns sizes and paths, the largest file first. Files of equal size are ordered by path.
    pub(crate) fn into_sorted(self) -> Vec<(u64, Vec<u8>)> {
        self.heap.into_sorted_vec().into_iter().map(|(Reverse(size), path)| (size, path)).collect()
    }
}

fn record(key: &[u8], value: &[u8]) -> Result<Record, Error> {
    Record::from_bytes(value).ok_or_else(|| Error::foreign_pair("files", key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_ordered_by_size_then_path() {
        let mut largest = Largest::new(3);
        for (size, path) in [(1, "a"), (5, "d"), (5, "b"), (9, "c"), (5, "a"), (0, "z")] {
            largest.add(size, || path.into());
        }
        let expected = [(9, b"c".to_vec()), (5, b"a".to_vec()), (5, b"b".to_vec())];
        assert_eq!(largest.into_sorted(), expected);
        assert_eq!(Largest::new(2).into_sorted(), []);
    }
}

//! What the store answers about files: every answer of one moment.

use super::{
    chunk::{self, Chunk},
    path_key,
    record::Record,
};
use crate::{
    error::Error,
    keeper::{Moment, Place},
    pages::Request,
};
use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    ops::{Bound, Range},
    path::Path,
};

/// Answers from the tables of an index.
pub(crate) struct Answers<'a> {
    moment: Box<dyn Moment + 'a>,
}

impl<'a> Answers<'a> {
    /// Answers from what was kept at a moment.
    pub(crate) fn new(moment: Box<dyn Moment + 'a>) -> Answers<'a> {
        Answers { moment }
    }

    /// What is known of the file at `path`: one get.
    ///
    /// # Errors
    /// The store refuses, or holds something else under this key.
    pub(crate) fn record(&self, path: &Path) -> Result<Option<Record>, Error> {
        let Some(key) = path_key::key_of(path) else { return Ok(None) };
        let value = self.moment.get(Place::Files, &key)?;
        value.map(|value| record(&key, &value)).transpose()
    }

    /// What `directory` lists, as keys and records in the order of the names: one prefix scan.
    ///
    /// # Errors
    /// The store refuses, or holds something else in this place.
    pub(crate) fn listing(&self, directory: &Path) -> Result<Vec<(Vec<u8>, Record)>, Error> {
        let prefix = path_key::children(directory);
        let mut listing = Vec::new();
        let mut list = |key: &[u8], value: &[u8]| {
            listing.push((key.to_vec(), record(key, value)?));
            Ok(())
        };
        self.moment.scan(Place::Files, Request::prefix(&prefix), &mut list)?;
        Ok(listing)
    }

    /// The chunks that hold the bytes of `range` of the file at `path`: a get and a scan with floor start.
    ///
    /// # Errors
    /// The store refuses, or holds something else in this place.
    pub(crate) fn chunks(&self, path: &Path, range: Range<u64>) -> Result<Vec<Chunk>, Error> {
        let Some(Record { identifier, .. }) = self.record(path)? else { return Ok(Vec::new()) };
        let (from, to) = (chunk::key_of(identifier, range.start), chunk::key_of(identifier, range.end));
        let (lower, upper) = (Bound::Included(from.to_vec()), Bound::Excluded(to.to_vec()));
        let request = Request { lower, upper, floor_start: true, ..Request::default() };
        let mut chunks = Vec::new();
        let mut take = |key: &[u8], value: &[u8]| {
            let (of, chunk) = Chunk::from_pair(key, value).ok_or_else(|| foreign("chunks", key))?;
            // The floor of an offset in an empty file, or past the end, is no chunk of the range.
            if of == identifier && chunk.offset + u64::from(chunk.length) > range.start {
                chunks.push(chunk);
            }
            Ok(())
        };
        self.moment.scan(Place::Chunks, request, &mut take)?;
        Ok(chunks)
    }

    /// The `count` largest regular files below `directory` as sizes and paths, the largest first, equal ones
    /// in the order of their paths: one prefix scan.
    ///
    /// # Errors
    /// The store refuses, or holds something else in this place.
    pub(crate) fn largest(&self, directory: &Path, count: usize) -> Result<Vec<(u64, Vec<u8>)>, Error> {
        let mut largest = Largest::new(count);
        let prefix = path_key::subtree(directory);
        let mut take = |key: &[u8], value: &[u8]| {
            let facts = record(key, value)?.facts;
            if facts.is_file() {
                largest.take(facts.size, || path_key::path_of(key));
            }
            Ok(())
        };
        self.moment.scan(Place::Files, Request::prefix(&prefix), &mut take)?;
        Ok(largest.in_order())
    }
}

/// The largest of many files.
pub(crate) struct Largest {
    count: usize,
    /// The smallest on top: the one that a larger file replaces.
    heap: BinaryHeap<(Reverse<u64>, Vec<u8>)>,
}

impl Largest {
    /// Keeps the `count` largest.
    pub(crate) fn new(count: usize) -> Largest {
        Largest { count, heap: BinaryHeap::new() }
    }

    /// Takes a file of `size` bytes into account.
    pub(crate) fn take(&mut self, size: u64, path: impl FnOnce() -> Vec<u8>) {
        if self.heap.len() == self.count && self.heap.peek().is_some_and(|(Reverse(least), _)| size < *least)
        {
            return;
        }
        self.heap.push((Reverse(size), path()));
        if self.heap.len() > self.count {
            self.heap.pop();
        }
    }

    /// Sizes and paths, the largest first, equal ones in the order of their paths.
    pub(crate) fn in_order(self) -> Vec<(u64, Vec<u8>)> {
        self.heap.into_sorted_vec().into_iter().map(|(Reverse(size), path)| (size, path)).collect()
    }
}

fn record(key: &[u8], value: &[u8]) -> Result<Record, Error> {
    Record::from_bytes(value).ok_or_else(|| foreign("files", key))
}

fn foreign(table: &str, key: &[u8]) -> Error {
    let key = crate::text::Form::Escaped.print(key);
    Error::Arguments(format!("table `{table}` holds a pair that no index made: its key is {key}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first_and_ties_by_path() {
        let mut largest = Largest::new(3);
        for (size, path) in [(1, "a"), (5, "d"), (5, "b"), (9, "c"), (5, "a"), (0, "z")] {
            largest.take(size, || path.into());
        }
        let expected = [(9, b"c".to_vec()), (5, b"a".to_vec()), (5, b"b".to_vec())];
        assert_eq!(largest.in_order(), expected);
        assert_eq!(Largest::new(2).in_order(), []);
    }
}

//! Glimpses of pairs: enough of a value to read the deadline of the pair and to delete it, however long the
//! value is.
//!
//! A deletion must only delete the value that was seen. A short value is read completely and compared. A long
//! value of an ordered table is neither read nor compared: the deletion is conditional on the pair being
//! unchanged since a version at which it had the deadline that was seen. Unordered tables have no versions,
//! so their long values are read and compared.

use std::ops::Bound;

use honeycomb_store::{Batch, BatchOutcome, Error, Store, Table, TableHandle};

use crate::envelope::{Envelope, HEADER_BYTES_MAX};
use crate::failure::Failure;

/// Maximum length of a value that is read completely.
const SEEN_BYTES: usize = 1 << 10;

/// The last glimpse. Its buffer is reused.
#[derive(Debug, Default)]
pub(crate) struct Glimpse {
    /// The value, or the beginning of a long one: more than [`SEEN_BYTES`].
    bytes: Vec<u8>,
    exists: bool,
}

/// The deadline of a pair, or `None` if it has none.
pub(crate) type Deadline = Option<u64>;

impl Glimpse {
    /// Reads the beginning of the pair of a key. Returns `None` if the pair does not exist or no server wrote
    /// it.
    pub(crate) fn read(&mut self, table: &TableHandle, key: &[u8]) -> Result<Option<Deadline>, Error> {
        self.exists = table.get_beginning(key, SEEN_BYTES + 1, &mut self.bytes)?;
        Ok(self.deadline())
    }

    /// Returns whether the pair existed, even if no server wrote it.
    pub(crate) fn pair_exists(&self) -> bool {
        self.exists
    }

    /// Deletes the pair of the glimpse. Returns false if it may have changed.
    pub(crate) fn delete(&mut self, store: &Store, table: &TableHandle, key: &[u8]) -> Result<bool, Failure> {
        if !self.is_long() {
            return Ok(table.compare_and_delete(key, &self.bytes)?);
        }
        match table {
            TableHandle::Ordered(ordered) => self.delete_long(store, ordered, key),
            TableHandle::Unordered(_) => self.delete_whole(table, key),
        }
    }

    /// Deletes a pair with a long value, which it compares.
    fn delete_whole(&mut self, table: &TableHandle, key: &[u8]) -> Result<bool, Failure> {
        let seen = self.deadline();
        let is_there = table.get_beginning(key, usize::MAX, &mut self.bytes)? && self.deadline() == seen;
        let deleted = is_there && table.compare_and_delete(key, &self.bytes)?;
        self.bytes = Vec::new();
        Ok(deleted)
    }

    /// Deletes a pair with a long value that it does not read.
    fn delete_long(&mut self, store: &Store, table: &Table, key: &[u8]) -> Result<bool, Failure> {
        let seen = self.deadline();
        let Ok(snapshot) = store.snapshot() else {
            // All snapshots are in use.
            return self.delete_whole(&TableHandle::Ordered(table.clone()), key);
        };
        self.bytes.clear();
        let length = HEADER_BYTES_MAX;
        let total = snapshot.get_part(table, key, 0, length, &mut self.bytes)?;
        if total.is_none() || self.deadline() != seen {
            return Ok(false);
        }
        let mut batch = Batch::default();
        let this = (Bound::Included(key), Bound::Included(key));
        batch.unchanged::<[u8]>(table, this, snapshot.version()).delete(table, key);
        Ok(matches!(store.apply(&batch)?, BatchOutcome::Applied { .. }))
    }

    /// Returns whether the value is too long to be read completely.
    pub(crate) fn is_long(&self) -> bool {
        self.bytes.len() > SEEN_BYTES
    }

    #[cfg(test)]
    pub(crate) fn room(&self) -> usize {
        self.bytes.capacity()
    }

    fn deadline(&self) -> Option<Deadline> {
        Envelope::open(&self.bytes).map(|envelope| envelope.expires_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    /// Takes a glimpse of a pair, changes the pair, and deletes it. Returns whether the deletion succeeded.
    fn deletes(length: usize, change: impl Fn(&TableHandle)) -> (bool, u64) {
        let config = Config { memory_bytes: 16 << 20, cores: 1, ..Config::default() };
        let store = config.open_store().unwrap();
        let (table, mut glimpse) = (&TableHandle::Ordered(store.table("0").unwrap()), Glimpse::default());
        table.put(b"key", &sealed(length, 7)).unwrap();
        assert_eq!(glimpse.read(table, b"key").unwrap(), Some(Some(7)));
        change(table);
        (glimpse.delete(&store, table, b"key").unwrap(), table.pair_count())
    }

    fn sealed(length: usize, deadline: u64) -> Vec<u8> {
        Envelope { data: &vec![b'v'; length], expires_at: Some(deadline) }.seal()
    }

    #[test]
    fn only_the_pair_of_the_glimpse_is_deleted() {
        for length in [10, SEEN_BYTES - 9, SEEN_BYTES - 8, 1 << 20] {
            assert_eq!(deletes(length, |_| {}), (true, 0), "{length}");
            assert_eq!(deletes(length, |table| table.put(b"key", &sealed(length, 8)).unwrap()), (false, 1));
            assert_eq!(deletes(length, |table| table.put(b"key", b"\0lasts").unwrap()), (false, 1));
            assert_eq!(deletes(length, |table| assert!(table.delete(b"key").unwrap())), (false, 0));
        }
    }

    #[test]
    fn a_foreign_pair_exists_and_has_no_deadline() {
        let store = Config { memory_bytes: 16 << 20, ..Config::default() }.open_store().unwrap();
        let (table, mut glimpse) = (TableHandle::Ordered(store.table("0").unwrap()), Glimpse::default());
        assert_eq!((glimpse.read(&table, b"key").unwrap(), glimpse.pair_exists()), (None, false));
        table.put(b"key", b"\x02foreign").unwrap();
        assert_eq!((glimpse.read(&table, b"key").unwrap(), glimpse.pair_exists()), (None, true));
    }
}

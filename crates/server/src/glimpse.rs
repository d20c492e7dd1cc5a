//! Glimpses of pairs: enough of a value to know when the pair expires and to delete it, however long it is.
//!
//! What is deleted must be what was seen. A short value is seen as a whole, and compared. A long one is
//! neither read nor compared: its pair is deleted on the condition that nobody has written it since a
//! version at which it had the deadline that was seen.

use std::ops::Bound;

use honeycomb_store::{Batch, BatchOutcome, Error, Store, Table};

use crate::envelope::Envelope;
use crate::failure::Failure;

/// Bytes of the longest value that is seen as a whole.
const SEEN_BYTES: usize = 1 << 10;

/// What was seen of a pair; kept from one to the next so that its memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Glimpse {
    bytes: Vec<u8>,
    /// Bytes of the value, if there is one.
    total: Option<usize>,
}

/// When a pair expires; none if it lasts.
pub(crate) type Deadline = Option<u64>;

impl Glimpse {
    /// Looks at the pair of a key. None if there is none, or if no server wrote it.
    pub(crate) fn look(&mut self, table: &Table, key: &[u8]) -> Result<Option<Deadline>, Error> {
        self.bytes.clear();
        self.total = table.get_part(key, 0, SEEN_BYTES, &mut self.bytes)?;
        Ok(self.deadline())
    }

    /// Whether there was a pair, whoever wrote it.
    pub(crate) fn is_of_pair(&self) -> bool {
        self.total.is_some()
    }

    /// Deletes the pair that was seen. False if it may be another by now.
    pub(crate) fn delete(&mut self, store: &Store, table: &Table, key: &[u8]) -> Result<bool, Failure> {
        if !self.is_long() {
            return Ok(table.compare_and_delete(key, &self.bytes)?);
        }
        let seen = self.deadline();
        let Ok(snapshot) = store.snapshot() else {
            // Others hold all snapshots.
            let is_there = table.get_into(key, &mut self.bytes)? && self.deadline() == seen;
            return Ok(is_there && table.compare_and_delete(key, &self.bytes)?);
        };
        self.bytes.clear();
        let length = Envelope::HEADER_BYTES_MAX;
        let total = snapshot.get_part(table, key, 0, length, &mut self.bytes)?;
        if total.is_none() || self.deadline() != seen {
            return Ok(false);
        }
        let mut batch = Batch::default();
        let this = (Bound::Included(key), Bound::Included(key));
        batch.unchanged::<[u8]>(table, this, snapshot.version()).delete(table, key);
        Ok(matches!(store.apply(&batch)?, BatchOutcome::Applied { .. }))
    }

    /// Whether the value is too long to be seen as a whole.
    pub(crate) fn is_long(&self) -> bool {
        self.total.is_some_and(|total| total > SEEN_BYTES)
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

    /// Looks at a pair, changes it, and deletes it: whether that was possible.
    fn deletes(length: usize, change: impl Fn(&Table)) -> (bool, u64) {
        let config = Config { memory_bytes: 16 << 20, cores: 1, ..Config::default() };
        let store = config.open_store().unwrap();
        let (table, mut glimpse) = (&store.table("0").unwrap(), Glimpse::default());
        table.put(b"key", &sealed(length, 7)).unwrap();
        assert_eq!(glimpse.look(table, b"key").unwrap(), Some(Some(7)));
        change(table);
        (glimpse.delete(&store, table, b"key").unwrap(), table.pair_count())
    }

    fn sealed(length: usize, deadline: u64) -> Vec<u8> {
        Envelope { data: &vec![b'v'; length], expires_at: Some(deadline) }.seal()
    }

    #[test]
    fn what_was_seen_is_deleted_and_nothing_else() {
        for length in [10, SEEN_BYTES - 9, SEEN_BYTES - 8, 1 << 20] {
            assert_eq!(deletes(length, |_| {}), (true, 0), "{length}");
            assert_eq!(deletes(length, |table| table.put(b"key", &sealed(length, 8)).unwrap()), (false, 1));
            assert_eq!(deletes(length, |table| table.put(b"key", b"\0lasts").unwrap()), (false, 1));
            assert_eq!(deletes(length, |table| assert!(table.delete(b"key").unwrap())), (false, 0));
        }
    }

    #[test]
    fn a_pair_of_no_server_is_there_and_has_no_deadline() {
        let store = Config { memory_bytes: 16 << 20, ..Config::default() }.open_store().unwrap();
        let (table, mut glimpse) = (store.table("0").unwrap(), Glimpse::default());
        assert_eq!((glimpse.look(&table, b"key").unwrap(), glimpse.is_of_pair()), (None, false));
        table.put(b"key", b"\x02foreign").unwrap();
        assert_eq!((glimpse.look(&table, b"key").unwrap(), glimpse.is_of_pair()), (None, true));
    }
}

//! The store of an index: embedded in this process, or a server.

mod embedded;
mod server;

use std::net::SocketAddr;
use std::ops::Bound;

use honeycomb_store::prefix_end;

use crate::Error;
pub use embedded::EmbeddedStore;
pub use server::ServerStore;
pub(crate) use server::{bounds, database};

/// A table of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexTable {
    /// Maps paths to attributes.
    Files,
    /// Maps (file, offset) to chunks.
    Chunks,
    /// The last identifier of a file.
    Counters,
}

/// A pair to put into a table.
#[derive(Debug)]
pub struct NewPair {
    pub(crate) table: IndexTable,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

/// A range of keys to scan.
#[derive(Clone, Debug)]
pub struct KeyRange {
    pub(crate) lower: Bound<Vec<u8>>,
    pub(crate) upper: Bound<Vec<u8>>,
    /// Starts at the largest key that is not greater than `lower`, if there is one.
    pub(crate) floor_start: bool,
}

/// A store that keeps an index. Threads share it.
pub trait IndexStore: Sync {
    /// Adds `amount` to a number that starts at 0, and returns the sum.
    ///
    /// # Errors
    /// The store is full or unreachable.
    fn add(&self, table: IndexTable, key: &[u8], amount: i64) -> Result<i64, Error>;

    /// Puts pairs. Pairs of a table become visible only after all preceding pairs of other tables.
    ///
    /// # Errors
    /// As [`IndexStore::add`].
    fn put(&self, pairs: &[NewPair]) -> Result<(), Error>;

    /// Deletes a pair if it exists.
    ///
    /// # Errors
    /// As [`IndexStore::add`].
    fn delete(&self, table: IndexTable, key: &[u8]) -> Result<(), Error>;

    /// Deletes all pairs from key `from`, inclusive, to key `to`, exclusive.
    ///
    /// # Errors
    /// As [`IndexStore::add`].
    fn delete_range(&self, table: IndexTable, from: &[u8], to: &[u8]) -> Result<(), Error>;

    /// Takes a snapshot of all tables.
    ///
    /// # Errors
    /// As [`IndexStore::add`].
    fn snapshot(&self) -> Result<Box<dyn IndexSnapshot + '_>, Error>;

    /// Returns the address of the store if it is a server.
    fn server(&self) -> Option<SocketAddr>;
}

/// Receives the pairs of a scan.
pub type PairVisitor<'v> = &'v mut dyn FnMut(&[u8], &[u8]) -> Result<(), Error>;

/// The tables of an index at one version. Threads share it.
pub trait IndexSnapshot: Sync {
    /// Returns the value of a key.
    ///
    /// # Errors
    /// The snapshot has expired, or the store is unreachable.
    fn get(&self, table: IndexTable, key: &[u8]) -> Result<Option<Vec<u8>>, Error>;

    /// Calls `visit` with each pair of a range, in key order.
    ///
    /// # Errors
    /// As [`IndexSnapshot::get`], or an error of `visit`.
    fn scan(&self, table: IndexTable, range: KeyRange, visit: PairVisitor<'_>) -> Result<(), Error>;
}

impl KeyRange {
    /// Returns the range of all keys with a prefix.
    pub(crate) fn prefix(prefix: &[u8]) -> KeyRange {
        let upper = prefix_end(prefix).map_or(Bound::Unbounded, Bound::Excluded);
        KeyRange { lower: Bound::Included(prefix.to_vec()), upper, floor_start: false }
    }

    /// Returns the rest of the range after `key`.
    pub(crate) fn after(self, key: &[u8]) -> KeyRange {
        KeyRange { lower: Bound::Excluded(key.to_vec()), floor_start: false, ..self }
    }
}

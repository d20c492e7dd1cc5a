//! A store in this process.

use std::net::SocketAddr;

use honeycomb_store::{Pairs, Scan, Snapshot, Store, Table};

use super::{IndexSnapshot, IndexStore, IndexTable, KeyRange, NewPair, PairVisitor};
use crate::Error;

/// The tables of an index in a store of this process.
#[derive(Debug)]
pub struct EmbeddedStore {
    store: Store,
    files: Table,
    chunks: Table,
    counters: Table,
}

impl EmbeddedStore {
    /// Opens the tables `files`, `chunks` and `counters` of `store`. Creates missing ones.
    ///
    /// # Errors
    /// The store is full.
    pub fn new(store: &Store) -> Result<EmbeddedStore, Error> {
        Ok(EmbeddedStore {
            store: store.clone(),
            files: store.table("files")?,
            chunks: store.table("chunks")?,
            counters: store.table("counters")?,
        })
    }

    fn table(&self, table: IndexTable) -> &Table {
        match table {
            IndexTable::Files => &self.files,
            IndexTable::Chunks => &self.chunks,
            IndexTable::Counters => &self.counters,
        }
    }
}

impl IndexStore for EmbeddedStore {
    fn add(&self, table: IndexTable, key: &[u8], amount: i64) -> Result<i64, Error> {
        Ok(self.table(table).add(key, amount)? as i64)
    }

    fn put(&self, pairs: &[NewPair]) -> Result<(), Error> {
        Ok(pairs.iter().try_for_each(|pair| self.table(pair.table).put(&pair.key, &pair.value))?)
    }

    fn delete(&self, table: IndexTable, key: &[u8]) -> Result<(), Error> {
        self.table(table).delete(key)?;
        Ok(())
    }

    fn delete_range(&self, table: IndexTable, from: &[u8], to: &[u8]) -> Result<(), Error> {
        self.table(table).delete_range(from..to)?;
        Ok(())
    }

    fn snapshot(&self) -> Result<Box<dyn IndexSnapshot + '_>, Error> {
        Ok(Box::new(EmbeddedSnapshot { tables: self, snapshot: self.store.snapshot()? }))
    }

    fn server(&self) -> Option<SocketAddr> {
        None
    }
}

/// A snapshot of the store, with its tables.
struct EmbeddedSnapshot<'t> {
    tables: &'t EmbeddedStore,
    snapshot: Snapshot,
}

impl IndexSnapshot for EmbeddedSnapshot<'_> {
    fn get(&self, table: IndexTable, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.snapshot.get(self.tables.table(table), key)?)
    }

    fn scan(&self, table: IndexTable, mut range: KeyRange, visit: PairVisitor<'_>) -> Result<(), Error> {
        let mut pairs = Pairs::default();
        loop {
            self.snapshot.scan_into(self.tables.table(table), &scan(&range), &mut pairs)?;
            for (key, value) in pairs.iter() {
                visit(key, value)?;
            }
            let Some((last, _)) = pairs.last().filter(|_| pairs.more()) else { return Ok(()) };
            range = range.after(last);
        }
    }
}

fn scan(range: &KeyRange) -> Scan<'_> {
    let bounds = (range.lower.as_ref().map(Vec::as_slice), range.upper.as_ref().map(Vec::as_slice));
    let scan = Scan::range(bounds);
    if range.floor_start { scan.floor_start() } else { scan }
}

//! Pairs kept by a store of this process.

use super::{Keeper, Moment, New, Place, Take};
use crate::{
    error::Error,
    pages::{self, Request},
};
use honeycomb_store::{Snapshot, Store, Table};

/// A store, and its tables for an index.
pub(crate) struct Local {
    store: Store,
    files: Table,
    chunks: Table,
    counters: Table,
}

impl Local {
    /// Opens the tables of `store`, or makes them.
    ///
    /// # Errors
    /// The store is full.
    pub(crate) fn new(store: &Store) -> Result<Local, Error> {
        Ok(Local {
            store: store.clone(),
            files: store.table("files")?,
            chunks: store.table("chunks")?,
            counters: store.table("counters")?,
        })
    }

    fn table(&self, place: Place) -> &Table {
        match place {
            Place::Files => &self.files,
            Place::Chunks => &self.chunks,
            Place::Counters => &self.counters,
        }
    }
}

impl Keeper for Local {
    fn add(&self, place: Place, key: &[u8], amount: i64) -> Result<i64, Error> {
        Ok(self.table(place).add(key, amount)? as i64)
    }

    fn put(&self, pairs: &[New]) -> Result<(), Error> {
        Ok(pairs.iter().try_for_each(|new| self.table(new.place).put(&new.key, &new.value))?)
    }

    fn delete(&self, place: Place, key: &[u8]) -> Result<(), Error> {
        self.table(place).delete(key)?;
        Ok(())
    }

    fn delete_range(&self, place: Place, from: &[u8], to: &[u8]) -> Result<(), Error> {
        self.table(place).delete_range(from..to)?;
        Ok(())
    }

    fn moment(&self) -> Result<Box<dyn Moment + '_>, Error> {
        Ok(Box::new(Then { local: self, snapshot: self.store.snapshot()? }))
    }
}

/// A snapshot.
struct Then<'l> {
    local: &'l Local,
    snapshot: Snapshot,
}

impl Moment for Then<'_> {
    fn get(&self, place: Place, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.snapshot.get(self.local.table(place), key)?)
    }

    fn scan(&self, place: Place, request: Request, take: Take<'_>) -> Result<(), Error> {
        pages::for_each(&self.snapshot, self.local.table(place), request, take)
    }
}

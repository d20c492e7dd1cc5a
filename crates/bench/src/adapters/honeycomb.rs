//! Honeycomb itself.

use std::marker::PhantomData;

use honeycomb_store::{Config, Pairs, Scan, Store, Table};

use super::Peer;
use crate::map::{Failure, Items, OrderedMap};

/// One table of a store.
pub struct Honeycomb<S> {
    store: Store,
    table: Table,
    settings: PhantomData<S>,
}

/// How the store is made, besides its size.
pub trait Settings: Sync {
    /// The settings.
    fn config() -> Config;
}

/// As it is out of the box: a scan is of one moment.
pub struct Versioned;

impl Settings for Versioned {
    fn config() -> Config {
        Config::default()
    }
}

/// Without versions: what they cost, and what scans would be worth without them.
pub struct Unversioned;

impl Settings for Unversioned {
    fn config() -> Config {
        Config { mvcc: false, ..Config::default() }
    }
}

impl<S: Settings> OrderedMap for Honeycomb<S> {
    type Items = Pairs;

    fn new(pairs: u64) -> Result<Self, Failure> {
        let memory_bytes = usize::try_from(pairs * Peer::Honeycomb.bytes_per_pair())? + ROOM_BYTES;
        let store = Store::open(Config { memory_bytes, ..S::config() })?;
        let table = store.table("bench")?;
        Ok(Honeycomb { store, table, settings: PhantomData })
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        match self.table.insert(key, value)? {
            true => Ok(()),
            false => Err("the key is there already".into()),
        }
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        Ok(self.table.update(key, value)?)
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        Ok(self.table.get_into(key, value)?)
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut Pairs) -> Result<usize, Failure> {
        self.table.scan_into(&Scan::from(from).limit(limit), items)?;
        Ok(items.len())
    }

    fn accounted_bytes(&self) -> Option<u64> {
        let memory = self.store.statistics().memory;
        let bytes = memory.arena_bytes - memory.free_bytes + memory.page_table_bytes + memory.overhead_bytes;
        Some(bytes as u64)
    }
}

/// Arena beyond what the pairs are expected to take; it costs address space and no memory until it is used.
const ROOM_BYTES: usize = 1 << 30;

impl Items for Pairs {
    fn pairs(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
    }
}

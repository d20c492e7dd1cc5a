//! Honeycomb itself.

use honeycomb_store::{Config, Pairs, Scan, Store, Table};

use super::Contents;
use crate::map::{Failure, Items, OrderedMap};

/// One table of a store.
pub(super) struct Honeycomb {
    store: Store,
    table: Table,
}

/// Arena beyond what the pairs are expected to take; it costs address space and no memory until it is used.
const ROOM_BYTES: u64 = 1 << 30;

impl Honeycomb {
    /// An empty one that is like `config` and as large as `contents` need.
    pub(super) fn new(config: Config, contents: Contents) -> Result<Self, Failure> {
        let memory_bytes = usize::try_from(contents.pairs * bytes_per_pair(contents) + ROOM_BYTES)?;
        let store = Store::open(Config { memory_bytes, ..config })?;
        let table = store.table("bench")?;
        Ok(Honeycomb { store, table })
    }

    fn scan_for(&self, scan: &Scan<'_>, items: &mut Pairs) -> Result<usize, Failure> {
        self.table.scan_into(scan, items)?;
        Ok(items.len())
    }
}

/// About how many bytes a pair takes, rounded up.
pub(super) fn bytes_per_pair(contents: Contents) -> u64 {
    contents.sizes.pair_bytes() * 3 / 2 + 32
}

impl OrderedMap for Honeycomb {
    type Items = Pairs;

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
        self.scan_for(&Scan::from(from).limit(limit), items)
    }

    fn scan_from_floor(&self, from: &[u8], limit: usize, items: &mut Pairs) -> Result<usize, Failure> {
        self.scan_for(&Scan::from(from).floor_start().limit(limit), items)
    }

    fn accounted_bytes(&self) -> Option<u64> {
        let memory = self.store.statistics().memory;
        let bytes = memory.arena_bytes - memory.free_bytes + memory.page_table_bytes + memory.overhead_bytes;
        Some(bytes as u64)
    }
}

impl Items for Pairs {
    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        Pairs::iter(self)
    }
}

//! Honeycomb.

use honeycomb_store::{AccessCounts, Batch, Config, Pairs, Reads, Scan, Store, Table};

use super::Contents;
use crate::map::{Buffers, Failure, Items, OrderedMap, Scans, Strings, Writes};

/// One table of a store.
pub struct Honeycomb {
    store: Store,
    table: Table,
}

/// Spare arena. Unused arena occupies only address space.
const SPARE_BYTES: u64 = 1 << 30;

impl Honeycomb {
    /// Returns an empty store with this configuration, large enough for `contents`.
    pub fn new(config: Config, contents: Contents) -> Result<Self, Failure> {
        let memory_bytes = usize::try_from(contents.pairs * bytes_per_pair(contents) + SPARE_BYTES)?;
        let store = Store::open(Config { memory_bytes, ..config })?;
        let table = store.table("bench")?;
        Ok(Honeycomb { store, table })
    }

    /// Returns the access statistics, if the store collects them.
    pub fn access_counts(&self) -> Option<AccessCounts> {
        self.store.access_counts()
    }

    fn scan_for(&self, scan: &Scan<'_>, items: &mut HoneycombBuffers) -> Result<usize, Failure> {
        self.table.scan_into(scan, &mut items.pairs)?;
        Ok(items.pairs.len())
    }
}

/// Returns an upper estimate of the bytes for a pair.
pub(super) fn bytes_per_pair(contents: Contents) -> u64 {
    contents.sizes.pair_bytes() * 3 / 2 + 32
}

impl OrderedMap for Honeycomb {
    type Items = HoneycombBuffers;

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        match self.table.insert(key, value)? {
            true => Ok(()),
            false => Err("the key exists".into()),
        }
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        Ok(self.table.update(key, value)?)
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        Ok(self.table.get_into(key, value)?)
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut HoneycombBuffers) -> Result<usize, Failure> {
        self.scan_for(&Scan::from(from).limit(limit), items)
    }

    fn scan_from_floor(
        &self,
        from: &[u8],
        limit: usize,
        items: &mut HoneycombBuffers,
    ) -> Result<usize, Failure> {
        self.scan_for(&Scan::from(from).floor_start().limit(limit), items)
    }

    fn get_many(
        &self,
        keys: &Strings,
        buffers: &mut Buffers<HoneycombBuffers>,
        mut found: impl FnMut(usize, &[u8]),
    ) -> Result<(), Failure> {
        let reads = &mut buffers.items.reads;
        reads.clear();
        keys.iter().try_for_each(|key| reads.get(&self.table, key))?;
        self.store.read(reads)?;
        for number in 0..reads.len() {
            if let Some(value) = reads.value(number)? {
                found(number, value);
            }
        }
        Ok(())
    }

    fn scan_many(
        &self,
        scans: &Scans,
        buffers: &mut Buffers<HoneycombBuffers>,
        mut found: impl FnMut(usize, &mut dyn Iterator<Item = (&[u8], &[u8])>),
    ) -> Result<(), Failure> {
        let reads = &mut buffers.items.reads;
        reads.clear();
        for (from, &limit) in scans.from.iter().zip(&scans.limits) {
            let scan = Scan::from(from).limit(limit);
            reads.scan(&self.table, &if scans.from_floor { scan.floor_start() } else { scan })?;
        }
        self.store.read(reads)?;
        for number in 0..reads.len() {
            found(number, &mut reads.pairs(number)?);
        }
        Ok(())
    }

    fn write_many(&self, writes: &Writes, buffers: &mut Buffers<HoneycombBuffers>) -> Result<usize, Failure> {
        let batch = &mut buffers.items.batch;
        batch.clear();
        for ((key, value), is_insert) in writes.keys.iter().zip(writes.values.iter()).zip(&writes.inserts) {
            if *is_insert {
                batch.insert(&self.table, key, value);
            } else {
                batch.update(&self.table, key, value);
            }
        }
        let (mut done, mut failure) = (0, None);
        self.store.apply_each(batch, |_, outcome| match outcome {
            Ok(outcome) => done += usize::from(outcome.wrote()),
            Err(error) => failure = Some(error),
        })?;
        failure.map_or(Ok(done), |error| Err(error.into()))
    }

    fn accounted_bytes(&self) -> Option<u64> {
        let memory = self.store.statistics().memory;
        let bytes = memory.arena_bytes - memory.free_bytes + memory.page_table_bytes + memory.overhead_bytes;
        Some(bytes as u64)
    }
}

/// Buffers that a thread reuses.
#[derive(Default)]
pub struct HoneycombBuffers {
    pairs: Pairs,
    reads: Reads,
    batch: Batch,
}

impl Items for HoneycombBuffers {
    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.pairs.iter()
    }
}

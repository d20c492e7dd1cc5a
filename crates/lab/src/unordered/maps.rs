//! Concurrent hash maps behind one interface: the unordered index and its peers.
//!
//! Keys and values have the same fixed size. The peers use a fast hash without a seed, and receive a batch
//! one operation at a time. The unordered index hashes with a seed. All copy the value that a get finds.

use std::cell::RefCell;
use std::hint::black_box;
use std::sync::Arc;

use honeycomb_hashtable::{Answers, Functions, Operation, Request, Table, TableConfig};
use honeycomb_memory::{Memory, MemoryConfig};
use rustc_hash::FxBuildHasher;

use crate::map::Failure;

/// A key or a value.
pub(super) type Bytes<const N: usize> = [u8; N];

/// A map under measurement.
pub(super) trait UnorderedMap<const N: usize>: Sync {
    /// Gets the values of keys. Returns the number of keys that exist.
    fn get(&self, keys: &[Bytes<N>]) -> usize;
    /// Sets the value of each key to the key.
    fn put(&self, keys: &[Bytes<N>]) -> Result<(), Failure>;
}

/// The unordered index, which executes the operations of a slice together or one at a time.
pub(super) struct Honeycomb {
    table: Table<Arc<Memory>>,
    together: bool,
}

thread_local!(pub(super) static ANSWERS: RefCell<Answers> = RefCell::default());

impl Honeycomb {
    /// Creates a table with room for `pairs` pairs of keys and values of `bytes` bytes.
    pub(super) fn new(pairs: u64, bytes: usize, together: bool) -> Result<Self, Failure> {
        let arena_bytes = (pairs as usize * (160 + 2 * bytes)).max(64 << 20);
        let memory = Arc::new(Memory::new(MemoryConfig { arena_bytes, ..MemoryConfig::default() })?);
        let config = TableConfig { seed: 0x5eed, ..TableConfig::default() };
        Ok(Self { table: Table::new(memory, config, Functions::default())?, together })
    }

    /// The table.
    pub(super) fn table(&self) -> &Table<Arc<Memory>> {
        &self.table
    }
}

impl<const N: usize> UnorderedMap<N> for Honeycomb {
    fn get(&self, keys: &[Bytes<N>]) -> usize {
        let (copy, mut found) = (|value: &[u8]| black_box(Bytes::<N>::try_from(value).ok()).is_some(), 0);
        if self.together {
            let visit = |_, value: Option<&[u8]>| found += usize::from(value.is_some_and(copy));
            return self.table.get_many(keys, visit).map_or(0, |()| found);
        }
        let mut session = self.table.session();
        keys.iter().filter(|key| session.get_with(*key, copy).is_ok_and(|found| found == Some(true))).count()
    }

    fn put(&self, keys: &[Bytes<N>]) -> Result<(), Failure> {
        if !self.together {
            let (mut out, mut session) = (Vec::new(), self.table.session());
            for key in keys {
                session.apply(key, Operation::Put(key), &mut out)?;
            }
            return Ok(());
        }
        let requests: Vec<_> =
            keys.iter().map(|key| Request { key, operation: Operation::Put(key) }).collect();
        ANSWERS.with_borrow_mut(|answers| {
            self.table.execute(&requests, answers);
            answers.outcomes().map_err(ToString::to_string)?;
            Ok(())
        })
    }
}

/// `papaya::HashMap`.
pub(super) type Papaya<const N: usize> = papaya::HashMap<Bytes<N>, Bytes<N>, FxBuildHasher>;
/// `scc::HashMap`.
pub(super) type Scc<const N: usize> = scc::HashMap<Bytes<N>, Bytes<N>, FxBuildHasher>;
/// `dashmap::DashMap`.
pub(super) type Dash<const N: usize> = dashmap::DashMap<Bytes<N>, Bytes<N>, FxBuildHasher>;

impl<const N: usize> UnorderedMap<N> for Papaya<N> {
    fn get(&self, keys: &[Bytes<N>]) -> usize {
        let map = self.pin();
        keys.iter().filter(|key| black_box(map.get(*key).copied()).is_some()).count()
    }

    fn put(&self, keys: &[Bytes<N>]) -> Result<(), Failure> {
        let map = self.pin();
        keys.iter().for_each(|key| _ = map.insert(*key, *key));
        Ok(())
    }
}

impl<const N: usize> UnorderedMap<N> for Scc<N> {
    fn get(&self, keys: &[Bytes<N>]) -> usize {
        keys.iter().filter(|key| black_box(self.read_sync(*key, |_, value| *value)).is_some()).count()
    }

    fn put(&self, keys: &[Bytes<N>]) -> Result<(), Failure> {
        keys.iter().for_each(|key| _ = self.upsert_sync(*key, *key));
        Ok(())
    }
}

impl<const N: usize> UnorderedMap<N> for Dash<N> {
    fn get(&self, keys: &[Bytes<N>]) -> usize {
        keys.iter().filter(|key| black_box(self.get(*key).map(|value| *value)).is_some()).count()
    }

    fn put(&self, keys: &[Bytes<N>]) -> Result<(), Failure> {
        keys.iter().for_each(|key| _ = self.insert(*key, *key));
        Ok(())
    }
}

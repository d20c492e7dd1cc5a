//! `crossbeam_skiplist::SkipMap`.

use std::ops::Bound;

use crossbeam_skiplist::SkipMap;

use super::stored::Stored;
use crate::map::{Copied, Failure, OrderedMap};

/// A lock-free skip list with one node for each pair. Values are immutable: an insert of an existing key
/// removes the old node and then adds a new one. Scans are not atomic.
pub(super) struct SkipList<K, V>(SkipMap<K, V>);

impl<K: Stored, V: Stored> SkipList<K, V> {
    /// Returns an empty list.
    pub(super) fn new() -> Self {
        SkipList(SkipMap::new())
    }
}

impl<K: Stored, V: Stored> OrderedMap for SkipList<K, V> {
    type Items = Copied;

    const MISSES_UPDATED: bool = true;

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.0.insert(K::from_bytes(key)?, V::from_bytes(value)?);
        Ok(())
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        self.insert(key, value)?;
        Ok(true)
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        value.clear();
        let found = self.0.get(K::lookup(key)?);
        Ok(found.map(|entry| value.extend_from_slice(entry.value().as_ref())).is_some())
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut Copied) -> Result<usize, Failure> {
        items.clear();
        let range = (Bound::Included(K::lookup(from)?), Bound::Unbounded);
        let entries = self.0.range::<K::Lookup, _>(range).take(limit);
        entries.for_each(|entry| items.push(entry.key().as_ref(), entry.value().as_ref()));
        Ok(items.len())
    }
}

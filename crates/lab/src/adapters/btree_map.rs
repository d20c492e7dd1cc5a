//! The standard library's `BTreeMap` behind one lock.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::stored::Stored;
use crate::map::{Copied, Failure, OrderedMap};

/// A `BTreeMap` behind a `RwLock`, the simplest concurrent ordered map. Readers share the lock; a writer
/// excludes all other threads.
pub(super) struct LockedBTreeMap<K, V>(RwLock<BTreeMap<K, V>>);

impl<K: Stored, V: Stored> LockedBTreeMap<K, V> {
    /// Returns an empty map.
    pub(super) fn new() -> Self {
        LockedBTreeMap(RwLock::default())
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<K, V>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<K, V>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Stored, V: Stored> OrderedMap for LockedBTreeMap<K, V> {
    type Items = Copied;

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let (key, value) = (K::from_bytes(key)?, V::from_bytes(value)?);
        self.write().insert(key, value);
        Ok(())
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        let (key, value) = (K::lookup(key)?, V::from_bytes(value)?);
        Ok(self.write().get_mut(key).map(|old| *old = value).is_some())
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        value.clear();
        Ok(self.read().get(K::lookup(key)?).map(|found| value.extend_from_slice(found.as_ref())).is_some())
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut Copied) -> Result<usize, Failure> {
        items.clear();
        let range = (Bound::Included(K::lookup(from)?), Bound::Unbounded);
        let map = self.read();
        let pairs = map.range::<K::Lookup, _>(range).take(limit);
        pairs.for_each(|(key, value)| items.push(key.as_ref(), value.as_ref()));
        Ok(items.len())
    }
}

//! The standard library's `BTreeMap` behind one lock.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::fixed;
use crate::keys::{Key, Value};
use crate::map::{Copied, Failure, OrderedMap};

/// `BTreeMap` with keys and values inline in its nodes, behind a `RwLock`: what one writes who needs an
/// ordered map now. Readers share the lock; a writer stops all others.
#[derive(Debug, Default)]
pub struct LockedBTreeMap(RwLock<BTreeMap<Key, Value>>);

impl LockedBTreeMap {
    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<Key, Value>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<Key, Value>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OrderedMap for LockedBTreeMap {
    type Items = Copied;

    fn new(_pairs: u64) -> Result<Self, Failure> {
        Ok(Self::default())
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let (key, value) = (fixed(key)?, fixed(value)?);
        self.write().insert(key, value);
        Ok(())
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        let value = fixed(value)?;
        Ok(self.write().get_mut(key).map(|old| *old = value).is_some())
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        value.clear();
        Ok(self.read().get(key).map(|found| value.extend_from_slice(found)).is_some())
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut Copied) -> Result<usize, Failure> {
        items.clear();
        let from: Key = fixed(from)?;
        self.read().range(from..).take(limit).for_each(|(key, value)| items.push(key, value));
        Ok(items.len())
    }
}

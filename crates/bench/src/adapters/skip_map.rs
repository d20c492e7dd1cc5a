//! `crossbeam_skiplist::SkipMap`.

use crossbeam_skiplist::SkipMap;

use super::fixed;
use crate::keys::{Key, Value};
use crate::map::{Copied, Failure, OrderedMap};

/// A lock-free skip list, a node a pair. Values in it cannot be changed: an insert of a key that is there
/// puts a new node in place of the old one. Its scans are not of one moment.
#[derive(Default)]
pub struct SkipList(SkipMap<Key, Value>);

impl OrderedMap for SkipList {
    type Items = Copied;

    fn new(_pairs: u64) -> Result<Self, Failure> {
        Ok(Self::default())
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.0.insert(fixed(key)?, fixed(value)?);
        Ok(())
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        self.insert(key, value)?;
        Ok(true)
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        value.clear();
        Ok(self.0.get(key).map(|entry| value.extend_from_slice(entry.value())).is_some())
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut Copied) -> Result<usize, Failure> {
        items.clear();
        let from: Key = fixed(from)?;
        self.0.range(from..).take(limit).for_each(|entry| items.push(entry.key(), entry.value()));
        Ok(items.len())
    }
}

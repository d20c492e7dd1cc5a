//! `scc::TreeIndex`.

use std::ops::Bound;

use scc::{Guard, TreeIndex};

use super::stored::Stored;
use crate::map::{Copied, Failure, OrderedMap};

/// A B+tree for many readers. Values are immutable: an upsert adds a new pair, which hides the old one. Scans
/// are not atomic.
pub(super) struct SccTreeIndex<K, V>(TreeIndex<K, V>);

impl<K: Stored, V: Stored> SccTreeIndex<K, V> {
    /// Returns an empty tree.
    pub(super) fn new() -> Self {
        SccTreeIndex(TreeIndex::new())
    }
}

impl<K: Stored, V: Stored> OrderedMap for SccTreeIndex<K, V> {
    type Items = Copied;

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let inserted = self.0.insert_sync(K::from_bytes(key)?, V::from_bytes(value)?);
        inserted.map_err(|_| "the key exists".into())
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        self.0.upsert_sync(K::from_bytes(key)?, V::from_bytes(value)?);
        Ok(true)
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        value.clear();
        let copy = |_: &K, found: &V| value.extend_from_slice(found.as_ref());
        Ok(self.0.peek_with(K::lookup(key)?, copy).is_some())
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut Copied) -> Result<usize, Failure> {
        items.clear();
        let (range, guard) = ((Bound::Included(K::lookup(from)?), Bound::Unbounded), Guard::new());
        let pairs = self.0.range::<K::Lookup, _>(range, &guard).take(limit);
        pairs.for_each(|(key, value)| items.push(key.as_ref(), value.as_ref()));
        Ok(items.len())
    }
}

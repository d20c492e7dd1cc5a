//! The crate `masstree`.

use masstree::{MassTree15, RangeBound};

use super::stored::Stored;
use crate::map::{Copied, Failure, OrderedMap};

/// A trie of B+trees for keys of up to 256 bytes. Only values of up to 8 bytes are inline; the values of the
/// benchmark are boxed, and an update replaces the box. Scans are not atomic.
pub(super) struct Masstree<V: Stored>(MassTree15<V>);

impl<V: Stored> Masstree<V> {
    /// Returns an empty tree.
    pub(super) fn new() -> Self {
        Masstree(MassTree15::new())
    }
}

impl<V: Stored> OrderedMap for Masstree<V> {
    type Items = Copied;

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.0.insert_with_guard(key, V::from_bytes(value)?, &self.0.guard());
        Ok(())
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        Ok(self.0.insert_with_guard(key, V::from_bytes(value)?, &self.0.guard()).is_some())
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        value.clear();
        let guard = self.0.guard();
        Ok(self.0.get_ref(key, &guard).map(|found| value.extend_from_slice((*found).as_ref())).is_some())
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut Copied) -> Result<usize, Failure> {
        items.clear();
        let copy = |key: &[u8], value: &V| {
            items.push(key, value.as_ref());
            items.len() < limit
        };
        let guard = self.0.guard();
        self.0.scan_intra_leaf_batch_ref(RangeBound::Included(from), RangeBound::Unbounded, copy, &guard);
        Ok(items.len())
    }
}

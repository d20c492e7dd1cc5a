//! The crate `masstree`.

use masstree::{MassTree15, RangeBound};

use super::fixed;
use crate::keys::Value;
use crate::map::{Copied, Failure, OrderedMap};

/// A trie of B+trees over byte strings. Only values of up to 8 bytes lie inline; ours lie in boxes of their
/// own, which an update replaces. Its scans are not of one moment.
pub struct Masstree(MassTree15<Value>);

impl OrderedMap for Masstree {
    type Items = Copied;

    fn new(_pairs: u64) -> Result<Self, Failure> {
        Ok(Masstree(MassTree15::new()))
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.0.insert_with_guard(key, fixed(value)?, &self.0.guard());
        Ok(())
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        Ok(self.0.insert_with_guard(key, fixed(value)?, &self.0.guard()).is_some())
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        value.clear();
        Ok(self.0.get_ref(key, &self.0.guard()).map(|found| value.extend_from_slice(&*found)).is_some())
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut Copied) -> Result<usize, Failure> {
        items.clear();
        let copy = |key: &[u8], value: &Value| {
            items.push(key, value);
            items.len() < limit
        };
        let guard = self.0.guard();
        self.0.scan_intra_leaf_batch_ref(RangeBound::Included(from), RangeBound::Unbounded, copy, &guard);
        Ok(items.len())
    }
}

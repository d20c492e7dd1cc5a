//! `scc::TreeIndex`.

use scc::{Guard, TreeIndex};

use super::fixed;
use crate::keys::{Key, Value};
use crate::map::{Copied, Failure, OrderedMap};

/// A B+tree for many readers, keys and values inline in its leaves. Values in it cannot be changed: an upsert
/// puts a new pair beside the old one, which it hides. Its scans are not of one moment.
#[derive(Default)]
pub struct SccTreeIndex(TreeIndex<Key, Value>);

impl OrderedMap for SccTreeIndex {
    type Items = Copied;

    fn new(_pairs: u64) -> Result<Self, Failure> {
        Ok(Self::default())
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.0.insert_sync(fixed(key)?, fixed(value)?).map_err(|_| "the key is there already".into())
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        self.0.upsert_sync(fixed(key)?, fixed(value)?);
        Ok(true)
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        value.clear();
        Ok(self.0.peek_with(key, |_, found| value.extend_from_slice(found)).is_some())
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut Copied) -> Result<usize, Failure> {
        items.clear();
        let (from, guard): (Key, _) = (fixed(from)?, Guard::new());
        self.0.range(from.., &guard).take(limit).for_each(|(key, value)| items.push(key, value));
        Ok(items.len())
    }
}

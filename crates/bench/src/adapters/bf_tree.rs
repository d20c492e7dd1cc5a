//! The crate `bf-tree`.

use bf_tree::{BfTree, Config, LeafInsertResult, LeafReadResult, ScanReturnField, StorageBackend};

use crate::keys::{KEY_BYTES, VALUE_BYTES};
use crate::map::{Copied, Failure, OrderedMap};

/// A B+tree made for more data than memory: 4 KiB leaf pages, in memory here, behind a buffer of small pages
/// for popular and for new pairs. An insert does not tell whether the key was there. Its scans are not of one
/// moment.
pub struct Bf(BfTree);

impl OrderedMap for Bf {
    type Items = Copied;

    fn new(_pairs: u64) -> Result<Self, Failure> {
        let mut config = Config::default();
        config.storage_backend(StorageBackend::Memory);
        config.cb_max_key_len(KEY_BYTES).cb_min_record_size(KEY_BYTES + VALUE_BYTES);
        let tree = BfTree::with_config(config, None).map_err(|error| format!("bf-tree: {error:?}"))?;
        Ok(Bf(tree))
    }

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        match self.0.insert(key, value) {
            LeafInsertResult::Success => Ok(()),
            LeafInsertResult::InvalidKV(reason) => Err(reason.into()),
        }
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        self.insert(key, value)?;
        Ok(true)
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        value.resize(VALUE_BYTES, 0);
        match self.0.read(key, value) {
            LeafReadResult::Found(bytes) => {
                value.truncate(bytes as usize);
                Ok(true)
            }
            LeafReadResult::Deleted | LeafReadResult::NotFound => Ok(false),
            LeafReadResult::InvalidKey => Err("bf-tree takes no such key".into()),
        }
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut Copied) -> Result<usize, Failure> {
        items.clear();
        let scan = self.0.scan_with_count(from, limit, ScanReturnField::KeyAndValue);
        let mut scan = scan.map_err(|error| format!("bf-tree: {error:?}"))?;
        let mut pair = [0; KEY_BYTES + VALUE_BYTES];
        while let Some((key_bytes, value_bytes)) = scan.next(&mut pair) {
            let (key, rest) = pair.split_at(key_bytes);
            items.push(key, &rest[..value_bytes]);
        }
        Ok(items.len())
    }
}

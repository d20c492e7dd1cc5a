//! The crate `bf-tree`.

use bf_tree::{BfTree, Config, LeafInsertResult, LeafReadResult, ScanReturnField, StorageBackend};
use honeycomb_workload::{BYTES, Sizes};

use crate::map::{Copied, Failure, OrderedMap};

/// A B+tree for data larger than memory: 4 KiB leaf pages, here in memory, behind a buffer of small pages for
/// popular and for new pairs. An insert does not report whether the key existed. Scans are not atomic.
pub(super) struct Bf(BfTree);

/// Bytes of the longest pair.
const PAIR_BYTES_MAX: usize = 2 * *BYTES.end();

impl Bf {
    /// Returns an empty tree for pairs of these sizes.
    pub(super) fn new(sizes: Sizes) -> Result<Self, Failure> {
        let (key_bytes_max, _) = sizes.longest();
        let shortest = if let Sizes::Fixed { key, value } = sizes { key + value } else { 2 * BYTES.start() };
        let mut config = Config::default();
        config.storage_backend(StorageBackend::Memory);
        config.cb_max_key_len(key_bytes_max).cb_min_record_size(shortest);
        // With the default, a page has no space for fence keys of this size.
        if key_bytes_max > 128 {
            config.cb_max_record_size(PAIR_BYTES_MAX);
        }
        let tree = BfTree::with_config(config, None).map_err(|error| format!("bf-tree: {error:?}"))?;
        Ok(Bf(tree))
    }
}

impl OrderedMap for Bf {
    type Items = Copied;

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
        value.resize(*BYTES.end(), 0);
        match self.0.read(key, value) {
            LeafReadResult::Found(bytes) => {
                value.truncate(bytes as usize);
                Ok(true)
            }
            LeafReadResult::Deleted | LeafReadResult::NotFound => Ok(false),
            LeafReadResult::InvalidKey => Err("bf-tree rejects the key".into()),
        }
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut Copied) -> Result<usize, Failure> {
        items.clear();
        let scan = self.0.scan_with_count(from, limit, ScanReturnField::KeyAndValue);
        let mut scan = scan.map_err(|error| format!("bf-tree: {error:?}"))?;
        let mut pair = [0; PAIR_BYTES_MAX];
        while let Some((key_bytes, value_bytes)) = scan.next(&mut pair) {
            let (key, rest) = pair.split_at(key_bytes);
            items.push(key, &rest[..value_bytes]);
        }
        Ok(items.len())
    }
}

//! The crate `congee`.

use boxcar::Vec as Records;
use parking_lot::Mutex;

use super::stored::Stored;
use crate::map::{Copied, Failure, Items, OrderedMap};

/// An adaptive radix tree with optimistic lock coupling, from 8-byte keys to 8-byte values. So it indexes the
/// first eight bytes of a key, which are unique in the benchmark, and its value is the number of a record
/// with the full key and the value. The records are in a vector that only grows. A lock of one byte makes
/// updates in place atomic. A scan first collects numbers and then reads the records. Scans are not atomic.
pub(super) struct Congee<K, V> {
    index: congee::Congee<usize, usize>,
    records: Records<Record<K, V>>,
}

struct Record<K, V> {
    key: K,
    value: Mutex<V>,
}

impl<K: Stored, V: Stored> Congee<K, V> {
    /// Returns an empty tree.
    pub(super) fn new() -> Self {
        Congee { index: congee::Congee::default(), records: Records::new() }
    }

    fn record(&self, key: &[u8]) -> Option<&Record<K, V>> {
        let number = self.index.get(&head(key), &self.index.pin())?;
        self.records.get(number).filter(|record| record.key.as_ref() == key)
    }
}

impl<K: Stored, V: Stored> OrderedMap for Congee<K, V> {
    type Items = ScanBuffers;

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let number =
            self.records.push(Record { key: K::from_bytes(key)?, value: Mutex::new(V::from_bytes(value)?) });
        let old = self.index.insert(head(key), number, &self.index.pin());
        match old.map_err(|_| "out of memory")? {
            None => Ok(()),
            Some(_) => Err("a key with the same first eight bytes exists".into()),
        }
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        let value = V::from_bytes(value)?;
        Ok(self.record(key).map(|record| *record.value.lock() = value).is_some())
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        value.clear();
        let copy = |record: &Record<K, V>| value.extend_from_slice(record.value.lock().as_ref());
        Ok(self.record(key).map(copy).is_some())
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut ScanBuffers) -> Result<usize, Failure> {
        let ScanBuffers { numbers, copied } = items;
        copied.clear();
        // One more than requested: the first key may have the same head as `from` and still be less.
        numbers.resize(limit + 1, (0, 0));
        let found = self.index.range(&head(from), &usize::MAX, numbers, &self.index.pin());
        let records = numbers[..found].iter().filter_map(|(_, number)| self.records.get(*number));
        let records = records.filter(|record| record.key.as_ref() >= from).take(limit);
        records.for_each(|record| copied.push(record.key.as_ref(), record.value.lock().as_ref()));
        Ok(copied.len())
    }
}

/// The results of a scan: the heads and numbers of the records, and the pairs.
#[derive(Default)]
pub(super) struct ScanBuffers {
    numbers: Vec<(usize, usize)>,
    copied: Copied,
}

impl Items for ScanBuffers {
    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.copied.iter()
    }
}

/// Returns the first eight bytes of a key as a number with the same order.
fn head(key: &[u8]) -> usize {
    key.first_chunk().map_or(0, |head| usize::from_be_bytes(*head))
}

//! The crate `congee`.

use boxcar::Vec as Records;
use parking_lot::Mutex;

use super::stored::Stored;
use crate::map::{Copied, Failure, Items, OrderedMap};

/// An adaptive radix tree with optimistic lock coupling from 8-byte keys to 8-byte values. So it indexes the
/// first eight bytes of a key, which tell the benchmark's keys apart, and its value is the number of a record
/// that holds the whole key and the value, in a vector that only grows; a lock of one byte keeps a value
/// whole while it is updated in place. A scan collects numbers first and then visits the records; it is not
/// of one moment.
pub(super) struct Congee<K, V> {
    index: congee::Congee<usize, usize>,
    records: Records<Record<K, V>>,
}

struct Record<K, V> {
    key: K,
    value: Mutex<V>,
}

impl<K: Stored, V: Stored> Congee<K, V> {
    /// An empty one.
    pub(super) fn new() -> Self {
        Congee { index: congee::Congee::default(), records: Records::new() }
    }

    fn record(&self, key: &[u8]) -> Option<&Record<K, V>> {
        let number = self.index.get(&head(key), &self.index.pin())?;
        self.records.get(number).filter(|record| record.key.as_ref() == key)
    }
}

impl<K: Stored, V: Stored> OrderedMap for Congee<K, V> {
    type Items = Numbered;

    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let number = self.records.push(Record { key: K::stored(key)?, value: Mutex::new(V::stored(value)?) });
        let old = self.index.insert(head(key), number, &self.index.pin());
        match old.map_err(|_| "out of memory")? {
            None => Ok(()),
            Some(_) => Err("the first eight bytes of the key are there already".into()),
        }
    }

    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure> {
        let value = V::stored(value)?;
        Ok(self.record(key).map(|record| *record.value.lock() = value).is_some())
    }

    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        value.clear();
        let copy = |record: &Record<K, V>| value.extend_from_slice(record.value.lock().as_ref());
        Ok(self.record(key).map(copy).is_some())
    }

    fn scan(&self, from: &[u8], limit: usize, items: &mut Numbered) -> Result<usize, Failure> {
        let Numbered { numbers, copied } = items;
        copied.clear();
        // One more than asked for: the first may have the head of `from` and still lie below it.
        numbers.resize(limit + 1, (0, 0));
        let found = self.index.range(&head(from), &usize::MAX, numbers, &self.index.pin());
        let records = numbers[..found].iter().filter_map(|(_, number)| self.records.get(*number));
        let records = records.filter(|record| record.key.as_ref() >= from).take(limit);
        records.for_each(|record| copied.push(record.key.as_ref(), record.value.lock().as_ref()));
        Ok(copied.len())
    }
}

/// What a scan found: heads and numbers of records, then the pairs.
#[derive(Default)]
pub(super) struct Numbered {
    numbers: Vec<(usize, usize)>,
    copied: Copied,
}

impl Items for Numbered {
    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.copied.iter()
    }
}

/// The first eight bytes of a key as a number in key order.
fn head(key: &[u8]) -> usize {
    key.first_chunk().map_or(0, |head| usize::from_be_bytes(*head))
}

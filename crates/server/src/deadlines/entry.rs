//! An entry of the index of deadlines.
//!
//! ```text
//! key:   | deadline, 6 | slot, 2 | key of the pair |              big-endian: in the order of time
//! value: | stamp, 4 |
//! ```
//! If that is longer than keys may be:
//! ```text
//! key:   | deadline, 6 | slot, 2 | beginning of the key | hash of the key, 8 |
//! value: | stamp, 4 | rest of the key |
//! ```

use std::hash::{DefaultHasher, Hasher};

use honeycomb_store::Table;

use crate::deadlines::windows::Stamp;

/// Bytes of deadline and slot.
const HEAD_BYTES: usize = 8;
const STAMP_BYTES: usize = 4;
const HASH_BYTES: usize = 8;

/// A pair and when it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Due {
    /// Milliseconds since 1970.
    pub(crate) deadline: u64,
    /// The table.
    pub(crate) slot: usize,
    pub(crate) key: Vec<u8>,
}

impl Due {
    /// None if the time is so late (the year 10,889) that it is not in the index.
    pub(crate) fn of(slot: usize, key: &[u8], deadline: u64) -> Option<Self> {
        let fits = deadline < 1 << 48 && slot <= usize::from(u16::MAX);
        fits.then(|| Self { deadline, slot, key: key.to_vec() })
    }

    /// The key of its entry.
    pub(crate) fn index_key(&self, index: &Table) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.key.len());
        bytes.extend_from_slice(&self.deadline.to_be_bytes()[2..]);
        bytes.extend_from_slice(&(self.slot as u16).to_be_bytes());
        bytes.extend_from_slice(&self.key[..self.kept(index)]);
        if self.kept(index) < self.key.len() {
            let mut hasher = DefaultHasher::new();
            hasher.write(&self.key);
            bytes.extend_from_slice(&hasher.finish().to_be_bytes());
        }
        bytes
    }

    /// The value of its entry.
    pub(crate) fn index_value(&self, index: &Table, stamp: Stamp) -> Vec<u8> {
        let mut bytes = stamp.to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.key[self.kept(index)..]);
        bytes
    }

    /// What an entry says. None if it is malformed.
    pub(crate) fn parse(index_key: &[u8], index_value: &[u8]) -> Option<Self> {
        let (head, mut key) = index_key.split_first_chunk::<HEAD_BYTES>()?;
        let (_, rest) = index_value.split_first_chunk::<STAMP_BYTES>()?;
        if !rest.is_empty() {
            key = key.split_last_chunk::<HASH_BYTES>()?.0;
        }
        let head = u64::from_be_bytes(*head);
        let (deadline, slot) = (head >> 16, (head & 0xffff) as usize);
        Some(Self { deadline, slot, key: [key, rest].concat() })
    }

    /// Bytes of the pair's key that are in the key of its entry.
    fn kept(&self, index: &Table) -> usize {
        let room = index.key_bytes_max() - HEAD_BYTES;
        if self.key.len() <= room { self.key.len() } else { room - HASH_BYTES }
    }
}

/// The stamp of an entry. None if it is malformed.
pub(super) fn stamp(index_value: &[u8]) -> Option<Stamp> {
    Some(Stamp::from_le_bytes(*index_value.first_chunk()?))
}

/// The key before which all entries are that are due at some time.
pub(crate) fn due_until(now: u64) -> [u8; 6] {
    let after = now.saturating_add(1).min((1 << 48) - 1).to_be_bytes();
    [after[2], after[3], after[4], after[5], after[6], after[7]]
}

#[cfg(test)]
mod tests {
    use honeycomb_store::{Config, Store};

    use super::*;

    #[test]
    fn entries_of_keys_of_all_lengths_come_in_the_order_of_time() {
        let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
        let index = store.table("index").unwrap();
        let mut before = Vec::new();
        for length in 1..=index.key_bytes_max() {
            let deadline = 1_700_000_000_000 + length as u64;
            let due = Due::of(15, &vec![0xff; length], deadline).unwrap();
            let (key, value) = (due.index_key(&index), due.index_value(&index, 7));
            assert!(key.len() <= index.key_bytes_max() && before < key);
            assert_eq!(Due::parse(&key, &value), Some(due));
            assert!(key[..] < due_until(deadline)[..] && key[..] >= due_until(deadline - 1)[..]);
            before = key;
        }
        let mut keys = [[b'k'; 460], [b'k'; 460]];
        keys[0][459] = b'l';
        let [a, b] = keys.map(|key| Due::of(0, &key, 1).unwrap().index_key(&index));
        assert_ne!(a, b, "long keys that begin alike have an entry each");
    }

    #[test]
    fn what_never_comes_is_not_in_the_index() {
        assert_eq!(Due::of(0, b"key", 1 << 48), None);
        assert!(Due::of(0, b"key", (1 << 48) - 1).is_some());
    }

    #[test]
    fn what_is_malformed_is_no_entry() {
        for (key, value) in
            [(&b"1234567"[..], &b"1234"[..]), (b"12345678k", b"123"), (b"12345678k", b"12345")]
        {
            assert_eq!(Due::parse(key, value), None);
        }
    }
}

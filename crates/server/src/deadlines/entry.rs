//! An entry of the index of deadlines.
//!
//! ```text
//! key:   | deadline, 6 | slot, 2 | key of the pair |                      big-endian, sorts by time
//! value: | stamp, 4 |
//! ```
//! If this key would be too long:
//! ```text
//! key:   | deadline, 6 | slot, 2 | first bytes of the key | hash of the key, 8 |
//! value: | stamp, 4 | rest of the key |
//! ```

use std::hash::{DefaultHasher, Hasher};

use honeycomb_store::Table;

use crate::deadlines::windows::Stamp;

/// Bytes of deadline and slot.
const HEAD_BYTES: usize = 8;
const STAMP_BYTES: usize = 4;
const HASH_BYTES: usize = 8;

/// A pair and its deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Due {
    /// In milliseconds since 1970.
    pub(crate) deadline: u64,
    /// The slot of the table.
    pub(crate) slot: usize,
    pub(crate) key: Vec<u8>,
}

impl Due {
    /// Returns `None` for a deadline after the year 10,889, which the index cannot represent.
    pub(crate) fn of(slot: usize, key: &[u8], deadline: u64) -> Option<Self> {
        let fits = deadline < 1 << 48 && slot <= usize::from(u16::MAX);
        fits.then(|| Self { deadline, slot, key: key.to_vec() })
    }

    /// Returns the key of its entry.
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

    /// Returns the value of its entry.
    pub(crate) fn index_value(&self, index: &Table, stamp: Stamp) -> Vec<u8> {
        let mut bytes = stamp.to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.key[self.kept(index)..]);
        bytes
    }

    /// Decodes an entry. Returns `None` if it is malformed.
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

    /// Returns the number of bytes of the key that the key of the entry contains.
    fn kept(&self, index: &Table) -> usize {
        let room = index.key_bytes_max() - HEAD_BYTES;
        if self.key.len() <= room { self.key.len() } else { room - HASH_BYTES }
    }
}

/// Returns the stamp of an entry, or `None` if it is malformed.
pub(super) fn stamp(index_value: &[u8]) -> Option<Stamp> {
    Some(Stamp::from_le_bytes(*index_value.first_chunk()?))
}

/// Returns the key below which all entries are due at `now`.
pub(crate) fn due_until(now: u64) -> [u8; 6] {
    let after = now.saturating_add(1).min((1 << 48) - 1).to_be_bytes();
    [after[2], after[3], after[4], after[5], after[6], after[7]]
}

#[cfg(test)]
mod tests {
    use honeycomb_store::{Config, Store};

    use super::*;

    #[test]
    fn entries_sort_by_time_for_keys_of_all_lengths() {
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
        assert_ne!(a, b, "long keys with a common prefix have separate entries");
    }

    #[test]
    fn the_index_has_no_deadlines_beyond_its_range() {
        assert_eq!(Due::of(0, b"key", 1 << 48), None);
        assert!(Due::of(0, b"key", (1 << 48) - 1).is_some());
    }

    #[test]
    fn malformed_entries_are_rejected() {
        for (key, value) in
            [(&b"1234567"[..], &b"1234"[..]), (b"12345678k", b"123"), (b"12345678k", b"12345")]
        {
            assert_eq!(Due::parse(key, value), None);
        }
    }
}

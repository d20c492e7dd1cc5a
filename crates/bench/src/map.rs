//! What the benchmark asks of an ordered map.

use std::error::Error;

/// Why an operation could not be done.
pub type Failure = Box<dyn Error + Send + Sync>;

/// An ordered map that several threads use at once, one operation at a time.
///
/// The benchmark inserts only keys that are absent and updates only keys that are there, so that maps that do
/// not tell the two apart are not made to look first.
pub trait OrderedMap: Sync + Sized {
    /// Where a scan puts the pairs it finds; made once a thread and reused.
    type Items: Items;

    /// An empty map that is going to hold about `pairs` pairs.
    fn new(pairs: u64) -> Result<Self, Failure>;

    /// Adds a pair whose key is absent.
    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure>;

    /// Gives a key that is there a new value. Whether it was there; always true where a map cannot tell.
    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure>;

    /// Copies the value of a key into `value`, replacing what that held. Whether the key is there.
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure>;

    /// Copies up to `limit` pairs in key order, from the first key >= `from`, into `items`, replacing what
    /// that held. How many there were.
    fn scan(&self, from: &[u8], limit: usize, items: &mut Self::Items) -> Result<usize, Failure>;

    /// Bytes that the map itself says it takes, if it says so.
    fn accounted_bytes(&self) -> Option<u64> {
        None
    }
}

/// What a scan found.
pub trait Items: Default {
    /// The pairs, in the order found.
    fn pairs(&self) -> Vec<(Vec<u8>, Vec<u8>)>;
}

/// Pairs copied out one behind the other.
#[derive(Debug, Default)]
pub struct Copied {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Copied {
    /// Forgets all pairs.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.ends.len() / 2
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Copies one more pair.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        for part in [key, value] {
            self.bytes.extend_from_slice(part);
            self.ends.push(self.bytes.len());
        }
    }
}

impl Items for Copied {
    fn pairs(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let start = |index: usize| index.checked_sub(1).map_or(0, |before| self.ends[before]);
        let part = |index: usize| self.bytes[start(index)..self.ends[index]].to_vec();
        (0..self.len()).map(|pair| (part(2 * pair), part(2 * pair + 1))).collect()
    }
}

//! What a scan found: many pairs in two buffers, which the next scan uses again.

use std::iter::FusedIterator;
use std::ops::Range;

use honeycomb_accelerator::Completions;

use crate::error::Error;

/// Pairs in the order in which they were found. Made to be used again: a scan into it allocates nothing once
/// its buffers have grown.
///
/// ```
/// use honeycomb_store::{Config, Pairs, Scan, Store};
///
/// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
/// let table = store.table("fruit")?;
/// table.put(b"apple", b"red")?;
/// table.put(b"pear", b"green")?;
/// let mut pairs = Pairs::default();
/// table.scan_into(&Scan::all(), &mut pairs)?;
/// assert_eq!(pairs.get(1), Some((&b"pear"[..], &b"green"[..])));
/// for (key, value) in &pairs {
///     println!("{} is {}", String::from_utf8_lossy(key), String::from_utf8_lossy(value));
/// }
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Pairs {
    /// As the accelerator wrote them.
    completions: Completions,
    places: Vec<LaneSlot>,
    more: bool,
}

/// Where a pair is in the bytes of the completions: its key, and after that its value.
#[derive(Debug, Clone, Copy)]
struct LaneSlot {
    key: usize,
    value: usize,
    end: usize,
}

impl Pairs {
    /// How many pairs there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether the scan found more than it was allowed to return: continue after the last key.
    #[must_use]
    pub fn more(&self) -> bool {
        self.more
    }

    /// Key and value of the pair at `index`, counted from 0.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let (place, bytes) = (self.places.get(index)?, self.completions.bytes());
        Some((&bytes[place.key..place.value], &bytes[place.value..place.end]))
    }

    /// Key and value of the first pair.
    #[must_use]
    pub fn first(&self) -> Option<(&[u8], &[u8])> {
        self.get(0)
    }

    /// Key and value of the last pair.
    #[must_use]
    pub fn last(&self) -> Option<(&[u8], &[u8])> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Keys and values in order.
    #[must_use]
    pub fn iter(&self) -> PairsIter<'_> {
        PairsIter { pairs: self, left: 0..self.len() }
    }

    /// Removes all pairs and keeps the buffers.
    pub fn clear(&mut self) {
        self.completions.clear();
        self.places.clear();
        self.more = false;
    }

    /// Puts the pairs of the completions that `scan` appends in place of what this held.
    #[inline]
    pub(crate) fn fill(
        &mut self,
        scan: impl FnOnce(&mut Completions) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.clear();
        scan(&mut self.completions)?;
        let bytes = self.completions.bytes();
        let offset = |part: &[u8]| part.as_ptr().addr() - bytes.as_ptr().addr();
        for completion in &self.completions {
            self.more |= completion.more;
            for (key, value) in completion.pairs() {
                let (key_start, value_start) = (offset(key), offset(value));
                self.places.push(LaneSlot {
                    key: key_start,
                    value: value_start,
                    end: value_start + value.len(),
                });
            }
        }
        Ok(())
    }
}

impl<'a> IntoIterator for &'a Pairs {
    type Item = (&'a [u8], &'a [u8]);
    type IntoIter = PairsIter<'a>;

    fn into_iter(self) -> PairsIter<'a> {
        self.iter()
    }
}

/// Iterates over [`Pairs`].
#[derive(Debug, Clone)]
pub struct PairsIter<'a> {
    pairs: &'a Pairs,
    left: Range<usize>,
}

impl<'a> Iterator for PairsIter<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.pairs.get(self.left.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl DoubleEndedIterator for PairsIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.pairs.get(self.left.next_back()?)
    }
}

impl ExactSizeIterator for PairsIter<'_> {}

impl FusedIterator for PairsIter<'_> {}

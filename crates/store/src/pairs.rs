//! The result of a scan: many pairs in two buffers, which later scans reuse.

use std::iter::FusedIterator;
use std::ops::Range;

use honeycomb_accelerator::Completions;

use crate::error::Error;

/// The pairs of a scan, in the order of the scan. A `Pairs` can be reused: once its buffers have grown, a
/// scan into it allocates nothing.
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
    /// The completions as the accelerator wrote them.
    completions: Completions,
    offsets: Vec<PairOffsets>,
    more: bool,
}

/// The offsets of a pair in the bytes of the completions: of its key, of the value behind it, and of the end
/// of the value.
#[derive(Debug, Clone, Copy)]
struct PairOffsets {
    key: usize,
    value: usize,
    end: usize,
}

impl Pairs {
    /// Returns the number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Returns the bytes of memory in use.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.completions.memory_bytes() + self.offsets.capacity() * size_of::<PairOffsets>()
    }

    /// Returns whether there are no pairs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Returns whether a limit of the scan left out further pairs. To continue, scan from the last key,
    /// excluded.
    #[must_use]
    pub fn more(&self) -> bool {
        self.more
    }

    /// Returns the key and the value of the pair at `index`, counted from 0.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let (offsets, bytes) = (self.offsets.get(index)?, self.completions.bytes());
        Some((&bytes[offsets.key..offsets.value], &bytes[offsets.value..offsets.end]))
    }

    /// Returns the key and the value of the first pair.
    #[must_use]
    pub fn first(&self) -> Option<(&[u8], &[u8])> {
        self.get(0)
    }

    /// Returns the key and the value of the last pair.
    #[must_use]
    pub fn last(&self) -> Option<(&[u8], &[u8])> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Iterates over the keys and values in order.
    #[must_use]
    pub fn iter(&self) -> PairsIter<'_> {
        PairsIter { pairs: self, left: 0..self.len() }
    }

    /// Removes all pairs and keeps the buffers.
    pub fn clear(&mut self) {
        self.completions.clear();
        self.offsets.clear();
        self.more = false;
    }

    /// Replaces the pairs with those of the completions that `scan` appends.
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
                self.offsets.push(PairOffsets {
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

/// An iterator over [`Pairs`].
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

//! What a scan found: many pairs in two buffers, which the next scan uses again.

use std::iter::FusedIterator;
use std::ops::{ControlFlow, Range};

use honeycomb_btree::{Reader, Root};

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
    /// Key, value, key, value, ...
    bytes: Vec<u8>,
    ends: Vec<Ends>,
    more: bool,
}

/// Where a pair's key and value end in the bytes.
#[derive(Debug, Clone, Copy)]
struct Ends {
    key: usize,
    value: usize,
}

impl Pairs {
    /// How many pairs there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether the scan found more than it was allowed to return: continue after the last key.
    #[must_use]
    pub fn more(&self) -> bool {
        self.more
    }

    /// Key and value of the pair at `index`, counted from 0.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<(&[u8], &[u8])> {
        let ends = self.ends.get(index)?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before].value);
        Some((&self.bytes[start..ends.key], &self.bytes[ends.key..ends.value]))
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
        self.bytes.clear();
        self.ends.clear();
        self.more = false;
    }

    /// Appends what a scan of a tree finds, up to the pair that reaches `bytes_max`. Must be empty.
    pub(crate) fn fill(
        &mut self,
        reader: &Reader<'_>,
        root: Root,
        request: &honeycomb_btree::Scan<'_>,
        bytes_max: usize,
    ) {
        let limit = request.limit;
        // One pair further than the limit, to know whether there are more.
        let request = honeycomb_btree::Scan { limit: limit.saturating_add(1), ..*request };
        let Self { bytes, ends, more } = self;
        reader.scan(root, &request, |pair| {
            if ends.len() == limit || bytes.len() >= bytes_max {
                *more = true;
                return ControlFlow::Break(());
            }
            let (prefix, suffix) = pair.key_parts();
            bytes.extend_from_slice(prefix);
            bytes.extend_from_slice(suffix);
            let key = bytes.len();
            bytes.extend_from_slice(pair.value());
            ends.push(Ends { key, value: bytes.len() });
            ControlFlow::Continue(())
        });
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

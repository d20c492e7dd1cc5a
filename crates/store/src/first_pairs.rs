//! The first pairs of a range, up to a number and to bytes.

use std::mem;
use std::ops::ControlFlow;

use honeycomb_btree::Pair;

/// A key and a value.
pub(crate) type OwnedPair = (Vec<u8>, Vec<u8>);

/// The pairs that were offered so far, until the limits are reached. Several pairs have at most a number of
/// bytes of keys and values together.
#[derive(Debug)]
pub struct FirstPairs {
    pairs: Vec<OwnedPair>,
    pairs_max: usize,
    bytes: usize,
    bytes_max: usize,
    is_full: bool,
}

impl FirstPairs {
    /// Returns the limits without pairs.
    #[must_use]
    pub fn new(pairs_max: usize, bytes_max: usize) -> Self {
        Self { pairs: Vec::new(), pairs_max, bytes: 0, bytes_max, is_full: pairs_max == 0 }
    }

    /// Returns whether no pair has room any more. The pairs that follow were not offered, or do not fit.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns the bytes of keys and values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Removes the pairs and returns them, in the order in which they were offered.
    #[must_use]
    pub fn take_pairs(&mut self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.bytes = 0;
        mem::take(&mut self.pairs)
    }

    /// Adds the next pair of the range if it fits. Breaks when it is full.
    pub(crate) fn offer(&mut self, pair: &Pair<'_>) -> ControlFlow<()> {
        let bytes = self.bytes + pair.key_len() + pair.value_len();
        self.is_full = bytes > self.bytes_max && !self.pairs.is_empty();
        if !self.is_full {
            self.bytes = bytes;
            self.pairs.push((pair.key(), pair.value().to_vec()));
            self.is_full = self.pairs.len() == self.pairs_max;
        }
        if self.is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Returns the key of the last pair.
    pub(crate) fn last_key(&self) -> Option<&[u8]> {
        self.pairs.last().map(|(key, _)| &**key)
    }
}

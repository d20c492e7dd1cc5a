//! The greatest pairs of a range.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;

use honeycomb_btree::Pair;

/// A key and a value.
type OwnedPair = (Vec<u8>, Vec<u8>);

/// The order of pairs: by their ranks, and of equal ones the first is the greatest.
type Order = (u64, Reverse<u64>);

/// The greatest of the pairs that were offered so far, in memory that depends on the limits only.
#[derive(Debug)]
pub struct Ranking {
    /// The least pair is on top.
    pairs: BinaryHeap<Reverse<(Order, OwnedPair)>>,
    offered: u64,
    pairs_max: usize,
    bytes: usize,
    bytes_max: usize,
    /// The greatest pair that was omitted. A lesser one would not be next to the others.
    omitted: Option<Order>,
}

impl Ranking {
    /// A ranking of at most `pairs_max` pairs. Several of them have at most `bytes_max` bytes of keys and
    /// values together.
    #[must_use]
    pub fn new(pairs_max: usize, bytes_max: usize) -> Self {
        Self { pairs: BinaryHeap::new(), offered: 0, pairs_max, bytes: 0, bytes_max, omitted: None }
    }

    /// Offers the next pair of the range.
    pub fn offer(&mut self, rank: u64, pair: &Pair<'_>) {
        let order = (rank, Reverse(self.offered));
        self.offered += 1;
        if self.omitted.is_some_and(|omitted| order < omitted) {
            return;
        }
        let least = self.pairs.peek().filter(|_| self.pairs.len() == self.pairs_max);
        if self.pairs_max == 0 || least.is_some_and(|Reverse((least, _))| order < *least) {
            self.omitted = Some(order);
            return;
        }
        self.bytes += pair.key_len() + pair.value_len();
        self.pairs.push(Reverse((order, (pair.key(), pair.value().to_vec()))));
        while self.pairs.len() > self.pairs_max || (self.bytes > self.bytes_max && self.pairs.len() > 1) {
            let Some(Reverse((least, (key, value)))) = self.pairs.pop() else { return };
            self.bytes -= key.len() + value.len();
            self.omitted = self.omitted.max(Some(least));
        }
    }

    /// Whether the limits have omitted pairs.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.omitted.is_some()
    }

    /// Returns the bytes of keys and values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Removes the pairs and returns them, the greatest first.
    #[must_use]
    pub fn take_pairs(&mut self) -> Vec<OwnedPair> {
        self.bytes = 0;
        mem::take(&mut self.pairs).into_sorted_vec().into_iter().map(|Reverse((_, pair))| pair).collect()
    }
}

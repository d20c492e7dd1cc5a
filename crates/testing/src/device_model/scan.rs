//! The progress of a scan through its range.

use std::ops::Bound;

use honeycomb_btree::Scan;

use crate::device_model::Fault;
use crate::device_model::leaf::{Leaf, Pair};
use crate::device_model::target::LeafTarget;

/// The range and the limits of a scan, and its progress.
pub(super) struct Range {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    pub(super) backward: bool,
    pub(super) keys_only: bool,
    /// Whether the scan still searches the start of a floor-start scan.
    seeks_floor: bool,
    pairs_left: usize,
    bytes_left: usize,
    /// The end of the leaf before, to check that the next leaf is adjacent.
    edge: Edge,
}

/// The fence key between two adjacent leaves.
enum Edge {
    /// The scan has not left a leaf yet.
    Nowhere,
    /// The low fence key of the next leaf.
    Low(Vec<u8>),
    /// The high fence key of the next leaf.
    High(Vec<u8>),
}

/// The next step of a scan.
pub(super) enum Next {
    /// The pair of this index.
    Pair(usize),
    /// The next leaf in the direction of the scan.
    Leaf,
    /// The left sibling, although the scan is forward: only there can the floor start be.
    FloorLeaf,
    /// None: the range ends in this leaf.
    End,
}

impl Range {
    pub(super) fn new(scan: &Scan<'_>, bytes_max: u32) -> Self {
        let is_bounded = !matches!(scan.lower, Bound::Unbounded);
        Self {
            lower: scan.lower.map(<[u8]>::to_vec),
            upper: scan.upper.map(<[u8]>::to_vec),
            backward: scan.backward,
            keys_only: scan.keys_only,
            seeks_floor: scan.floor_start && is_bounded,
            pairs_left: scan.limit,
            bytes_left: bytes_max as usize,
            edge: Edge::Nowhere,
        }
    }

    /// Moves to the left sibling. Returns the low fence key of the leaf that the scan leaves.
    pub(super) fn leave_left(&mut self, low_fence: Vec<u8>) -> Vec<u8> {
        self.edge = Edge::High(low_fence.clone());
        low_fence
    }

    /// Moves to the right sibling. Returns the high fence key of the leaf that the scan leaves.
    pub(super) fn leave_right(&mut self, high_fence: Vec<u8>) -> Vec<u8> {
        self.edge = Edge::Low(high_fence.clone());
        high_fence
    }

    fn is_next(&self, leaf: &Leaf) -> bool {
        let is_ordered = leaf.high_fence.as_ref().is_none_or(|high| leaf.low_fence < *high);
        is_ordered
            && match &self.edge {
                Edge::Nowhere => true,
                Edge::Low(fence) => leaf.low_fence == *fence,
                Edge::High(fence) => leaf.high_fence.as_ref() == Some(fence),
            }
    }

    /// The first leaf of the scan.
    pub(super) fn target(&self) -> LeafTarget {
        match (if self.backward { &self.upper } else { &self.lower }, self.backward) {
            (Bound::Included(key) | Bound::Excluded(key), _) => LeafTarget::Key(key.clone()),
            (Bound::Unbounded, false) => LeafTarget::First,
            (Bound::Unbounded, true) => LeafTarget::Last,
        }
    }

    /// The first step in the next leaf.
    ///
    /// # Errors
    /// [`Fault`] if the leaf is not adjacent to the leaf before it.
    pub(super) fn enter(&mut self, leaf: &Leaf) -> Result<Next, Fault> {
        if !self.is_next(leaf) {
            return Err(Fault);
        }
        if self.backward {
            let count = leaf.pairs.partition_point(|pair| self.is_below_upper(&pair.key));
            return Ok(self.at(leaf, count.checked_sub(1)));
        }
        if self.seeks_floor {
            match leaf.pairs.partition_point(|pair| self.is_floor(&pair.key)).checked_sub(1) {
                Some(floor) => {
                    self.seeks_floor = false;
                    return Ok(self.at(leaf, Some(floor)));
                }
                None if leaf.left != 0 => return Ok(Next::FloorLeaf),
                // No key is at or below the lower bound: the scan starts at the first key of the range.
                None => self.seeks_floor = false,
            }
        }
        let first = leaf.pairs.partition_point(|pair| !self.is_above_lower(&pair.key));
        Ok(self.at(leaf, Some(first)))
    }

    /// The step after a pair of a leaf.
    pub(super) fn after(&self, leaf: &Leaf, index: usize) -> Next {
        self.at(leaf, if self.backward { index.checked_sub(1) } else { Some(index + 1) })
    }

    fn at(&self, leaf: &Leaf, index: Option<usize>) -> Next {
        match index.and_then(|index| Some((index, leaf.pairs.get(index)?))) {
            Some((_, pair)) if self.is_beyond(&pair.key) => Next::End,
            Some((index, _)) => Next::Pair(index),
            None if self.ends_in(leaf) => Next::End,
            None => Next::Leaf,
        }
    }

    /// Whether the range ends in a leaf.
    fn ends_in(&self, leaf: &Leaf) -> bool {
        if self.backward {
            return leaf.left == 0 || !self.is_above_lower(&leaf.low_fence);
        }
        leaf.right == 0 || leaf.high_fence.as_ref().is_none_or(|high| self.is_beyond(high))
    }

    /// Whether a key ends the scan.
    fn is_beyond(&self, key: &[u8]) -> bool {
        if self.backward { !self.is_above_lower(key) } else { !self.is_below_upper(key) }
    }

    fn is_above_lower(&self, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Included(lower) => key >= lower.as_slice(),
            Bound::Excluded(lower) => key > lower.as_slice(),
            Bound::Unbounded => true,
        }
    }

    fn is_below_upper(&self, key: &[u8]) -> bool {
        match &self.upper {
            Bound::Included(upper) => key <= upper.as_slice(),
            Bound::Excluded(upper) => key < upper.as_slice(),
            Bound::Unbounded => true,
        }
    }

    /// Whether a key is at or below the lower bound. The largest such key is the floor start.
    fn is_floor(&self, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Included(lower) | Bound::Excluded(lower) => key <= lower.as_slice(),
            Bound::Unbounded => false,
        }
    }

    /// Whether the scan has reached a limit.
    pub(super) fn is_at_limit(&self) -> bool {
        self.pairs_left == 0 || self.bytes_left == 0
    }

    /// Counts a pair towards the limits.
    pub(super) fn count(&mut self, pair: &Pair, value_bytes: usize) {
        self.pairs_left -= 1;
        self.bytes_left = self.bytes_left.saturating_sub(pair.key.len() + value_bytes);
    }
}

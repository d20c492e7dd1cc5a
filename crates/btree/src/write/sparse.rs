//! What a write that shortens pairs leaves behind: leaves that have become sparse, for compaction to join.

use crate::forest::Root;
use crate::node::shape::{LEAF, Shape};

/// A leaf that a write has left sparse, by a key that leads there.
pub(crate) type SparseLeaf = (Root, Vec<u8>);

/// What writes take from the live bytes of leaves.
#[derive(Default)]
pub(crate) struct Shrunk {
    pub(crate) bytes: usize,
    /// The leaves that are to be tended.
    pub(crate) sparse: Vec<SparseLeaf>,
}

/// Whether a leaf that loses some of its live bytes is to be tended: when it becomes less than a quarter
/// full, then each time it is half as full, and when it is empty.
pub(crate) fn becomes_sparse(shape: &Shape, before: usize, after: usize) -> bool {
    let quarter = shape.block_bytes(LEAF) / 4;
    after < quarter && (before >= quarter || before.leading_zeros() != after.leading_zeros())
}

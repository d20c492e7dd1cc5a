//! Detects leaves that a write has left sparse, so that compaction can merge them.

use crate::forest::Root;
use crate::node::shape::Shape;

/// A sparse leaf, identified by its tree and its low fence key.
pub(crate) type SparseLeaf = (Root, Vec<u8>);

/// Live bytes that a transaction has removed from leaves.
#[derive(Default)]
pub(crate) struct Shrunk {
    pub(crate) bytes: usize,
    /// The leaves to compact after the commit.
    pub(crate) sparse: Vec<SparseLeaf>,
}

/// Returns whether a leaf that loses live bytes needs compaction: when it drops below a quarter full, each
/// time it halves after that, and when it becomes empty.
pub(crate) fn becomes_sparse(shape: &Shape, before: usize, after: usize) -> bool {
    let quarter = shape.block_bytes() / 4;
    after < quarter && (before >= quarter || before.leading_zeros() != after.leading_zeros())
}

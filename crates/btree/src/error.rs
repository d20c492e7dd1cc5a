//! What can go wrong with an operation on a tree.

use honeycomb_memory::MemoryError;
use thiserror::Error;

/// An operation that was not carried out; nothing of what was stored has changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The arena has no room, or could not be made.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A key is empty or too long.
    #[error("key of {bytes} bytes: a key has 1 to {max} bytes")]
    KeyLength {
        /// Bytes of the key given.
        bytes: usize,
        /// Longest key allowed with this node size.
        max: usize,
    },
    /// A value is too long.
    #[error("value of {bytes} bytes: a value has at most {max} bytes")]
    ValueLength {
        /// Bytes of the value given.
        bytes: usize,
        /// Longest value allowed.
        max: usize,
    },
    /// A batch has too many operations.
    #[error("batch of {operations} operations: a batch has at most {max}")]
    BatchTooLarge {
        /// Operations given.
        operations: usize,
        /// Most operations allowed.
        max: usize,
    },
    /// A batch has a condition on versions, and there are none.
    #[error("entry {entry} needs the versions of writes, and this forest has none: it was made without MVCC")]
    NoVersions {
        /// The entry, by its place in the batch.
        entry: usize,
    },
    /// Pairs are loaded into a tree that has some.
    #[error("the tree has pairs: only an empty one can be loaded")]
    NotEmpty,
    /// Pairs that are loaded do not come in the order of their keys.
    #[error("pair {position} is not greater than pair {}, counted from 0: keys must ascend", position - 1)]
    NotAscending {
        /// How many pairs come before the one whose key is not greater than the one right before it.
        position: u64,
    },
    /// Nodes are to be filled to a share that is not allowed.
    #[error("nodes filled to {percent} %: allowed are 10 to 100 %")]
    FillPercent {
        /// The share given.
        percent: usize,
    },
    /// A parameter of the nodes is not allowed.
    #[error("invalid shape: {0}")]
    InvalidShape(String),
}

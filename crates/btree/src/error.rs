//! Errors of operations on a tree.

use honeycomb_memory::MemoryError;
use thiserror::Error;

/// The reason that an operation failed. A failed operation has changed nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The arena is full or could not be reserved.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A key is empty or too long.
    #[error("key of {bytes} bytes: a key has 1 to {max} bytes")]
    KeyLength {
        /// Bytes of the key.
        bytes: usize,
        /// Longest key allowed with this node size.
        max: usize,
    },
    /// A value is too long.
    #[error("value of {bytes} bytes: a value has at most {max} bytes")]
    ValueLength {
        /// Bytes of the value.
        bytes: usize,
        /// Longest value allowed.
        max: usize,
    },
    /// A batch has too many operations.
    #[error("batch of {operations} operations: a batch has at most {max}")]
    BatchTooLarge {
        /// Operations in the batch.
        operations: usize,
        /// Most operations allowed.
        max: usize,
    },
    /// A write has a condition on versions, but the forest has no versions.
    #[error("the write needs the versions of pairs, but the forest was created without MVCC")]
    NoVersions,
    /// A bulk load into a tree that is not empty.
    #[error("the tree has pairs: bulk load needs an empty tree")]
    NotEmpty,
    /// The keys of a bulk load are not in ascending order.
    #[error("pair {position}, counted from 0, is not greater than the pair before it: keys must ascend")]
    NotAscending {
        /// Index of the pair whose key is not greater than the key before it.
        position: u64,
    },
    /// The fill factor of a bulk load is out of range.
    #[error("fill factor of {percent} %: allowed are 10 to 100 %")]
    FillPercent {
        /// The fill factor given, in percent.
        percent: usize,
    },
    /// A parameter of the nodes is invalid.
    #[error("invalid shape: {0}")]
    InvalidShape(String),
}

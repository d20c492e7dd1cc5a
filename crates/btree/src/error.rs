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
    /// A parameter of the nodes is not allowed.
    #[error("invalid shape: {0}")]
    InvalidShape(String),
}

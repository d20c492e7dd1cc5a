//! What can go wrong with memory.

use std::io;

use thiserror::Error;

/// Something that was not done; nothing has changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// A parameter is not allowed.
    #[error("invalid memory configuration: {0}")]
    InvalidConfig(String),
    /// The system did not give the address space of the arena or of the page table.
    #[error("cannot reserve {bytes} bytes: {source}")]
    Reserve {
        /// Bytes asked for.
        bytes: usize,
        /// What the system said.
        source: io::Error,
    },
    /// The arena has no room, even after all that could be reclaimed was.
    #[error("no room for a {what} of {wanted_bytes} bytes in an arena of {arena_bytes} bytes")]
    Exhausted {
        /// Node, value or LID.
        what: &'static str,
        /// Bytes asked for.
        wanted_bytes: usize,
        /// Bytes of the arena.
        arena_bytes: usize,
    },
    /// A value is longer than any may be.
    #[error("value of {bytes} bytes: a value has at most {max} bytes")]
    ValueLength {
        /// Bytes of the value given.
        bytes: usize,
        /// Longest value allowed.
        max: usize,
    },
    /// All leases are taken.
    #[error("all {max} leases are taken")]
    TooManyLeases {
        /// How many there are.
        max: usize,
    },
    /// All device participants are taken.
    #[error("all {max} devices are taken")]
    TooManyDevices {
        /// How many there are.
        max: usize,
    },
}

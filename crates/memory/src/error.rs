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
    /// A device was registered when something was mapped already, which it would never be told of.
    #[error("a device must register before the first tree is created")]
    RegisteredTooLate,
    /// A device read although no operation of it was in flight.
    #[error("a device reads only while operations of it are in flight")]
    NoneInFlight,
    /// A device read something else than nodes and values in use.
    #[error("no nodes or values in use are at bus address {address:#x} and the {bytes} bytes from there")]
    Unreadable {
        /// The bus address.
        address: u64,
        /// Bytes to be read.
        bytes: usize,
    },
    /// All device participants are taken.
    #[error("all {max} devices are taken")]
    TooManyDevices {
        /// How many there are.
        max: usize,
    },
}

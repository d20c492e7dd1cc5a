//! The errors of a memory.

use std::io;

use thiserror::Error;

/// Why an operation on a memory failed. A failed operation changes nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// A parameter is invalid.
    #[error("invalid memory configuration: {0}")]
    InvalidConfig(String),
    /// The system cannot reserve the address space of the arena or of the page table.
    #[error("cannot reserve {bytes} bytes: {source}")]
    Reserve {
        /// Requested bytes.
        bytes: usize,
        /// The error of the system.
        source: io::Error,
    },
    /// The arena has no room, even after reclaiming.
    #[error("no room for a {what} of {wanted_bytes} bytes in an arena of {arena_bytes} bytes")]
    Exhausted {
        /// Node, value, LID, table page or slab.
        what: &'static str,
        /// Requested bytes.
        wanted_bytes: usize,
        /// Bytes of the arena.
        arena_bytes: usize,
    },
    /// A value exceeds the maximum length.
    #[error("value of {bytes} bytes: a value has at most {max} bytes")]
    ValueLength {
        /// Length of the value in bytes.
        bytes: usize,
        /// Maximum length in bytes.
        max: usize,
    },
    /// All leases are in use.
    #[error("all {max} leases are in use")]
    TooManyLeases {
        /// Number of leases.
        max: usize,
    },
    /// A device registered after the first mapping, which it would never receive.
    #[error("a device must register before the first tree is created")]
    RegisteredTooLate,
    /// A device read without an operation in flight.
    #[error("a device may read only while it has operations in flight")]
    NoneInFlight,
    /// A device read memory that is not part of nodes or values in use.
    #[error("the {bytes} bytes at bus address {address:#x} are not part of nodes or values in use")]
    Unreadable {
        /// The bus address.
        address: u64,
        /// Requested bytes.
        bytes: usize,
    },
    /// All devices are in use.
    #[error("all {max} devices are in use")]
    TooManyDevices {
        /// Number of devices.
        max: usize,
    },
}

//! Wire formats, without any input or output: bytes go in and come out of them, sockets are somebody else's.
//!
//! [`resp`] is what Redis clients speak, over streams. [`ocsm`] and [`batch`] are datagrams. Both sides of
//! each are here: what a server needs, and what a client needs, which is how the server is tested.
#![forbid(unsafe_code)]

pub mod batch;
mod bytes;
pub mod ocsm;
pub mod resp;
mod together;

pub use together::together;

/// Bytes of the payload of a UDP datagram in an Ethernet frame of 1,514 bytes.
pub const PAYLOAD_BYTES: usize = 1472;
/// Bytes of the longest payload that a UDP datagram has.
pub const PAYLOAD_BYTES_MAX: usize = 65_507;

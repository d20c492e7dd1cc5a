//! Encoders and decoders of wire formats. This crate performs no input or output: callers own the sockets.
//!
//! [`resp`] is the stream protocol of Redis clients. [`ocsm`] and [`batch`] are datagram protocols. Each
//! module has the formats of both sides: the server's, and the client's, which also lets tests act as
//! clients.
#![forbid(unsafe_code)]

pub mod batch;
mod bytes;
pub mod ocsm;
pub mod resp;
mod segment_run;

pub use segment_run::segment_run;

/// Bytes of payload of a UDP datagram in an Ethernet frame of 1,514 bytes.
pub const PAYLOAD_BYTES: usize = 1472;
/// Bytes of the longest payload of a UDP datagram.
pub const PAYLOAD_BYTES_MAX: usize = 65_507;

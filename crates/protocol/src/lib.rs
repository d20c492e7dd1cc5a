//! Wire formats, without any input or output: bytes go in and come out of them, sockets are somebody else's.
//!
//! [`resp`] is what Redis clients speak. Both sides of it are here: what a server needs, and what a client
//! needs, which is how the server is tested.
#![forbid(unsafe_code)]

pub mod resp;

//! Hostile bytes for every parser: random ones, what it looks for in any order, and messages that the crate
//! itself wrote with a few changes. Now and then one without any, which has to be accepted.
//!
//! `HONEYCOMB_FUZZ_BYTES` says how many bytes each parser gets, `HONEYCOMB_SEED` which.
#![allow(missing_docs)]

mod answers;
mod datagrams;
mod feed;
mod packets;
mod requests;

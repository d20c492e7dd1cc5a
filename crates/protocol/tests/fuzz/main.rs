//! Fuzz tests of every parser with random bytes, tokens of the format in random order, and encoded messages
//! with a few changes. Some inputs are unchanged, and the parser must accept them.
//!
//! `HONEYCOMB_FUZZ_BYTES` sets the number of bytes for each parser, `HONEYCOMB_SEED` the seed of the random
//! numbers.
#![allow(missing_docs)]

mod datagrams;
mod feed;
mod packets;
mod replies;
mod requests;

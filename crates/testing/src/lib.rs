//! What the tests and examples of several crates share. Product crates depend on it for development only.
//!
//! - [`conformance`] is the suite that every backend of the accelerator must pass.
//! - [`histories`] runs concurrent histories of reads in flight and checks that each answer is linearizable.
//! - [`index`] makes forests, keys and values, and models a tree by a sorted map.
//! - [`nodes`] makes memories and nodes without a tree.
//! - [`Random`], [`seed`], [`seed_or`] and [`soak`] make random tests repeatable.
#![forbid(unsafe_code)]

pub mod conformance;
pub mod histories;
pub mod index;
pub mod nodes;
mod random;
mod seeds;

pub use random::Random;
pub use seeds::{seed, seed_or, soak};

//! The rules of the house that no other tool checks.
//!
//! Each module is one rule: a function from the [`Repository`] to the [`Violation`]s it finds, tested on a
//! bad sample beside it. `tests/repository.rs` holds this repository to all of them.

pub mod atomics;
pub mod cycles;
pub mod docs;
pub mod floors;
mod imports;
pub mod lengths;
pub mod manifests;
pub mod modules;
mod repository;
pub mod rooms;
pub mod safety;
mod tokens;
pub mod words;

pub use repository::{Repository, Source, Violation};

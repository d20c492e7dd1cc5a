//! Checks the rules of this repository that no other tool checks.
//!
//! Each module is one rule: a function that takes the [`Repository`] and returns the [`Violation`]s. Its unit
//! tests apply the rule to bad samples; `tests/repository.rs` applies all rules to this repository.

pub mod atomics;
pub mod cycles;
pub mod docs;
pub mod import_style;
mod imports;
pub mod layers;
pub mod lengths;
pub mod manifests;
pub mod modules;
mod repository;
pub mod rooms;
pub mod safety;
mod tokens;
pub mod words;

pub use repository::{Repository, Source, Violation};

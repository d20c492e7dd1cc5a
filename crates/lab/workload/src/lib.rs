//! Workloads of all measurements: pairs generated from their index, named mixes of operations, and
//! distributions of the chosen pairs.

mod chooser;
mod keys;
pub mod names;
mod workload;

pub use keys::{BYTES, Sizes, mix};
pub use workload::{Distribution, Mix, Operation, Stream, Workload, seed};

/// An error of any type.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

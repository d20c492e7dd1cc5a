//! Workloads: pairs that are made from their index, mixes of operations by name, and which pairs they choose.
//! The same for everything that is measured.

mod chooser;
mod keys;
pub mod names;
mod workload;

pub use keys::{BYTES, Sizes, mix};
pub use workload::{Distribution, Mix, Operation, Stream, Workload, seed};

/// Why something could not be done.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

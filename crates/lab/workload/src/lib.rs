//! Workloads of all measurements: pairs generated from their index, named mixes of operations, and
//! distributions of the chosen pairs.

mod chooser;
mod key_kind;
mod keys;
pub mod names;
mod workload;

pub use key_kind::KeyKind;
pub use keys::{BYTES, Sizes, mix};
pub use workload::{Distribution, Mix, Operation, Stream, Workload, seed};

/// An error of any type.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

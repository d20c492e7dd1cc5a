//! Honeycomb's ordered index: B+trees of fixed-size nodes, with wait-free readers that read at one version.
//!
//! - `node` defines the layout of a node. It reads, searches and builds the bytes of one node.
//! - `read` finds keys and scans ranges at one version, without locks. Start at [`Forest::reader`].
//! - `write` locks, changes and publishes nodes. Start at [`Forest::write`].
//! - `verify` checks every invariant of a forest while no other thread uses it.
//!
//! A module imports only from its own folder and from the folders listed before it. `docs/design/node.md`
//! describes the layout of a node, `docs/design/versions.md` the versions, and `docs/design/structure.md`
//! splits and merges.
#![forbid(unsafe_code)]

mod counters;
mod error;
mod forest;
mod journal;
mod node;
mod read;
mod verify;
mod write;

pub use honeycomb_memory::Version;

pub use crate::counters::Statistics;
pub use crate::error::Error;
pub use crate::forest::{Config, Forest, Root};
pub use crate::journal::Journal;
pub use crate::node::shape::Shape;
pub use crate::read::access_stats::{AccessCounts, AccessStats, BlockCounts, LevelCounts};
pub use crate::read::descent::{Descent, LastStart, Start, descend_together};
pub use crate::read::pair::Pair;
pub use crate::read::reader::{LookupResult, Reader};
pub use crate::read::run::{Emit, PairRun, WrittenPairs};
pub use crate::read::scan::Scan;
pub use crate::read::value_run::ValueRun;
pub use crate::verify::{Verified, Violation};
pub use crate::write::batch::BATCH_OPERATIONS_MAX;
pub use crate::write::compact::Compacted;
pub use crate::write::loader::{Loader, LoaderPart};
pub use crate::write::operation::{
    BatchEntry, BatchOperation, BatchOutcome, Effect, Existing, Operation, Outcome, TreeRange, ValueFunction,
    effect_of,
};

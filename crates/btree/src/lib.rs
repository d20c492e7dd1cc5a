//! Honeycomb's ordered index: B+trees of fixed-size nodes that readers walk wait-free, at one version.
//!
//! - `node` defines the layout of a node: it reads, searches and builds the bytes of one node.
//! - `read` finds keys and scans ranges without locks, at one version. It starts at [`Forest::reader`].
//! - `write` locks, changes and publishes nodes. It starts at [`Forest::write`].
//! - `verify` checks every invariant of a forest that nobody else uses.
//!
//! A module imports only its own room and those before it. `docs/design/node.md` describes the layout of a
//! node, `docs/design/versions.md` the versions, and `docs/design/structure.md` splits and merges.
#![forbid(unsafe_code)]

mod counters;
mod error;
mod forest;
mod node;
mod read;
mod verify;
mod write;

pub use honeycomb_memory::Version;

pub use crate::{
    counters::Statistics,
    error::Error,
    forest::{Config, Forest, Root},
    node::shape::Shape,
    read::{
        descent::{Descent, descend_together},
        pair::Pair,
        reader::{LookupResult, Reader},
        run::{Emit, Run, Written},
        scan::Scan,
        touched::{BlockCounts, LevelCounts, Touched, TouchedCounts},
    },
    verify::{Verified, Violation},
    write::{
        batch::BATCH_OPERATIONS_MAX,
        compact::Compacted,
        loader::Loader,
        operation::{BatchEntry, BatchOperation, BatchOutcome, Operation, Outcome, TreeRange},
    },
};

//! Honeycomb's ordered index: B+trees of fixed-size nodes that readers walk wait-free, at one version.
//!
//! The layout of a node is in `docs/design/node.md`, versions in `docs/design/versions.md`, splits and
//! merges in `docs/design/structure.md`. Reading starts at [`Forest::reader`], writing at [`Forest::write`].
#![forbid(unsafe_code)]

mod versions;

#[cfg(not(loom))]
mod batch;
#[cfg(not(loom))]
mod builder;
#[cfg(not(loom))]
mod candidates;
#[cfg(not(loom))]
mod compact;
#[cfg(not(loom))]
mod counters;
#[cfg(not(loom))]
mod cursor;
#[cfg(not(loom))]
mod descent;
#[cfg(not(loom))]
mod divide;
#[cfg(not(loom))]
mod each;
#[cfg(not(loom))]
mod error;
#[cfg(not(loom))]
mod fences;
#[cfg(not(loom))]
mod forest;
#[cfg(not(loom))]
mod get;
#[cfg(not(loom))]
mod in_node;
#[cfg(not(loom))]
mod item;
#[cfg(not(loom))]
mod key;
#[cfg(not(loom))]
mod live;
#[cfg(not(loom))]
mod loader;
#[cfg(not(loom))]
mod log;
#[cfg(not(loom))]
mod operation;
#[cfg(not(loom))]
mod patch;
#[cfg(not(loom))]
mod piece;
#[cfg(not(loom))]
mod range;
#[cfg(not(loom))]
mod reader;
#[cfg(not(loom))]
mod restructure;
#[cfg(not(loom))]
mod run;
#[cfg(not(loom))]
mod sample;
#[cfg(not(loom))]
mod scan;
#[cfg(not(loom))]
mod search;
#[cfg(not(loom))]
mod segments;
#[cfg(not(loom))]
mod shape;
#[cfg(not(loom))]
mod stages;
#[cfg(not(loom))]
mod tag_directory;
#[cfg(not(loom))]
mod touched;
#[cfg(not(loom))]
mod transaction;
#[cfg(not(loom))]
mod verify;
#[cfg(not(loom))]
mod view;
#[cfg(all(test, not(loom)))]
mod wait_free_test;
#[cfg(not(loom))]
mod write;

#[cfg(not(loom))]
pub use crate::{
    batch::BATCH_OPERATIONS_MAX,
    compact::Compacted,
    counters::Statistics,
    descent::{Descent, descend_together},
    error::Error,
    forest::{Config, Forest, Root, Version},
    loader::Loader,
    operation::{BatchEntry, BatchOperation, BatchOutcome, Operation, Outcome, TreeRange},
    reader::{Found, Reader},
    run::{Emit, Run, Written},
    scan::{Pair, Scan},
    shape::Shape,
    touched::{BlockCounts, LevelCounts, Touched, TouchedCounts},
    verify::{Verified, Violation},
};

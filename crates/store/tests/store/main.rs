//! Tests of the public interface of the store.

mod batches;
mod common;
mod compaction;
mod exhaustion;
mod functions;
mod images;
mod iterators;
mod operations;
mod push_down;
mod read_limits;
mod samples;
mod scans;
mod snapshots;
mod tables;
mod unordered;
mod value_parts;
mod waits;

use std::sync::Arc;

use honeycomb_store::{Backend, Config};

use common::*;

/// The accelerator that executes the reads of these tests.
fn accelerator() -> Arc<dyn Backend> {
    Config::default().accelerator
}

//! The store as its users see it.

mod batches;
mod common;
mod compaction;
mod exhaustion;
mod images;
mod iterators;
mod operations;
mod parts;
mod room;
mod samples;
mod scans;
mod snapshots;
mod tables;

use std::sync::Arc;

use common::*;
use honeycomb_store::{Backend, Config};

/// What the reads of these tests run on.
fn accelerator() -> Arc<dyn Backend> {
    Config::default().accelerator
}

//! A store on a device: its users see the same.
//!
//! These are tests of the store, run once more on another accelerator.

#[path = "../store/common.rs"]
mod common;
#[path = "../store/iterators.rs"]
mod iterators;
#[path = "../store/scans.rs"]
mod scans;
#[path = "../store/snapshots.rs"]
mod snapshots;
#[path = "../store/tables.rs"]
mod tables;

use std::sync::Arc;

use common::*;
use honeycomb_accelerator::DeviceBackend;
use honeycomb_store::Backend;
use honeycomb_testing::DeviceModel;

/// What the reads of these tests run on.
fn accelerator() -> Arc<dyn Backend> {
    Arc::new(DeviceBackend::<DeviceModel>::default())
}

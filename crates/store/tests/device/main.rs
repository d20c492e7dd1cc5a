//! The public interface of a store on a device.
//!
//! Runs tests of the store again with another accelerator.

#[path = "../store/common.rs"]
mod common;
#[path = "../store/iterators.rs"]
mod iterators;
#[path = "../store/push_down.rs"]
mod push_down;
#[path = "../store/scans.rs"]
mod scans;
#[path = "../store/snapshots.rs"]
mod snapshots;
#[path = "../store/tables.rs"]
mod tables;

use std::sync::Arc;

use honeycomb_accelerator::DeviceBackend;
use honeycomb_store::Backend;
use honeycomb_testing::DeviceModel;

use common::*;

/// The accelerator that executes the reads of these tests.
fn accelerator() -> Arc<dyn Backend> {
    Arc::new(DeviceBackend::<DeviceModel>::default())
}

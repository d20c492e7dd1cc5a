//! Durability: crashes at every call of the disk, faults of the disk, recovery, checkpoints.

mod archives;
mod bodies;
mod changes;
mod checkpoints;
mod crashes;
mod faults;
mod files;
mod full_disk;
mod history;
mod long_versions;
mod old_values;
mod rebuild;
mod workload;

use std::thread;
use std::time::Duration;

use honeycomb_testing::{ObservedDisk, SimulatedDisk};

/// Returns a disk on which it takes a while to create files whose names end with `slow`.
fn slow_disk(disk: &SimulatedDisk, slow: &'static str) -> ObservedDisk {
    ObservedDisk::before_creations(disk, move |name| {
        if name.ends_with(slow) {
            thread::sleep(Duration::from_millis(300));
        }
    })
}

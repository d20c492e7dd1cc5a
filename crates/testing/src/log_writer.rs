//! Writers of logs without a store.

use std::sync::Arc;

use honeycomb_log::{Directory, LogError, LogWriter};

use crate::simulated_disk::SimulatedDisk;

/// Starts a log file of `file_bytes` bytes after the valid records of a disk, or in an empty directory.
///
/// # Panics
/// If the files of the disk are damaged, or the disk fails.
#[must_use]
pub fn log_writer(disk: &SimulatedDisk, file_bytes: u64) -> LogWriter {
    let directory = Directory::open(Arc::new(disk.clone())).expect("valid files");
    let replayed = directory.replay(|_, _| Ok::<(), LogError>(())).expect("valid records");
    directory.start_writer(replayed, file_bytes, 7).expect("room")
}

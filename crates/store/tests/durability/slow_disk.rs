//! A simulated disk that is slow.

use std::io;
use std::thread;
use std::time::Duration;

use honeycomb_log::{Storage, StorageFile};
use honeycomb_testing::SimulatedDisk;

/// A disk on which it takes a while to create some files.
pub(crate) struct SlowDisk {
    pub(crate) disk: SimulatedDisk,
    /// The end of their names.
    pub(crate) slow: &'static str,
}

impl Storage for SlowDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Box<dyn StorageFile>> {
        if name.ends_with(self.slow) {
            thread::sleep(Duration::from_millis(300));
        }
        self.disk.create(name, bytes)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        self.disk.open(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.disk.sync_directory()
    }
}

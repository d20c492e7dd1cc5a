//! A simulated disk that tells the test about each new file.

use std::io;
use std::thread;
use std::time::Duration;

use honeycomb_log::{Storage, StorageFile};
use honeycomb_testing::SimulatedDisk;

/// A disk that calls a function with the name of a file before it creates this file.
pub(crate) struct ObservedDisk<F> {
    pub(crate) disk: SimulatedDisk,
    pub(crate) creates: F,
}

/// Returns a disk on which it takes a while to create files whose names end with `slow`.
pub(crate) fn slow_disk(disk: &SimulatedDisk, slow: &'static str) -> impl Storage + use<> {
    let creates = move |name: &str| {
        if name.ends_with(slow) {
            thread::sleep(Duration::from_millis(300));
        }
    };
    ObservedDisk { disk: disk.clone(), creates }
}

impl<F: Fn(&str) + Send + Sync> Storage for ObservedDisk<F> {
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Box<dyn StorageFile>> {
        (self.creates)(name);
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

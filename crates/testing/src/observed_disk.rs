//! A simulated disk that calls a function of the test before some of its calls. The function can refuse them.

use std::io;
use std::sync::Arc;

use honeycomb_log::{Storage, StorageFile};

use crate::simulated_disk::SimulatedDisk;

/// A call of a disk that a test can delay or refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskCall<'a> {
    /// The creation of the file with this name.
    Create(&'a str),
    /// A durable write, or a sync of a file.
    MakeDurable,
}

type Before = Arc<dyn Fn(DiskCall<'_>) -> io::Result<()> + Send + Sync>;

/// A handle to a simulated disk.
pub struct ObservedDisk {
    disk: SimulatedDisk,
    before: Before,
}

struct ObservedFile {
    file: Box<dyn StorageFile>,
    before: Before,
}

impl ObservedDisk {
    /// Returns a handle that calls `before` before each [`DiskCall`].
    pub fn new(disk: &SimulatedDisk, before: impl Fn(DiskCall<'_>) + Send + Sync + 'static) -> Self {
        Self::refusing(disk, move |call| {
            before(call);
            Ok(())
        })
    }

    /// Returns a handle that calls `before` before each [`DiskCall`], which fails with its error.
    pub fn refusing(
        disk: &SimulatedDisk,
        before: impl Fn(DiskCall<'_>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self { disk: disk.clone(), before: Arc::new(before) }
    }

    /// Returns a handle that calls `before` with the name of each file before its creation.
    pub fn before_creations(disk: &SimulatedDisk, before: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self::new(disk, move |call| {
            if let DiskCall::Create(name) = call {
                before(name);
            }
        })
    }

    fn observed(&self, file: Box<dyn StorageFile>) -> Box<dyn StorageFile> {
        Box::new(ObservedFile { file, before: self.before.clone() })
    }
}

impl Storage for ObservedDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn create(&self, name: &str, bytes: u64) -> io::Result<Box<dyn StorageFile>> {
        (self.before)(DiskCall::Create(name))?;
        Ok(self.observed(self.disk.create(name, bytes)?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn StorageFile>> {
        Ok(self.observed(self.disk.open(name)?))
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

impl StorageFile for ObservedFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, bytes)
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(offset, bytes)
    }

    fn write_durable_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        (self.before)(DiskCall::MakeDurable)?;
        self.file.write_durable_at(offset, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        (self.before)(DiskCall::MakeDurable)?;
        self.file.sync()
    }
}

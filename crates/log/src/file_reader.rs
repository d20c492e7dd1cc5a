//! A file of a store as a stream of bytes to read.

use std::io::{self, Read};

use crate::storage::StorageFile;

/// Reads a file from its beginning on.
pub struct FileReader {
    file: Box<dyn StorageFile>,
    offset: u64,
}

impl FileReader {
    pub(crate) fn new(file: Box<dyn StorageFile>) -> Self {
        Self { file, offset: 0 }
    }
}

impl Read for FileReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(self.offset, bytes)?;
        self.offset += read as u64;
        Ok(read)
    }
}

//! A file of a store as a stream of bytes.

use std::io::{self, Read, Write};

use crate::storage::StorageFile;

/// Reads or writes a file from its beginning on.
pub struct FileStream {
    file: Box<dyn StorageFile>,
    offset: u64,
}

impl FileStream {
    pub(crate) fn new(file: Box<dyn StorageFile>) -> Self {
        Self { file, offset: 0 }
    }

    /// Makes all earlier writes durable.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}

impl Read for FileStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(self.offset, bytes)?;
        self.offset += read as u64;
        Ok(read)
    }
}

impl Write for FileStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(self.offset, bytes)?;
        self.offset += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! A file of a store as a stream of bytes that is written in large blocks.
//!
//! The storage writes whole blocks without a copy in the cache of the operating system. A file in that cache
//! is written at once when it is synchronized, and threads on the same processor wait for milliseconds.

use std::io::{self, Write};

use honeycomb_layout::WAL_BLOCK_BYTES;

use crate::storage::StorageFile;

/// Bytes of a write, except the last one.
const CHUNK_BYTES: usize = 1 << 20;
const _: () = assert!(CHUNK_BYTES.is_multiple_of(WAL_BLOCK_BYTES));

/// Writes a file from its beginning on.
pub struct FileWriter {
    file: Box<dyn StorageFile>,
    /// The offset of the bytes that were not written: a multiple of `CHUNK_BYTES`.
    offset: u64,
    /// The bytes from this offset on: less than `CHUNK_BYTES` between two calls.
    bytes: Vec<u8>,
}

impl FileWriter {
    pub(crate) fn new(file: Box<dyn StorageFile>) -> Self {
        Self { file, offset: 0, bytes: Vec::with_capacity(CHUNK_BYTES) }
    }

    /// Makes all bytes durable that were flushed.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK_BYTES - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..taken]);
        if self.bytes.len() == CHUNK_BYTES {
            self.file.write_at(self.offset, &self.bytes)?;
            self.offset += CHUNK_BYTES as u64;
            self.bytes.clear();
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_at(self.offset, &self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// A file in memory.
    #[derive(Clone, Default)]
    struct NotedFile(Arc<Mutex<Noted>>);

    #[derive(Default)]
    struct Noted {
        content: Vec<u8>,
        /// The offset and the length of each write.
        writes: Vec<(u64, usize)>,
    }

    impl StorageFile for NotedFile {
        fn length(&self) -> io::Result<u64> {
            Ok(self.0.lock().unwrap().content.len() as u64)
        }

        fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            let Noted { content, writes } = &mut *self.0.lock().unwrap();
            let start = offset as usize;
            content.resize(content.len().max(start + bytes.len()), 0);
            content[start..][..bytes.len()].copy_from_slice(bytes);
            writes.push((offset, bytes.len()));
            Ok(())
        }

        fn write_durable_at(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn all_writes_but_the_last_one_are_whole_chunks() {
        let noted = NotedFile::default();
        let mut writer = FileWriter::new(Box::new(noted.clone()));
        let bytes: Vec<u8> = (0..3 * CHUNK_BYTES + 5).map(|index| (index % 251) as u8).collect();
        for part in
            [0..7, 7..7, 7..CHUNK_BYTES, CHUNK_BYTES..3 * CHUNK_BYTES - 1, 3 * CHUNK_BYTES - 1..bytes.len()]
        {
            writer.write_all(&bytes[part]).unwrap();
        }
        writer.flush().unwrap();
        let Noted { content, writes } = &*noted.0.lock().unwrap();
        assert_eq!(*content, bytes);
        let chunk = |number: usize| ((number * CHUNK_BYTES) as u64, CHUNK_BYTES);
        assert_eq!(*writes, [chunk(0), chunk(1), chunk(2), (3 * CHUNK_BYTES as u64, 5)]);
    }
}

//! A reader of the log while it is written.
//!
//! The caller states the version of the last record that is in the files, so every record up to it must be
//! there. If one is not, its file was recycled: the bytes of a file that is used again are not valid records
//! of its former number.

use std::ops::Range;
use std::sync::Arc;

use honeycomb_layout::wal_record;

use crate::error::LogError;
use crate::file_header::{FileHeader, RECORDS_OFFSET};
use crate::names::log_file;
use crate::record::{Record, Seed, bytes_of, decode_at, record_bytes};
use crate::storage::{Storage, StorageFile, read_up_to};

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 256 << 10;

/// Reads records in order, from a version on.
pub struct LogReader {
    storage: Arc<dyn Storage>,
    file: Box<dyn StorageFile>,
    number: u64,
    seed: Seed,
    /// The offset of the next record, and the bytes of the file from there on.
    offset: u64,
    bytes: Vec<u8>,
    /// The part of `bytes` that was used.
    used: usize,
    /// The version of the last record, and its changes in `bytes` while they are there.
    version: u64,
    changes: Range<usize>,
}

/// What the buffer has at its beginning.
enum Found<T> {
    /// The next record.
    Record(T),
    /// A record that was not requested.
    Earlier,
    /// No whole record.
    Nothing,
}

impl LogReader {
    /// Opens the log file with this number, which must have the record after `version` if there is one.
    /// Returns `None` if it does not, because the file was recycled or begins too late.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub fn open(storage: Arc<dyn Storage>, number: u64, version: u64) -> Result<Option<Self>, LogError> {
        let Some((file, header)) = open(&*storage, number)? else { return Ok(None) };
        if header.first_version > version + 1 {
            return Ok(None);
        }
        let (offset, bytes, used, seed) = (RECORDS_OFFSET, Vec::new(), 0, Seed::of(number, header.salt));
        Ok(Some(Self { storage, file, number, seed, offset, bytes, used, version, changes: 0..0 }))
    }

    /// Passes the next record after the version of [`LogReader::open`] to `use_record`. `last` is the version
    /// of the last record in the files, and greater than that of the record before. Returns `None` if the
    /// file was recycled.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub fn next<T>(
        &mut self,
        last: u64,
        mut use_record: impl FnMut(Record<'_>) -> T,
    ) -> Result<Option<T>, LogError> {
        // The end of the buffer may be older than the record.
        let mut is_fresh = false;
        loop {
            match self.next_in_buffer(last, &mut use_record) {
                Found::Record(used) => return Ok(Some(used)),
                Found::Earlier => is_fresh = false,
                Found::Nothing if !is_fresh => {
                    self.load()?;
                    is_fresh = true;
                }
                Found::Nothing if self.open_next()? => is_fresh = false,
                Found::Nothing => return Ok(None),
            }
        }
    }

    /// Returns the changes of the last record again if it has this version and is still in memory.
    #[must_use]
    pub fn changes_again(&self, version: u64) -> Option<&[u8]> {
        let is_it = self.version == version && !self.changes.is_empty();
        is_it.then(|| &self.bytes[self.changes.clone()])
    }

    /// Returns the bytes of memory in use.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.capacity()
    }

    fn next_in_buffer<T>(&mut self, last: u64, use_record: impl FnOnce(Record<'_>) -> T) -> Found<T> {
        let found = decode_at(&self.bytes[self.used..], self.seed, self.offset, 0);
        let Some(record) = found.filter(|record| record.version <= last) else { return Found::Nothing };
        let (bytes, version) = (record_bytes(record.changes.len()), record.version);
        let start = self.used + wal_record::SIZE;
        let changes = start..start + record.changes.len();
        let used = (version > self.version).then(|| use_record(record));
        self.offset += bytes as u64;
        self.used = (self.used + bytes).min(self.bytes.len());
        match used {
            Some(used) => {
                (self.version, self.changes) = (version, changes);
                Found::Record(used)
            }
            None => Found::Earlier,
        }
    }

    /// Reads the next record and some bytes after it.
    fn load(&mut self) -> Result<(), LogError> {
        let length = self.file.length().map_err(LogError::io("read", &log_file(self.number)))?;
        let left = length.saturating_sub(self.offset);
        self.read(left.min(CHUNK_BYTES as u64))?;
        let header = self.bytes.get(..wal_record::SIZE);
        match header.and_then(|header| bytes_of(header, self.seed)) {
            // A longer one is not a record.
            Some(bytes) if bytes > CHUNK_BYTES as u64 && bytes <= left => self.read(bytes),
            _ => Ok(()),
        }
    }

    /// Reads bytes from the next record on. If that fails, the buffer is empty, so the next call reads again.
    fn read(&mut self, bytes: u64) -> Result<(), LogError> {
        self.clear();
        self.bytes.resize(bytes as usize, 0);
        let read = self.file.read_at(self.offset, &mut self.bytes);
        self.bytes.truncate(*read.as_ref().unwrap_or(&0));
        read.map(drop).map_err(LogError::io("read", &log_file(self.number)))
    }

    /// Continues with the next file. Returns false if this one does not end here.
    fn open_next(&mut self) -> Result<bool, LogError> {
        let Some((file, header)) = open(&*self.storage, self.number + 1)? else { return Ok(false) };
        if header.previous_end != self.offset {
            return Ok(false);
        }
        (self.file, self.number, self.offset) = (file, self.number + 1, RECORDS_OFFSET);
        self.seed = Seed::of(self.number, header.salt);
        self.clear();
        Ok(true)
    }

    fn clear(&mut self) {
        self.bytes.clear();
        (self.used, self.changes) = (0, 0..0);
    }
}

/// An open log file and its header.
type OpenFile = (Box<dyn StorageFile>, FileHeader);

/// Opens a log file; `None` if there is none with this number.
fn open(storage: &dyn Storage, number: u64) -> Result<Option<OpenFile>, LogError> {
    let name = log_file(number);
    let file = match storage.open(&name) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LogError::io("open", &name)(error)),
    };
    let bytes = read_up_to(&*file, RECORDS_OFFSET).map_err(LogError::io("read", &name))?;
    Ok(FileHeader::decode(&bytes, &name, number).ok().map(|header| (file, header)))
}

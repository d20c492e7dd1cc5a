//! The writer of the log: groups of records become one write each.
//!
//! The bytes of a log file are written from left to right, in whole blocks. A group begins where the last one
//! ended, so its first block repeats the end of the last group. That is safe: the sectors that were durable
//! are written with the same bytes, and a disk writes a sector as a whole.
//!
//! A file is durable up to its end before the next one gets its header, and the next one has its name before
//! it gets records. So only the last file can have a torn tail.

use std::io;
use std::sync::Arc;

use honeycomb_layout::WAL_BLOCK_BYTES;

use crate::directory::remove;
use crate::error::LogError;
use crate::file_header::{FileHeader, RECORDS_OFFSET, Salt};
use crate::names::{NEW_LOG_FILE, NEW_SPARE_FILE, is_spare, log_file, spare_file};
use crate::record::{Seed, encode, record_bytes};
use crate::storage::{Storage, StorageFile};

/// Most spare files. A checkpoint may end the use of more log files; the others are removed.
const SPARES_MAX: usize = 16;

/// Whether a group is durable when its write returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It is durable.
    Now,
    /// It is durable after the next [`LogWriter::sync`].
    Later,
}

/// Appends records to log files.
pub struct LogWriter {
    storage: Arc<dyn Storage>,
    /// From this number the salts of new files are derived.
    secret: u64,
    file_bytes: u64,
    file: CurrentFile,
    closed: Vec<ClosedFile>,
    /// The names of the files of the right size that wait for their next use.
    spares: Vec<String>,
    last_version: u64,
    written_bytes: u64,
}

/// The file that gets the records.
struct CurrentFile {
    file: Box<dyn StorageFile>,
    number: u64,
    seed: Seed,
    bytes: u64,
    /// The blocks that are not written yet, and before them the written part of their first block.
    buffer: Vec<u8>,
    /// The offset of the buffer in the file, at the start of a block.
    start: u64,
    /// The end of the written records, and of the durable ones.
    written_end: u64,
    durable_end: u64,
}

/// A log file before the current one. Its records are durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedFile {
    /// Its number.
    pub number: u64,
    /// The bytes of the whole file.
    pub bytes: u64,
    /// The end of its records.
    pub end: u64,
    /// The version of its last record.
    pub last_version: u64,
}

/// A spare file that is missing.
pub struct MissingSpare {
    storage: Arc<dyn Storage>,
    bytes: u64,
}

/// A spare file that has its bytes, but not its name.
pub struct CreatedSpare(());

impl MissingSpare {
    /// Creates the file. This writes all its bytes, so the caller should not hold a lock on the writer.
    ///
    /// # Errors
    /// [`LogError::Full`], after which the call can be repeated; [`LogError::Io`].
    pub fn create(&self) -> Result<CreatedSpare, LogError> {
        create(&*self.storage, NEW_SPARE_FILE, self.bytes).map(|_file| CreatedSpare(()))
    }
}

impl LogWriter {
    /// Starts the log file with this number, after those of `closed`. The last version is that of the last
    /// record, or of the checkpoint, and `previous_end` the end of the records of the file before. If the
    /// disk has no room for the file, the first record needs it.
    pub(crate) fn start(
        storage: Arc<dyn Storage>,
        (file_bytes, secret): (u64, u64),
        mut closed: Vec<ClosedFile>,
        (number, last_version, previous_end): (u64, u64, u64),
    ) -> Result<Self, LogError> {
        let file_bytes = file_bytes.next_multiple_of(WAL_BLOCK_BYTES as u64).max(2 * RECORDS_OFFSET);
        let (salt, first_version) = (salt(secret, number), last_version + 1);
        let header = FileHeader { salt, number, first_version, previous_end, file_bytes };
        let mut spares = spares(&*storage, file_bytes)?;
        let file = match CurrentFile::create(&*storage, spares.pop(), header) {
            Err(error) if error.is_full() => match closed.pop() {
                Some(last) => CurrentFile::full(&*storage, &last)?,
                None => return Err(error),
            },
            created => created?,
        };
        Ok(Self { storage, secret, file_bytes, file, closed, spares, last_version, written_bytes: 0 })
    }

    /// Adds the record of a version, greater than that of the record before it, to the group that the next
    /// [`LogWriter::flush`] writes. It has at least one change. If it does not fit into the file, the earlier
    /// records of the group become durable, and the group continues in the next file.
    ///
    /// # Errors
    /// [`LogError::Full`]: the record is not in the log, and the call can be repeated when the disk has room;
    /// all earlier records are durable. Any other error is final: nothing is known about records that were
    /// not durable before.
    pub fn append(&mut self, version: u64, changes: &[u8]) -> Result<(), LogError> {
        let bytes = record_bytes(changes.len()) as u64;
        if self.file.end() + bytes > self.file.bytes {
            self.next_file(bytes)?;
        }
        self.file.append(version, changes);
        self.last_version = version;
        self.written_bytes += bytes;
        Ok(())
    }

    /// Writes the records that were added since the last call, as one group.
    ///
    /// # Errors
    /// [`LogError::Io`], which is final.
    pub fn flush(&mut self, durability: Durability) -> Result<(), LogError> {
        self.file.flush(durability)
    }

    /// Whether the current file has room for a record, perhaps a short one.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.file.end() < self.file.bytes
    }

    /// Returns what is needed to create a file for the time when the current one is full, if there is none.
    /// One that is created early shows that the disk is full while the current file still has room for the
    /// records of writes in progress. Only one thread at a time creates one.
    #[must_use]
    pub fn missing_spare(&self) -> Option<MissingSpare> {
        let (storage, bytes) = (self.storage.clone(), self.file_bytes);
        self.spares.is_empty().then_some(MissingSpare { storage, bytes })
    }

    /// Whether less than half of the current file is left for records.
    #[must_use]
    pub fn is_half_full(&self) -> bool {
        self.file.end() * 2 > self.file.bytes
    }

    /// Adds a spare file.
    ///
    /// # Errors
    /// [`LogError::Io`].
    pub fn add_spare(&mut self, _created: CreatedSpare) -> Result<(), LogError> {
        // Files that were used before have other numbers.
        let name = spare_file(0);
        let renamed = self.storage.rename(NEW_SPARE_FILE, &name);
        renamed.map_err(LogError::io("rename", NEW_SPARE_FILE))?;
        self.spares.push(name);
        Ok(())
    }

    /// Makes all written records durable.
    ///
    /// # Errors
    /// [`LogError::Io`], which is final.
    pub fn sync(&mut self) -> Result<(), LogError> {
        self.file.sync()
    }

    /// Returns the version of the last record.
    #[must_use]
    pub fn last_version(&self) -> u64 {
        self.last_version
    }

    /// Returns the bytes of all records that this writer has written.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Returns the number of log files.
    #[must_use]
    pub fn files(&self) -> usize {
        self.closed.len() + 1
    }

    /// Returns the files before the current one, in order.
    #[must_use]
    pub fn closed_files(&self) -> &[ClosedFile] {
        &self.closed
    }

    /// Returns the files of the store.
    #[must_use]
    pub fn storage(&self) -> Arc<dyn Storage> {
        self.storage.clone()
    }

    /// Returns the number of the current file.
    #[must_use]
    pub fn current_file(&self) -> u64 {
        self.file.number
    }

    /// Returns the number of the first file that may have records after a version.
    #[must_use]
    pub fn first_file_after(&self, version: u64) -> u64 {
        let needed = self.closed.iter().find(|file| file.last_version > version);
        needed.map_or(self.file.number, |file| file.number)
    }

    /// Removes the files before one that the manifest names, or keeps them for their next use.
    ///
    /// # Errors
    /// [`LogError::Io`]. The files that are left are removed by the next call or the next recovery.
    pub fn recycle(&mut self, first_file: u64) -> Result<(), LogError> {
        while let Some(file) = self.closed.first().filter(|file| file.number < first_file) {
            let name = log_file(file.number);
            // Only a file of the right size is of use.
            if file.bytes == self.file_bytes && self.spares.len() < SPARES_MAX {
                let spare = spare_file(file.number);
                match self.storage.rename(&name, &spare) {
                    Ok(()) => self.spares.push(spare),
                    // An earlier attempt that failed has renamed it nevertheless. The next start uses it.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(LogError::io("rename", &name)(error)),
                }
            } else {
                remove(&*self.storage, &name)?;
            }
            self.closed.remove(0);
        }
        Ok(())
    }

    fn next_file(&mut self, record_bytes: u64) -> Result<(), LogError> {
        self.file.flush(Durability::Later)?;
        self.file.sync()?;
        let bytes = self.file_bytes.max(RECORDS_OFFSET + record_bytes);
        let bytes = bytes.next_multiple_of(WAL_BLOCK_BYTES as u64);
        let number = self.file.number + 1;
        let header = FileHeader {
            salt: salt(self.secret, number),
            number,
            first_version: self.last_version + 1,
            previous_end: self.file.end(),
            file_bytes: bytes,
        };
        let spare = if bytes == self.file_bytes { self.spares.last().cloned() } else { None };
        let has_spare = spare.is_some();
        let next = CurrentFile::create(&*self.storage, spare, header)?;
        if has_spare {
            self.spares.pop();
        }
        let file = std::mem::replace(&mut self.file, next);
        let (number, bytes, end) = (file.number, file.bytes, file.end());
        self.closed.push(ClosedFile { number, bytes, end, last_version: self.last_version });
        Ok(())
    }
}

impl CurrentFile {
    /// Creates a log file, from a spare file if there is one.
    fn create(storage: &dyn Storage, spare: Option<String>, header: FileHeader) -> Result<Self, LogError> {
        let name = log_file(header.number);
        let (from, mut file) = match spare {
            Some(spare) => {
                let file = storage.open(&spare).map_err(LogError::io("open", &spare))?;
                (spare, file)
            }
            None => (NEW_LOG_FILE.to_owned(), create(storage, NEW_LOG_FILE, header.file_bytes)?),
        };
        file.write_at(0, &header.encode()).map_err(LogError::io("write", &from))?;
        file.sync().map_err(LogError::io("sync", &from))?;
        storage.rename(&from, &name).map_err(LogError::io("rename", &from))?;
        storage.sync_directory().map_err(LogError::io("sync the directory of", &name))?;
        Ok(Self {
            file,
            number: header.number,
            seed: Seed::of(header.number, header.salt),
            bytes: header.file_bytes,
            buffer: Vec::new(),
            start: RECORDS_OFFSET,
            written_end: RECORDS_OFFSET,
            durable_end: RECORDS_OFFSET,
        })
    }

    /// Opens the last file, whose records are durable, as one without room for more. It gets no records, so
    /// its seed does not matter.
    fn full(storage: &dyn Storage, last: &ClosedFile) -> Result<Self, LogError> {
        let (name, number, end) = (log_file(last.number), last.number, last.end);
        Ok(Self {
            file: storage.open(&name).map_err(LogError::io("open", &name))?,
            number,
            seed: Seed::of(number, Salt::default()),
            bytes: end,
            buffer: Vec::new(),
            start: end,
            written_end: end,
            durable_end: end,
        })
    }

    /// The end of the last record.
    fn end(&self) -> u64 {
        self.start + self.buffer.len() as u64
    }

    fn append(&mut self, version: u64, changes: &[u8]) {
        encode(&mut self.buffer, self.seed, version, self.durable_end, changes);
    }

    /// Writes the buffer, padded with zeros, and keeps its last block if that is not full.
    fn flush(&mut self, durability: Durability) -> Result<(), LogError> {
        let end = self.end();
        if end == self.written_end {
            return if durability == Durability::Now { self.sync() } else { Ok(()) };
        }
        if durability == Durability::Now && self.durable_end < self.written_end {
            self.sync()?;
        }
        let length = self.buffer.len();
        self.buffer.resize(length.next_multiple_of(WAL_BLOCK_BYTES), 0);
        let written = match durability {
            Durability::Now => self.file.write_durable_at(self.start, &self.buffer),
            Durability::Later => self.file.write_at(self.start, &self.buffer),
        };
        written.map_err(LogError::io("write", &log_file(self.number)))?;
        let full = length - length % WAL_BLOCK_BYTES;
        self.buffer.truncate(length);
        self.buffer.drain(..full);
        self.start += full as u64;
        self.written_end = end;
        if durability == Durability::Now {
            self.durable_end = end;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), LogError> {
        if self.durable_end < self.written_end {
            self.file.sync().map_err(LogError::io("sync", &log_file(self.number)))?;
            self.durable_end = self.written_end;
        }
        Ok(())
    }
}

/// Derives the salt of a file. Nobody sees a salt, so a mix whose outputs look random is enough.
fn salt(secret: u64, number: u64) -> Salt {
    // The finalizer of splitmix64.
    let mix = |word: u64| {
        let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    };
    let first = mix(secret.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    [first, mix(first ^ secret.rotate_left(32))]
}

/// Returns the spare files of the right size, and removes the others.
fn spares(storage: &dyn Storage, bytes: u64) -> Result<Vec<String>, LogError> {
    let names = storage.list().map_err(LogError::io("list", "the directory"))?;
    let mut spares = Vec::new();
    for name in names.into_iter().filter(|name| is_spare(name)) {
        let length = storage.open(&name).and_then(|file| file.length());
        if length.map_err(LogError::io("open", &name))? == bytes {
            spares.push(name);
        } else {
            storage.remove(&name).map_err(LogError::io("remove", &name))?;
        }
    }
    Ok(spares)
}

fn create(storage: &dyn Storage, name: &str, bytes: u64) -> Result<Box<dyn StorageFile>, LogError> {
    storage.create(name, bytes).map_err(|error| {
        // A part of the file would occupy the room that the retry needs.
        let _ = storage.remove(name);
        LogError::room("create", name)(error)
    })
}

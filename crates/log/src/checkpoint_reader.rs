//! Reading of checkpoints. No content leaves before its checksum is checked.

use std::io::Read;

use crc32c::crc32c;
use honeycomb_layout as layout;
use honeycomb_layout::{wal_block, wal_checkpoint, wal_pair, wal_unordered};

use crate::bytes::{NUMBER_MAX, take, u32_at, u64_at};
use crate::checkpoint::{BLOCK_BYTES, CHECKPOINT_MAGIC, checksum};
use crate::error::LogError;
use crate::file_reader::FileReader;
use crate::names::checkpoint_file;
use crate::storage::Storage;

/// The largest content of a block that a reader accepts: one pair that exceeds [`BLOCK_BYTES`].
const CONTENT_BYTES_MAX: usize = BLOCK_BYTES + (17 << 20);

/// Offset of the name of an unordered table in its block.
const NAME_OFFSET: usize = 8 + wal_unordered::SIZE;

/// Reads a checkpoint from a file of a store, or an image from any reader.
pub struct CheckpointReader<R = FileReader> {
    source: R,
    name: String,
    number: u64,
    version: u64,
    time: u64,
    bytes: u64,
    offset: u64,
    position: u64,
    content: Vec<u8>,
}

/// A block of a checkpoint.
#[derive(Debug)]
pub enum Block<'a> {
    /// The pairs of the following blocks belong to this table.
    Table {
        /// The identifier of the table.
        tree: u64,
        /// Its name.
        name: &'a str,
    },
    /// As [`Block::Table`], for an unordered table.
    Unordered {
        /// The identifier of the table.
        tree: u64,
        /// Its parameters, encoded as `wal_unordered`.
        parameters: &'a [u8],
        /// Its name.
        name: &'a str,
    },
    /// Pairs.
    Pairs(PairsOfBlock<'a>),
    /// The end.
    End {
        /// The number of pairs.
        pairs: u64,
    },
}

/// The pairs of a block, those of an ordered table in the order of their keys. An element is `None` if the
/// block ends within a pair.
#[derive(Debug)]
pub struct PairsOfBlock<'a>(&'a [u8]);

impl CheckpointReader {
    /// Opens a checkpoint.
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Corrupt`], [`LogError::Format`].
    pub fn open(storage: &dyn Storage, number: u64) -> Result<Self, LogError> {
        let name = checkpoint_file(number);
        let file = storage.open(&name).map_err(LogError::io("open", &name))?;
        let bytes = file.length().map_err(LogError::io("read", &name))?;
        let reader = Self::begin(FileReader::new(file), name, bytes)?;
        if reader.number == number {
            Ok(reader)
        } else {
            Err(reader.corrupt("the header states the number in the name of the file"))
        }
    }
}

impl<R: Read> CheckpointReader<R> {
    /// Opens an image of `bytes` bytes, of which only [`CheckpointReader::progress`] makes use. `name` is its
    /// name in errors. Bytes after the end of the image stay in `source`.
    ///
    /// # Errors
    /// Those of [`CheckpointReader::open`].
    pub fn image(source: R, name: &str, bytes: u64) -> Result<Self, LogError> {
        Self::begin(source, name.to_owned(), bytes)
    }

    fn begin(source: R, name: String, bytes: u64) -> Result<Self, LogError> {
        let (number, version, time, offset, position) = (0, 0, 0, 0, 0);
        let content = Vec::new();
        let mut reader = Self { source, name, number, version, time, bytes, offset, position, content };
        let header = reader.read(wal_checkpoint::SIZE)?;
        let is_intact = header[..CHECKPOINT_MAGIC.len()] == *CHECKPOINT_MAGIC
            && crc32c(&header[..wal_checkpoint::CRC_OFFSET]) == u32_at(&header, wal_checkpoint::CRC_OFFSET);
        if !is_intact {
            return Err(reader.corrupt("the header of the checkpoint does not match its checksum"));
        }
        let found = u32_at(&header, wal_checkpoint::FORMAT_OFFSET);
        if found != layout::WAL_FORMAT as u32 {
            return Err(LogError::Format { file: reader.name, found, supported: layout::WAL_FORMAT as u32 });
        }
        reader.number = u64_at(&header, wal_checkpoint::NUMBER_OFFSET);
        reader.version = u64_at(&header, wal_checkpoint::VERSION_OFFSET);
        reader.time = u64_at(&header, wal_checkpoint::TAKEN_AT_OFFSET);
        if reader.number.max(reader.version) > NUMBER_MAX {
            return Err(reader.corrupt("the number and the version are below 2^63"));
        }
        reader.offset = header.len() as u64;
        Ok(reader)
    }

    /// Reads all blocks, checks them, and returns the number of pairs.
    ///
    /// # Errors
    /// Those of [`CheckpointReader::next_block`].
    pub fn read_to_end(&mut self) -> Result<u64, LogError> {
        let mut found = 0;
        loop {
            let invalid = match self.next_block()? {
                Block::Table { .. } | Block::Unordered { .. } => None,
                Block::Pairs(pairs) => {
                    let counts = pairs.map(|pair| pair.map(|_| 1));
                    match counts.sum::<Option<u64>>() {
                        Some(pairs) => {
                            found += pairs;
                            None
                        }
                        None => Some("a block has whole pairs"),
                    }
                }
                Block::End { pairs } if pairs == found => return Ok(found),
                Block::End { .. } => Some("the last block states the number of pairs"),
            };
            if let Some(rule) = invalid {
                return Err(self.corrupt(rule));
            }
        }
    }

    /// Returns the number of the checkpoint.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the version of the pairs.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns when this was the newest version, in milliseconds since 1970.
    #[must_use]
    pub fn time(&self) -> u64 {
        self.time
    }

    /// Returns the number of bytes read, and of all bytes.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.offset, self.bytes)
    }

    /// Returns an error that the content of the last block is invalid.
    #[must_use]
    pub fn corrupt(&self, rule: &'static str) -> LogError {
        self.corrupt_at(self.offset, rule)
    }

    /// Returns an error that the content of the block that ends at an offset is invalid.
    #[must_use]
    pub fn corrupt_at(&self, offset: u64, rule: &'static str) -> LogError {
        let (file, version) = (self.name.clone(), self.version);
        LogError::Corrupt { file, offset, version, rule }
    }

    /// Returns the next block. There is none after [`Block::End`].
    ///
    /// # Errors
    /// [`LogError::Io`], [`LogError::Corrupt`].
    pub fn next_block(&mut self) -> Result<Block<'_>, LogError> {
        let header = self.read(wal_block::SIZE)?;
        let length = u32_at(&header, wal_block::LENGTH_OFFSET) as usize;
        if length > CONTENT_BYTES_MAX {
            return Err(self.corrupt("the length of a block exceeds its limit"));
        }
        self.offset += header.len() as u64;
        let content = self.read(length);
        self.offset -= header.len() as u64;
        self.content = content?;
        let crc = checksum(self.number, self.position, &header, &self.content);
        if crc != u32_at(&header, wal_block::CRC_OFFSET) {
            return Err(self.corrupt("the checksum of the block does not match"));
        }
        let kind = usize::from(header[wal_block::KIND_OFFSET]);
        let is_known = match kind {
            layout::WAL_BLOCK_TABLE => length > 8 && str::from_utf8(&self.content[8..]).is_ok(),
            layout::WAL_BLOCK_UNORDERED => {
                self.content.get(NAME_OFFSET..).is_some_and(|name| str::from_utf8(name).is_ok())
            }
            layout::WAL_BLOCK_PAIRS => true,
            layout::WAL_BLOCK_END => length == 8,
            _ => false,
        };
        if !is_known {
            return Err(
                self.corrupt("a block is a table (1), pairs (2), the end (3) or an unordered table (4)")
            );
        }
        self.offset += (header.len() + length) as u64;
        self.position += 1;
        Ok(self.block(kind))
    }

    fn block(&self, kind: usize) -> Block<'_> {
        match kind {
            layout::WAL_BLOCK_TABLE => {
                let name = str::from_utf8(&self.content[8..]).unwrap_or_default();
                Block::Table { tree: u64_at(&self.content, 0), name }
            }
            layout::WAL_BLOCK_UNORDERED => {
                let name = str::from_utf8(&self.content[NAME_OFFSET..]).unwrap_or_default();
                let parameters = &self.content[8..NAME_OFFSET];
                Block::Unordered { tree: u64_at(&self.content, 0), parameters, name }
            }
            layout::WAL_BLOCK_PAIRS => Block::Pairs(PairsOfBlock(&self.content)),
            _ => Block::End { pairs: u64_at(&self.content, 0) },
        }
    }

    fn read(&mut self, length: usize) -> Result<Vec<u8>, LogError> {
        let mut bytes = Vec::with_capacity(length.min(2 * BLOCK_BYTES));
        let read = self.source.by_ref().take(length as u64).read_to_end(&mut bytes);
        let read = read.map_err(LogError::io("read", &self.name))?;
        if read == length { Ok(bytes) } else { Err(self.corrupt("the checkpoint is truncated")) }
    }
}

impl<'a> PairsOfBlock<'a> {
    /// Returns the pairs of a block with these bytes.
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the pairs that are left.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.0
    }
}

impl<'a> Iterator for PairsOfBlock<'a> {
    type Item = Option<(&'a [u8], &'a [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let pair = take_pair(&mut self.0);
        if pair.is_none() {
            self.0 = &[];
        }
        Some(pair)
    }
}

fn take_pair<'a>(content: &mut &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let header = take(content, wal_pair::SIZE)?;
    let key = &header[wal_pair::KEY_BYTES_OFFSET..];
    let key_bytes = usize::from(key[0]) | usize::from(key[1]) << 8;
    let value_bytes = u32_at(header, wal_pair::VALUE_BYTES_OFFSET) as usize;
    Some((take(content, key_bytes)?, take(content, value_bytes)?))
}

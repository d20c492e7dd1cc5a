//! Checkpoints: files with all pairs of one version, in blocks with checksums. The pairs of an ordered table
//! are in the order of their keys.
//!
//! The checksum of a block covers the number of the checkpoint and the position of the block, so a lost,
//! moved or foreign block is detected.

use crc32c::{crc32c, crc32c_append};
use honeycomb_layout as layout;
use honeycomb_layout::{wal_block, wal_checkpoint, wal_pair, wal_unordered};

use crate::bytes::{put_u32, put_u64, take, u32_at, u64_at};
use crate::error::LogError;
use crate::names::checkpoint_file;
use crate::storage::{Storage, StorageFile};

const MAGIC: &[u8; 8] = b"HONEYCHK";
/// A block of pairs ends when it has this many bytes.
const BLOCK_BYTES: usize = 256 << 10;
/// The largest content of a block that a reader accepts: one pair that exceeds [`BLOCK_BYTES`].
const CONTENT_BYTES_MAX: usize = BLOCK_BYTES + (17 << 20);

/// Offset of the name of an unordered table in its block.
const NAME_OFFSET: usize = 8 + wal_unordered::SIZE;

/// Writes a checkpoint. It is not valid before [`CheckpointWriter::finish`].
pub struct CheckpointWriter {
    file: Box<dyn StorageFile>,
    name: String,
    number: u64,
    offset: u64,
    position: u64,
    pairs: u64,
    /// The pairs of the next block, after the space of its header.
    content: Vec<u8>,
}

impl CheckpointWriter {
    /// Starts a checkpoint of a version.
    ///
    /// # Errors
    /// [`LogError::Full`], [`LogError::Io`]. After an error of this or another function the file is of no
    /// use; the next recovery removes it.
    pub fn create(storage: &dyn Storage, number: u64, version: u64) -> Result<Self, LogError> {
        let name = checkpoint_file(number);
        let mut file = storage.create(&name, 0).map_err(LogError::room("create", &name))?;
        let mut header = [0; wal_checkpoint::SIZE];
        header[..MAGIC.len()].copy_from_slice(MAGIC);
        put_u64(&mut header, wal_checkpoint::NUMBER_OFFSET, number);
        put_u64(&mut header, wal_checkpoint::VERSION_OFFSET, version);
        put_u32(&mut header, wal_checkpoint::FORMAT_OFFSET, layout::WAL_FORMAT as u32);
        let crc = crc32c(&header[..wal_checkpoint::CRC_OFFSET]);
        put_u32(&mut header, wal_checkpoint::CRC_OFFSET, crc);
        file.write_at(0, &header).map_err(LogError::room("write", &name))?;
        let content = vec![0; wal_block::SIZE];
        Ok(Self { file, name, number, offset: header.len() as u64, position: 0, pairs: 0, content })
    }

    /// Starts a table. The following pairs belong to it.
    ///
    /// # Errors
    /// Those of [`CheckpointWriter::create`].
    pub fn table(&mut self, tree: u64, name: &str) -> Result<(), LogError> {
        self.write_pairs()?;
        self.content.extend_from_slice(&tree.to_le_bytes());
        self.content.extend_from_slice(name.as_bytes());
        self.write_block(layout::WAL_BLOCK_TABLE)
    }

    /// Starts an unordered table with encoded parameters. The following pairs belong to it.
    ///
    /// # Errors
    /// Those of [`CheckpointWriter::create`].
    pub fn unordered_table(
        &mut self,
        tree: u64,
        name: &str,
        parameters: &[u8; wal_unordered::SIZE],
    ) -> Result<(), LogError> {
        self.write_pairs()?;
        self.content.extend_from_slice(&tree.to_le_bytes());
        self.content.extend_from_slice(parameters);
        self.content.extend_from_slice(name.as_bytes());
        self.write_block(layout::WAL_BLOCK_UNORDERED)
    }

    /// Adds a pair. Keys of an ordered table ascend.
    ///
    /// # Errors
    /// Those of [`CheckpointWriter::create`].
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), LogError> {
        let mut header = [0; wal_pair::SIZE];
        put_u32(&mut header, wal_pair::VALUE_BYTES_OFFSET, value.len() as u32);
        header[wal_pair::KEY_BYTES_OFFSET..].copy_from_slice(&(key.len() as u16).to_le_bytes());
        self.content.extend_from_slice(&header);
        self.content.extend_from_slice(key);
        self.content.extend_from_slice(value);
        self.pairs += 1;
        if self.content.len() < BLOCK_BYTES { Ok(()) } else { self.write_pairs() }
    }

    /// Makes the checkpoint durable and returns the number of its pairs.
    ///
    /// # Errors
    /// Those of [`CheckpointWriter::create`].
    pub fn finish(mut self, storage: &dyn Storage) -> Result<u64, LogError> {
        self.write_pairs()?;
        self.content.extend_from_slice(&self.pairs.to_le_bytes());
        self.write_block(layout::WAL_BLOCK_END)?;
        self.file.sync().map_err(LogError::room("sync", &self.name))?;
        storage.sync_directory().map_err(LogError::io("sync the directory of", &self.name))?;
        Ok(self.pairs)
    }

    /// Returns the bytes written so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.offset
    }

    fn write_pairs(&mut self) -> Result<(), LogError> {
        if self.content.len() > wal_block::SIZE { self.write_block(layout::WAL_BLOCK_PAIRS) } else { Ok(()) }
    }

    fn write_block(&mut self, kind: usize) -> Result<(), LogError> {
        let (header, content) = self.content.split_at_mut(wal_block::SIZE);
        put_u32(header, wal_block::LENGTH_OFFSET, content.len() as u32);
        header[wal_block::KIND_OFFSET] = kind as u8;
        let crc = checksum(self.number, self.position, header, content);
        put_u32(header, wal_block::CRC_OFFSET, crc);
        self.file.write_at(self.offset, &self.content).map_err(LogError::room("write", &self.name))?;
        self.offset += self.content.len() as u64;
        self.position += 1;
        self.content.clear();
        self.content.resize(wal_block::SIZE, 0);
        Ok(())
    }
}

/// Reads a checkpoint. It returns no content before it has checked its checksum.
pub struct CheckpointReader {
    file: Box<dyn StorageFile>,
    name: String,
    number: u64,
    version: u64,
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

/// The pairs of a block, in the order of their keys. An element is `None` if the block ends within a pair.
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
        let mut reader =
            Self { file, name, number, version: 0, bytes, offset: 0, position: 0, content: Vec::new() };
        let header = reader.read(wal_checkpoint::SIZE)?;
        let is_intact = header[..MAGIC.len()] == *MAGIC
            && crc32c(&header[..wal_checkpoint::CRC_OFFSET]) == u32_at(&header, wal_checkpoint::CRC_OFFSET)
            && header[wal_checkpoint::PADDING_OFFSET..].iter().all(|&byte| byte == 0);
        if !is_intact {
            return Err(reader.corrupt("the header of the checkpoint does not match its checksum"));
        }
        let found = u32_at(&header, wal_checkpoint::FORMAT_OFFSET);
        if found != layout::WAL_FORMAT as u32 {
            return Err(LogError::Format { file: reader.name, found, supported: layout::WAL_FORMAT as u32 });
        }
        if u64_at(&header, wal_checkpoint::NUMBER_OFFSET) != number {
            return Err(reader.corrupt("the header states the number in the name of the file"));
        }
        reader.version = u64_at(&header, wal_checkpoint::VERSION_OFFSET);
        reader.offset = header.len() as u64;
        Ok(reader)
    }

    /// Returns the version of the pairs.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the number of bytes read, and of all bytes.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.offset, self.bytes)
    }

    /// Returns an error that the content of the last block is invalid.
    #[must_use]
    pub fn corrupt(&self, rule: &'static str) -> LogError {
        let (file, offset, version) = (self.name.clone(), self.offset, self.version);
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

    fn read(&self, length: usize) -> Result<Vec<u8>, LogError> {
        let mut bytes = vec![0; length];
        let read = self.file.read_at(self.offset, &mut bytes).map_err(LogError::io("read", &self.name))?;
        if read == length { Ok(bytes) } else { Err(self.corrupt("the checkpoint is truncated")) }
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

fn checksum(number: u64, position: u64, header: &[u8], content: &[u8]) -> u32 {
    let seed = crc32c_append(crc32c(&number.to_le_bytes()), &position.to_le_bytes());
    crc32c_append(crc32c_append(seed, &header[..wal_block::CRC_OFFSET]), content)
}

//! Checkpoints: all pairs of one version, in blocks with checksums. The pairs of an ordered table are in the
//! order of their keys. A store has its newest checkpoint as a file; an image is one that is outside of a
//! store.
//!
//! The checksum of a block covers the number of the checkpoint and the position of the block, so a lost,
//! moved or foreign block is detected.

use std::io::Write;

use crc32c::{crc32c, crc32c_append};
use honeycomb_layout as layout;
use honeycomb_layout::{wal_block, wal_checkpoint, wal_pair, wal_unordered};

use crate::bytes::{put_u32, put_u64};
use crate::error::LogError;
use crate::file_writer::FileWriter;
use crate::names::checkpoint_file;
use crate::storage::Storage;

/// The first bytes of a checkpoint.
pub const CHECKPOINT_MAGIC: &[u8; 8] = b"HONEYCHK";
/// A block of pairs ends when it has this many bytes.
pub(crate) const BLOCK_BYTES: usize = 256 << 10;

/// Writes a checkpoint: to a file of a store, or as an image to any writer. It is not valid before its end is
/// written.
pub struct CheckpointWriter<W = FileWriter> {
    out: W,
    name: String,
    number: u64,
    offset: u64,
    position: u64,
    pairs: u64,
    /// The pairs of the next block, after the space of its header.
    content: Vec<u8>,
}

impl CheckpointWriter {
    /// Starts a checkpoint of a version as a file of a store. `time` is when this was the newest version, in
    /// milliseconds since 1970.
    ///
    /// # Errors
    /// [`LogError::Full`], [`LogError::Io`]. After an error of this or another function the file is of no
    /// use; the next recovery removes it.
    pub fn create(storage: &dyn Storage, number: u64, version: u64, time: u64) -> Result<Self, LogError> {
        let name = checkpoint_file(number);
        let file = storage.create(&name, 0).map_err(LogError::room("create", &name))?;
        Self::begin(FileWriter::new(file), name, number, (version, time))
    }

    /// Makes the bytes of the checkpoint durable and returns the number of its pairs. Its name is durable
    /// when [`Manifest::store`](crate::Manifest::store) has stored it.
    ///
    /// # Errors
    /// Those of [`CheckpointWriter::create`].
    pub fn finish(mut self) -> Result<u64, LogError> {
        let pairs = self.end()?;
        self.out.sync().map_err(LogError::room("sync", &self.name))?;
        Ok(pairs)
    }
}

impl<W: Write> CheckpointWriter<W> {
    /// Starts an image: a checkpoint with the number 1. `name` is its name in errors.
    ///
    /// # Errors
    /// Those of [`CheckpointWriter::create`].
    pub fn image(out: W, name: &str, version: u64, time: u64) -> Result<Self, LogError> {
        Self::begin(out, name.to_owned(), 1, (version, time))
    }

    fn begin(mut out: W, name: String, number: u64, (version, time): (u64, u64)) -> Result<Self, LogError> {
        let mut header = [0; wal_checkpoint::SIZE];
        header[..CHECKPOINT_MAGIC.len()].copy_from_slice(CHECKPOINT_MAGIC);
        put_u64(&mut header, wal_checkpoint::NUMBER_OFFSET, number);
        put_u64(&mut header, wal_checkpoint::VERSION_OFFSET, version);
        put_u64(&mut header, wal_checkpoint::TAKEN_AT_OFFSET, time);
        put_u32(&mut header, wal_checkpoint::FORMAT_OFFSET, layout::WAL_FORMAT as u32);
        let crc = crc32c(&header[..wal_checkpoint::CRC_OFFSET]);
        put_u32(&mut header, wal_checkpoint::CRC_OFFSET, crc);
        out.write_all(&header).map_err(LogError::room("write", &name))?;
        let content = vec![0; wal_block::SIZE];
        Ok(Self { out, name, number, offset: header.len() as u64, position: 0, pairs: 0, content })
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

    /// Writes the end, after which the checkpoint is complete, and returns the number of its pairs.
    ///
    /// # Errors
    /// Those of [`CheckpointWriter::create`].
    pub fn end(&mut self) -> Result<u64, LogError> {
        self.write_pairs()?;
        self.content.extend_from_slice(&self.pairs.to_le_bytes());
        self.write_block(layout::WAL_BLOCK_END)?;
        self.out.flush().map_err(LogError::room("write", &self.name))?;
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
        self.out.write_all(&self.content).map_err(LogError::room("write", &self.name))?;
        self.offset += self.content.len() as u64;
        self.position += 1;
        self.content.clear();
        self.content.resize(wal_block::SIZE, 0);
        Ok(())
    }
}

/// The checksum of a block.
pub(crate) fn checksum(number: u64, position: u64, header: &[u8], content: &[u8]) -> u32 {
    let seed = crc32c_append(crc32c(&number.to_le_bytes()), &position.to_le_bytes());
    crc32c_append(crc32c_append(seed, &header[..wal_block::CRC_OFFSET]), content)
}

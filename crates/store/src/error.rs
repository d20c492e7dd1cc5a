//! What can go wrong, said with what was wrong and what is allowed.

use std::io;

use honeycomb_memory::MemoryError;
use thiserror::Error;

use crate::directory::TABLE_NAME_BYTES_MAX;

/// Why an operation was not carried out. Nothing of what was stored has changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A key is empty or too long.
    #[error("key of {bytes} bytes: a key has 1 to {max} bytes")]
    KeyLength {
        /// Bytes of the key given.
        bytes: usize,
        /// Longest key allowed with this store's node size.
        max: usize,
    },
    /// A value is too long.
    #[error("value of {bytes} bytes: a value has at most {max} bytes")]
    ValueLength {
        /// Bytes of the value given.
        bytes: usize,
        /// Longest value allowed.
        max: usize,
    },
    /// A batch has too many operations.
    #[error("batch of {operations} operations: a batch has at most {max}")]
    BatchTooLarge {
        /// Operations given.
        operations: usize,
        /// Most operations allowed.
        max: usize,
    },
    /// Of writes that are carried out each for itself, one is a condition or removes a range.
    #[error("entry {entry} is about a range: only writes to single keys are carried out each for itself")]
    NotOneWrite {
        /// The entry, by its place in the batch.
        entry: usize,
    },
    /// There are as many tables as there can be.
    #[error("no further table: a store has at most {max}")]
    TooManyTables {
        /// Most tables allowed.
        max: usize,
    },
    /// The accelerator cannot be had, or broke its contract.
    #[error("accelerator: {0}")]
    Accelerator(&'static str),
    /// A parameter of the accelerator is not allowed.
    #[error("accelerator: {0}")]
    AcceleratorParameter(#[from] honeycomb_accelerator::Error),
    /// `add` met a value that is not a counter.
    #[error("value of {bytes} bytes is not a counter: a counter has 8 bytes, little-endian")]
    NotCounter {
        /// Bytes of the value.
        bytes: usize,
    },
    /// The name of a table is empty or too long.
    #[error("table name of {bytes} bytes: a name has 1 to {TABLE_NAME_BYTES_MAX} bytes")]
    TableName {
        /// Bytes of the name given.
        bytes: usize,
    },
    /// A table cannot be dropped while there are handles on it (tables, batches, iterators).
    #[error("table `{name}` is in use: it can be dropped when all its handles are gone")]
    TableInUse {
        /// The table's name.
        name: String,
    },
    /// An image holds a table that the store already has.
    #[error("table `{name}` exists: an image is loaded only beside tables of other names; drop it first")]
    TableExists {
        /// The table's name.
        name: String,
    },
    /// Pairs are loaded into a table that has some.
    #[error("the table has pairs: only an empty one can be loaded in order")]
    TableNotEmpty,
    /// Pairs that are loaded do not come in the order of their keys.
    #[error("pair {position} is not greater than pair {}, counted from 0: keys must ascend", position - 1)]
    NotAscending {
        /// How many pairs come before the one whose key is not greater than the one right before it.
        position: u64,
    },
    /// Nodes are to be filled to a share that is not allowed.
    #[error("nodes filled to {percent} %: allowed are 10 to 100 %")]
    FillPercent {
        /// The share given.
        percent: usize,
    },
    /// A table was given to another store, or to a snapshot of another store.
    #[error("table `{name}` belongs to another store")]
    ForeignTable {
        /// The table's name.
        name: String,
    },
    /// The store has to be used by its only handle.
    #[error("the store is in use: this needs the only handle, and there are {others} others (tables, too)")]
    InUse {
        /// Other handles.
        others: usize,
    },
    /// The store has no versions, so it has no snapshots and knows nothing of changes since a version.
    #[error("this store has no versions and no snapshots: it was opened with mvcc = false")]
    MvccOff,
    /// The lease of a snapshot has ended: by time, by bytes, for want of memory, or because it was released.
    #[error("snapshot too old: its lease has ended")]
    SnapshotTooOld,
    /// No snapshot ever had this token.
    #[error("unknown snapshot {token}: this store never gave out that token")]
    UnknownSnapshot {
        /// The token's number.
        token: u64,
    },
    /// There are as many snapshots as there may be.
    #[error("too many snapshots: at most {max} at one time (iterators count)")]
    TooManySnapshots {
        /// Most snapshots allowed.
        max: usize,
    },
    /// Reads that ran together found as many bytes as they may before it was this one's turn.
    #[error("no room: the reads before this one found as many bytes as they may together")]
    NoRoom,
    /// The arena has no room.
    #[error("out of memory: no room for {wanted_bytes} bytes in the arena of {memory_bytes} bytes")]
    OutOfMemory {
        /// Bytes asked for.
        wanted_bytes: usize,
        /// Bytes of the arena.
        memory_bytes: usize,
    },
    /// A parameter of the store is not allowed.
    #[error("invalid configuration: {0}")]
    InvalidConfig(String),
    /// The operating system did not give the memory.
    #[error("cannot reserve memory: {0}")]
    Reserve(#[source] MemoryError),
    /// An image cannot be written or read.
    #[error("image: {0}")]
    Image(#[from] ImageError),
    /// The store's bytes break a rule that they must keep. This is a bug in Honeycomb.
    #[error("the store is corrupt: {0}")]
    Corrupt(String),
}

/// Why an image cannot be written or read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The writer or the reader failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The first bytes are not those of an image.
    #[error("this is not a Honeycomb image")]
    NotAnImage,
    /// The image has another format.
    #[error("format {found} is not supported: this program reads format {supported}")]
    Format {
        /// The image's format.
        found: u32,
        /// The one format that can be read.
        supported: u32,
    },
    /// The image ends too early.
    #[error("it ends too early, at byte {offset}")]
    Truncated {
        /// Where it ends, in bytes from its beginning.
        offset: u64,
    },
    /// The image's bytes are not those that were written.
    #[error("checksum mismatch in the bytes before {offset}")]
    Checksum {
        /// Where the part that is wrong ends, in bytes from the image's beginning.
        offset: u64,
    },
    /// The image's bytes make no sense, although their checksum is right.
    #[error("malformed before byte {offset}: {what}")]
    Malformed {
        /// Where the part that is wrong ends, in bytes from the image's beginning.
        offset: u64,
        /// What is wrong and what is allowed.
        what: &'static str,
    },
}

impl From<honeycomb_btree::Error> for Error {
    fn from(error: honeycomb_btree::Error) -> Self {
        use honeycomb_btree::Error as Tree;
        match error {
            Tree::Memory(error) => error.into(),
            Tree::KeyLength { bytes, max } => Self::KeyLength { bytes, max },
            Tree::ValueLength { bytes, max } => Self::ValueLength { bytes, max },
            Tree::BatchTooLarge { operations, max } => Self::BatchTooLarge { operations, max },
            Tree::NoVersions { .. } => Self::MvccOff,
            Tree::NotEmpty => Self::TableNotEmpty,
            Tree::NotAscending { position } => Self::NotAscending { position },
            Tree::FillPercent { percent } => Self::FillPercent { percent },
            Tree::InvalidShape(message) => Self::InvalidConfig(message),
            other => Self::InvalidConfig(other.to_string()),
        }
    }
}

impl From<MemoryError> for Error {
    fn from(error: MemoryError) -> Self {
        match error {
            MemoryError::Exhausted { wanted_bytes, arena_bytes, .. } => {
                Self::OutOfMemory { wanted_bytes, memory_bytes: arena_bytes }
            }
            MemoryError::ValueLength { bytes, max } => Self::ValueLength { bytes, max },
            MemoryError::InvalidConfig(message) => Self::InvalidConfig(message),
            other => Self::Reserve(other),
        }
    }
}

impl From<honeycomb_accelerator::KeyTooLong> for Error {
    fn from(error: honeycomb_accelerator::KeyTooLong) -> Self {
        Self::KeyLength { bytes: error.bytes, max: honeycomb_layout::KEY_BYTES_MAX }
    }
}

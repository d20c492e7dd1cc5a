//! Errors. Each names the invalid value and the allowed ones.

use std::io;
use std::path::PathBuf;

use honeycomb_log::LogError;
use honeycomb_memory::MemoryError;
use thiserror::Error;

use crate::table_kind::TableKind;
use crate::table_name::TABLE_NAME_BYTES_MAX;

/// Why an operation failed. The stored data is unchanged, except after [`Error::NotDurable`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A key is empty or too long.
    #[error("key of {bytes} bytes: a key has 1 to {max} bytes")]
    KeyLength {
        /// Bytes of the invalid key.
        bytes: usize,
        /// Longest key that the node size of this store allows, in bytes.
        max: usize,
    },
    /// A value is too long.
    #[error("value of {bytes} bytes: a value has at most {max} bytes")]
    ValueLength {
        /// Bytes of the invalid value.
        bytes: usize,
        /// Longest allowed value in bytes.
        max: usize,
    },
    /// A batch has too many operations.
    #[error("batch of {operations} operations: a batch has at most {max}")]
    BatchTooLarge {
        /// Operations of the batch.
        operations: usize,
        /// Most operations of a batch.
        max: usize,
    },
    /// A batch for [`Store::apply_each`](crate::Store::apply_each) has an entry that is not a write to a
    /// single key.
    #[error("entry {entry} is for a range: `apply_each` executes only writes to single keys")]
    NotSingleWrite {
        /// Position of the entry in the batch, from 0.
        entry: usize,
    },
    /// The store has the maximal number of tables.
    #[error("too many tables: a store has at most {max}")]
    TooManyTables {
        /// Most tables of a store.
        max: usize,
    },
    /// The accelerator is not available, or it violated its contract.
    #[error("accelerator: {0}")]
    Accelerator(&'static str),
    /// A parameter of the accelerator is invalid.
    #[error("accelerator: {0}")]
    AcceleratorParameter(#[from] honeycomb_accelerator::Error),
    /// The value that an addition found is not a counter.
    #[error("value of {bytes} bytes is not a counter: a counter has 8 bytes, little-endian")]
    NotCounter {
        /// Bytes of the value.
        bytes: usize,
    },
    /// The name of a table is empty or too long.
    #[error("table name of {bytes} bytes: a name has 1 to {TABLE_NAME_BYTES_MAX} bytes")]
    TableName {
        /// Bytes of the invalid name.
        bytes: usize,
    },
    /// A table cannot be dropped while handles to it exist ([`Table`](crate::Table)s, batches, reads,
    /// iterators).
    #[error("table `{name}` is in use: drop all its handles first")]
    TableInUse {
        /// The table's name.
        name: String,
    },
    /// The store already has a table of an image.
    #[error("table `{name}` exists: drop it before loading an image that contains it")]
    TableExists {
        /// The table's name.
        name: String,
    },
    /// A table of this name has another kind.
    #[error("table `{name}` is {kind}, not {wanted}")]
    WrongKind {
        /// The table's name.
        name: String,
        /// Its kind.
        kind: TableKind,
        /// The requested kind.
        wanted: TableKind,
    },
    /// The arguments of an operation with a function are invalid.
    #[error(transparent)]
    Function(honeycomb_hashtable::Error),
    /// A value does not consist of elements of the function.
    #[error("value of {bytes} bytes does not consist of elements of the function")]
    NotElements {
        /// Bytes of the value.
        bytes: usize,
    },
    /// A bulk load needs an empty table.
    #[error("the table has pairs: a bulk load needs an empty table")]
    TableNotEmpty,
    /// The keys of a bulk load do not ascend.
    #[error("pair {position}, counted from 0, is not greater than the pair before it: keys must ascend")]
    NotAscending {
        /// Position, from 0, of the first pair whose key is not greater than the key before it.
        position: u64,
    },
    /// A bulk load into a durable store is one record of the log, which has a limit.
    #[error(
        "the pairs of a bulk load into a durable store have at most {bytes_max} bytes (`load_bytes_max`): \
         load the first pairs, and put the others in batches"
    )]
    LoadTooLarge {
        /// The limit in bytes, with 16 bytes for each pair.
        bytes_max: u64,
    },
    /// The fill factor of a bulk load is invalid.
    #[error("fill factor of {percent} %: a bulk load fills nodes to 10 to 100 %")]
    FillPercent {
        /// The invalid fill factor in percent.
        percent: usize,
    },
    /// A table was used with another store, or with a snapshot of another store.
    #[error("table `{name}` belongs to another store")]
    ForeignTable {
        /// The table's name.
        name: String,
    },
    /// The operation needs the only handle to the store.
    #[error("the store is in use: {others} other handles exist (tables count), and this needs the only one")]
    InUse {
        /// Number of other handles.
        others: usize,
    },
    /// The store has no versions, and therefore neither snapshots nor changes since a version.
    #[error("this store has no versions and no snapshots: it was opened with mvcc = false")]
    MvccOff,
    /// The lease of a snapshot has ended: it exceeded its limits, a write needed the memory that it pinned,
    /// or it was released.
    #[error("snapshot too old: its lease has ended")]
    SnapshotTooOld,
    /// The lease of a checkpoint ended in each of its attempts. No file was replaced, and the log has all
    /// writes.
    #[error(
        "no checkpoint: in each of {attempts} attempts writes replaced more than {bytes_max} bytes, or \
         needed the memory of the replaced pairs; the log still has all writes"
    )]
    CheckpointTooSlow {
        /// The number of attempts.
        attempts: usize,
        /// The most bytes of replaced pairs that a checkpoint keeps.
        bytes_max: u64,
    },
    /// The store has never issued this token.
    #[error("unknown snapshot {token}: this store has never issued that token")]
    UnknownSnapshot {
        /// Number of the token.
        token: u64,
    },
    /// The store has the maximal number of snapshots, iterators included.
    #[error("too many snapshots: at most {max} at one time (iterators count)")]
    TooManySnapshots {
        /// Most snapshots at one time.
        max: usize,
    },
    /// The results of [`Reads`](crate::Reads) reached their limit of bytes before this one, or its value
    /// exceeds the limit of one value.
    #[error("no room: the results of the batch of reads exceed their limit of bytes")]
    NoRoom,
    /// The arena has no room for a write.
    #[error("out of memory: no room for {wanted_bytes} bytes in the arena of {memory_bytes} bytes")]
    OutOfMemory {
        /// Requested bytes.
        wanted_bytes: usize,
        /// Bytes of the arena.
        memory_bytes: usize,
    },
    /// The disk is full, so the log accepts no record. Reads are possible, and writes are again as soon as
    /// the disk has room.
    #[error("the disk is full: writes are refused until it has room")]
    DiskFull,
    /// A write or a sync of the log has failed. Reads are possible; writes are refused until the store is
    /// opened again.
    #[error("read-only until the store is opened again: {reason}")]
    ReadOnly {
        /// The error of the log.
        reason: String,
    },
    /// The write is visible to reads, but the log has failed before it was durable. It may or may not exist
    /// after the store is opened again, and all later writes fail with [`Error::ReadOnly`].
    #[error("the write may not be durable: {reason}")]
    NotDurable {
        /// The error of the log.
        reason: String,
    },
    /// The operation needs a durable store.
    #[error("this store is in memory only: it was opened without a directory")]
    NoDirectory,
    /// The store was dropped during a checkpoint, which is not valid.
    #[error("the store was dropped")]
    Stopping,
    /// A checkpoint has panicked, perhaps in a function of the embedding program. It is not valid, and later
    /// ones can succeed.
    #[error("the checkpoint has panicked: {message}")]
    CheckpointPanicked {
        /// The message of the panic.
        message: String,
    },
    /// Another process, or another store of this process, uses the directory.
    #[error("directory `{}` is in use by another store", path.display())]
    DirectoryInUse {
        /// The directory.
        path: PathBuf,
    },
    /// The directory cannot be created or read.
    #[error("directory `{}`: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The files of a durable store cannot be read or written.
    #[error(transparent)]
    Log(LogError),
    /// A thread of the log cannot start.
    #[error("cannot start a thread of the log: {0}")]
    Thread(#[source] io::Error),
    /// A parameter of the store is invalid.
    #[error("invalid configuration: {0}")]
    InvalidConfig(String),
    /// The operating system could not supply the memory.
    #[error("cannot reserve memory: {0}")]
    Reserve(#[source] MemoryError),
    /// The log does not hold the changes after this version any more.
    #[error("version too old: the log does not hold all changes after version {version}")]
    VersionTooOld {
        /// The version up to which the caller has all changes.
        version: u64,
    },
    /// The changes of this version are not in the log, although later ones are: a power cut has lost them, or
    /// the version had none when the store was opened again. A reader that has seen it reads the table again.
    #[error("version lost: the log has no version after {last} up to {version}; read the table again")]
    VersionLost {
        /// The version up to which the caller has all changes.
        version: u64,
        /// The version of the last record before those that were lost.
        last: u64,
    },
    /// The log has no such position within a version, so the caller has it from another store.
    #[error("no such position: version {version} of the log does not have {changes} changes")]
    NoSuchChange {
        /// The version.
        version: u64,
        /// The number of its changes that the caller claims to have.
        changes: u64,
    },
    /// The store has not reached this version. It belongs to another store, or to this one before a restore.
    #[error("version too new: {version} is above {newest}, the newest version of the store")]
    VersionTooNew {
        /// The version up to which the caller claims to have all changes.
        version: u64,
        /// The newest version.
        newest: u64,
    },
    /// Writing or reading an image failed.
    #[error("image: {0}")]
    Image(#[from] ImageError),
    /// The stored bytes violate an invariant. This is a bug in Honeycomb.
    #[error("the store is corrupt: {0}")]
    Corrupt(String),
}

/// Why writing or reading an image failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The writer or the reader failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The first bytes are not those of an image.
    #[error("this is not a Honeycomb image")]
    NotAnImage,
    /// The format of the image is not supported.
    #[error("format {found} is not supported: this program reads format {supported}")]
    Format {
        /// Format of the image.
        found: u32,
        /// The only supported format.
        supported: u32,
    },
    /// The image is truncated, or its bytes have changed since they were written, or they violate the format.
    #[error("invalid from byte {offset} on: {rule}")]
    Invalid {
        /// Offset of the first invalid part in bytes.
        offset: u64,
        /// The violated rule.
        rule: &'static str,
    },
    /// An image in the former format is truncated.
    #[error("truncated at byte {offset}")]
    Truncated {
        /// Offset of its end in bytes.
        offset: u64,
    },
    /// The bytes of an image in the former format have changed since they were written.
    #[error("checksum mismatch in the bytes before {offset}")]
    Checksum {
        /// Offset of the end of the invalid frame in bytes.
        offset: u64,
    },
    /// The bytes of an image in the former format have a valid checksum but violate the format.
    #[error("malformed before byte {offset}: {rule}")]
    Malformed {
        /// Offset of the end of the invalid frame in bytes.
        offset: u64,
        /// The violated rule.
        rule: &'static str,
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
            Tree::NoVersions => Self::MvccOff,
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

impl From<honeycomb_hashtable::Error> for Error {
    fn from(error: honeycomb_hashtable::Error) -> Self {
        use honeycomb_hashtable::Error as Table;
        match error {
            Table::Memory(error) => error.into(),
            Table::KeyLength { bytes, max, .. } => Self::KeyLength { bytes, max },
            Table::ValueLength { bytes, max } => Self::ValueLength { bytes, max },
            Table::InvalidConfig { .. } => Self::InvalidConfig(error.to_string()),
            _ => Self::Function(error),
        }
    }
}

impl From<honeycomb_accelerator::TooLong> for Error {
    fn from(error: honeycomb_accelerator::TooLong) -> Self {
        use honeycomb_accelerator::TooLong;
        use honeycomb_layout::{KEY_BYTES_MAX, REQUEST_VALUE_BYTES_MAX};
        match error {
            TooLong::Key { bytes } => Self::KeyLength { bytes, max: KEY_BYTES_MAX },
            TooLong::Value { bytes } => Self::ValueLength { bytes, max: REQUEST_VALUE_BYTES_MAX },
        }
    }
}

impl Error {
    /// Returns a refusal of the log once more, for another write.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::DiskFull => Self::DiskFull,
            Self::ReadOnly { reason } => Self::ReadOnly { reason: reason.clone() },
            other => Self::ReadOnly { reason: other.to_string() },
        }
    }
}

impl From<LogError> for Error {
    fn from(error: LogError) -> Self {
        if error.is_full() { Self::DiskFull } else { Self::Log(error) }
    }
}

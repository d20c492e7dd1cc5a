//! The files that make a store durable: the write-ahead log, checkpoints, and the manifest that connects
//! them.
//!
//! - [`Changes`] encodes the changes of one version; [`changes`] decodes them.
//! - [`LogWriter`] appends records to log files in groups.
//! - [`CheckpointWriter`] writes all pairs of one version; [`CheckpointReader`] reads them.
//! - [`Directory`] opens the files of a store: it finds the newest checkpoint, replays the log after it, and
//!   cuts a torn tail or reports corruption. [`Directory::truncate`] ends a corrupt log.
//! - [`LogReader`] reads records while the log is written.
//! - [`archive()`] copies log files to an archive, and [`restore()`] builds the files of a store from an
//!   image and an archive.
//!
//! This crate does no input or output of its own: all of it passes through [`Storage`], and every call of it
//! may fail. `docs/design/log.md` describes the files.
#![forbid(unsafe_code)]

mod archive;
mod bytes;
mod change;
mod checkpoint;
mod checkpoint_reader;
mod directory;
mod error;
mod file_header;
mod file_reader;
mod file_writer;
mod manifest;
mod names;
mod reader;
mod rebuild;
mod record;
mod restore;
mod storage;
mod tail;
mod truncate;
mod until;
mod writer;

pub use archive::archive;
pub use change::{Change, Changes, DecodedChanges, begin_with_pairs, changes};
pub use checkpoint::{CHECKPOINT_MAGIC, CheckpointWriter};
pub use checkpoint_reader::{Block, CheckpointReader, PairsOfBlock};
pub use directory::{Directory, Replayed};
pub use error::LogError;
pub use file_reader::FileReader;
pub use file_writer::FileWriter;
pub use manifest::Manifest;
pub use names::{MANIFEST_FILE, checkpoint_file, log_file, log_file_number};
pub use reader::LogReader;
pub use record::Record;
pub use restore::{Restored, restore};
pub use storage::{Storage, StorageFile};
pub use tail::{Tail, read_records};
pub use truncate::Truncated;
pub use until::Until;
pub use writer::{ClosedFile, CreatedSpare, Durability, LogWriter, MissingSpare};

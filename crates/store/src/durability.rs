//! Durability: the write-ahead log, checkpoints and recovery of a store with a directory.
//!
//! `docs/design/log.md` describes the files, `docs/design/durability.md` the threads.

mod archiver;
mod backup;
mod change_position;
mod change_stream;
mod checkpoint;
mod checkpoint_thread;
mod checkpointer;
mod checkpoints;
pub(crate) mod config;
mod files;
mod groups;
mod loading;
pub(crate) mod log_state;
mod log_thread;
mod newest_writes;
mod panics;
mod queue;
mod read_only;
mod recent;
mod recovery;
mod run;
mod runs;
pub(crate) mod spare;
mod spare_thread;
pub(crate) mod start;
pub(crate) mod state;
mod statistics;
mod table_ids;
mod table_load;

pub use backup::Backup;
pub use change_position::{ChangePosition, InvalidPosition};
pub use change_stream::{ChangeStream, OldValue, TableChange, TableChangeKind};
pub use checkpoints::Checkpoint;
pub use config::{DurabilityConfig, RecoveryProgress, SyncPolicy};
pub use read_only::read_only_files;
pub use statistics::{DurabilityStatistics, Recovery, WRITE_MICROSECONDS};

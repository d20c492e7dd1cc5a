//! Honeycomb: an embeddable, in-memory, **ordered** key-value store with linearizable scans.
//!
//! A [`Store`] contains tables. A [`Table`] contains pairs in the order of their keys. Any number of threads
//! can call all operations at the same time. Reads are wait-free and see one version: a scan returns the
//! pairs that existed at one moment, even while other threads write.
//!
//! ```
//! use honeycomb_store::{Config, Scan, Store};
//!
//! let store = Store::open(Config { memory_bytes: 64 << 20, ..Config::default() })?;
//! let scores = store.table("scores")?;
//! scores.put(b"ada", b"12")?;
//! scores.put(b"bob", b"7")?;
//! scores.put(b"cyd", b"9")?;
//!
//! assert_eq!(scores.get(b"bob")?.as_deref(), Some(&b"7"[..]));
//! let pairs = scores.scan(&Scan::range("b"..))?;
//! let names: Vec<_> = pairs.iter().map(|(name, _)| name).collect();
//! assert_eq!(names, [b"bob", b"cyd"]);
//! # Ok::<(), honeycomb_store::Error>(())
//! ```
//!
//! | task | API |
//! |---|---|
//! | one pair | [`Table::get`], [`Table::put`], [`Table::compare_and_swap`], [`Table::add`], ... |
//! | a few pairs in order | [`Table::scan`] with a [`Scan`], [`Table::scan_into`] without allocating |
//! | counts, sums, greatest values and filters over a range | [`Table::push_down`], [`PushDown`] |
//! | many pairs in order | [`Table::iter`], [`Table::range`] |
//! | many reads, or many writes, in one call | [`Reads`], [`Store::read`]; [`Batch`], [`Store::apply_each`] |
//! | a bulk load of sorted pairs into an empty table | [`Table::load_sorted`], or a [`Loader`] |
//! | an atomic write to any tables | [`Batch`] and [`Store::apply`] |
//! | pairs without order, counters and vectors | [`Store::unordered_table`], [`UnorderedTable`] |
//! | several keys of any tables at one moment | [`Store::get_together`] |
//! | several reads of one version | [`Store::snapshot`], [`Reads::get_at`] |
//! | images | [`Store::save`], [`Store::load`] |
//! | a store that survives a restart | [`Config::durability`], [`DurabilityConfig::directory`] |
//! | its changes, in order, from a version on | [`Store::changes`] |
//! | a backup of such a store | [`Store::backup`], [`DurabilityConfig::archive_to`] |
//!
//! # Memory
//!
//! A store has one arena of [`Config::memory_bytes`]. A write that finds no room waits for operations in
//! flight that delay the reclaiming of memory, and ends the leases of [snapshots](Snapshot) that pin memory:
//! writes have priority over snapshots. If this frees too little, the write fails with [`Error::OutOfMemory`]
//! and changes nothing. All pairs stay readable, and deletes still succeed, because a small part of the arena
//! is reserved for them.
#![forbid(unsafe_code)]

mod batch;
mod clock;
mod commit_thread;
mod compaction;
mod config;
mod directory;
mod durability;
mod error;
mod exhaustion;
mod first_pairs;
mod gets;
mod image;
mod iter;
mod lanes;
mod lease;
mod loader;
mod ordered_gets;
mod ordered_scans;
mod pair_count;
mod pairs;
mod push_down;
mod range;
mod reads;
mod reserve;
mod scan;
mod snapshot;
mod statistics;
mod store;
mod store_durability;
mod store_state;
mod table;
mod table_functions;
mod table_handle;
mod table_kind;
mod table_list;
mod table_name;
mod table_numbers;
pub mod unordered;
mod value_update;
mod values;
mod verify;

pub use honeycomb_accelerator::{Accelerator, Backend, Ranking, Software, ValueView};
pub use honeycomb_btree::{AccessCounts, BatchOutcome, BlockCounts, Existing, LevelCounts, Outcome, Version};
pub use honeycomb_hashtable::ValueColumn;
pub use honeycomb_log::{LogError, Storage, StorageFile};
pub use honeycomb_memory::Faults;

pub use batch::Batch;
pub use clock::{Clock, ManualClock, SystemClock};
pub use config::{Config, LeaseLimits};
pub use durability::{
    Backup, ChangePosition, ChangeStream, Checkpoint, DurabilityConfig, DurabilityStatistics,
    InvalidPosition, OldValue, Recovery, RecoveryProgress, SyncPolicy, TableChange, TableChangeKind,
    WRITE_MICROSECONDS, read_only_files,
};
pub use error::{Error, ImageError};
pub use first_pairs::FirstPairs;
pub use iter::Iter;
pub use loader::Loader;
pub use pairs::{Pairs, PairsIter};
pub use push_down::{PushDown, RangePart};
pub use range::prefix_end;
pub use reads::Reads;
pub use scan::Scan;
pub use snapshot::{Snapshot, SnapshotToken};
pub use statistics::{
    BytesPerPair, MemoryStatistics, SnapshotStatistics, Statistics, TableStatistics, UnorderedStatistics,
    VersionStatistics, WriteStatistics,
};
pub use store::Store;
pub use table::{Swap, Table, Versioned};
pub use table_handle::{TableHandle, TableRef};
pub use table_kind::TableKind;
pub use table_list::TableList;
pub use table_name::TABLE_NAME_BYTES_MAX;
pub use unordered::config::UnorderedConfig;
pub use unordered::table::{UnorderedTable, ValueSwap};
pub use verify::Verified;

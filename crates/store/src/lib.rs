//! Honeycomb: an in-memory **ordered** key-value store whose scans are linearizable, to embed.
//!
//! A [`Store`] holds tables, a [`Table`] holds pairs in the order of their keys, and all operations can be
//! called from any number of threads. Reads are wait-free and see one version: a scan returns what was there
//! at one moment, however much is written meanwhile.
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
//! | for | use |
//! |---|---|
//! | one pair | [`Table::get`], [`Table::put`], [`Table::compare_and_swap`], [`Table::add`], ... |
//! | a few pairs in order | [`Table::scan`] with a [`Scan`], [`Table::scan_into`] without allocating |
//! | many pairs in order | [`Table::iter`], [`Table::range`] |
//! | many reads at once, or many writes | [`Reads`], [`Store::read`]; [`Batch`], [`Store::apply_each`] |
//! | all pairs of a table, sorted | [`Table::load_sorted`], or a [`Loader`] |
//! | writes that belong together | [`Batch`] and [`Store::apply`], over any tables |
//! | reads that belong together | [`Store::snapshot`], [`Reads::get_at`] |
//! | to keep it | [`Store::save`], [`Store::load`] |
//!
//! # Memory
//!
//! A store has one arena of [`Config::memory_bytes`]. A write that finds no room waits for operations in
//! flight that hold some back, and takes the leases of [snapshots](Snapshot) that pin some: writes win over
//! snapshots. If that does not help, it is refused with [`Error::OutOfMemory`]. Nothing has changed then,
//! everything can be read, and removing pairs makes room: a small part of the arena is kept for that.
#![forbid(unsafe_code)]

mod batch;
mod clock;
mod compaction;
mod config;
mod directory;
mod error;
mod image;
mod iter;
mod lanes;
mod lease;
mod loader;
mod numbers;
mod pair_count;
mod pairs;
mod range;
mod reads;
mod reserve;
mod scan;
mod shared;
mod snapshot;
mod statistics;
mod store;
mod table;

pub use batch::Batch;
pub use clock::{Clock, ManualClock, SystemClock};
pub use config::{Config, LeaseLimits};
pub use directory::TABLE_NAME_BYTES_MAX;
pub use error::{Error, ImageError};
pub use honeycomb_accelerator::{Accelerator, Backend, Software};
pub use honeycomb_btree::{AccessCounts, BatchOutcome, BlockCounts, LevelCounts, Outcome, Verified, Version};
pub use honeycomb_memory::Faults;
pub use iter::Iter;
pub use loader::Loader;
pub use pairs::{Pairs, PairsIter};
pub use range::end_of_prefix;
pub use reads::Reads;
pub use scan::Scan;
pub use snapshot::{Snapshot, SnapshotToken};
pub use statistics::{
    BytesPerPair, MemoryStatistics, SnapshotStatistics, Statistics, TableStatistics, VersionStatistics,
    WriteStatistics,
};
pub use store::Store;
pub use table::{Swap, Table, Versioned};

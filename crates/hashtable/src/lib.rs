//! The unordered index: KV-Direct's hash table, with atomic operations on scalars and vectors.
//!
//! A [`Table`] consists of buckets of 64 bytes. A short pair is *inline*, in the slots of its bucket; a
//! longer pair is in a slab, to which a slot refers; a value that is longer than a slab has a buffer of its
//! own. A full bucket continues in a chain. Threads write under the sequence lock of a stripe, and read
//! without locks. `docs/design/hashtable.md` shows the structures, and what differs from the paper.

#![forbid(unsafe_code)]

mod access;
mod batch;
mod bucket;
mod built_in;
mod chains;
mod cleared;
mod column;
mod config;
mod directory;
mod element;
mod error;
mod expected;
mod field;
mod form;
mod forwarding;
mod functions;
mod get_each;
mod growth;
mod hash;
mod in_order;
mod in_place;
mod index;
mod locked_keys;
mod operation;
mod page_map;
mod read;
mod record;
mod recorder;
mod short_slabs;
mod short_value;
mod slab_words;
mod slabs;
mod station;
mod table;
mod verify;
mod visit;
mod walk;
mod watch;
mod windows;
mod write;

pub use batch::Answers;
pub use built_in::BuiltIn;
pub use cleared::Cleared;
pub use column::ValueColumn;
pub use config::TableConfig;
pub use element::Element;
pub use error::Error;
pub use field::{Condition, Fold};
pub use functions::{Bits, FIRST_REGISTERED, Functions, Predicate, Update};
pub use get_each::Value;
pub use locked_keys::{LockedKeys, Resize};
pub use operation::{Operation, Outcome, Request, Span};
pub use recorder::{Before, Recorder};
pub use slabs::SlabUsage;
pub use table::{Session, Table, TableStatistics};
pub use verify::Census;
pub use walk::WalkedPairs;
pub use watch::Watch;

//! The memory that writers and readers share: one arena, and the rules by which its bytes change.
//!
//! Nodes and overflow values are in *buffers* of the arena, each with a bus address. Nodes refer to each
//! other by LID, and the page table maps a LID to the bus address of the node's current buffer. A buffer is
//! private during its construction ([`NodeBuffer`], [`ValueBuffer`]). Once published, it is immutable,
//! except for the fields that the lock-and-size word protects ([`Node`], [`LockedNode`]). At last it is
//! retired, and reclaimed after every operation that can reach it has ended ([`Pin`], [`Lease`],
//! [`Device`]).
//!
//! Unordered tables have *pages*, which all threads access as atomic words ([`PageWords`]), and sequence
//! locks ([`SequenceLock`]) to detect words of different moments.
//!
//! This is the only crate of the index that may contain `unsafe` code. Its API is safe under one rule that
//! types cannot express: no operation that begins after a call of [`Memory::retire`] may reach the retired
//! buffer or LID.

#![allow(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

mod accesses;
mod accounting;
mod address;
mod allocate;
mod allocator;
mod any_pin;
mod arena;
mod bitmap;
mod buddy;
mod buffer;
mod checksum;
mod commit_ahead;
mod commit_pages;
mod config;
mod control;
mod device;
mod device_read;
mod epochs;
mod equal_bytes;
mod error;
mod faults;
mod free_list;
pub mod heads;
pub mod heap;
mod lease;
mod ledger;
mod line_words;
mod lock_word;
mod memory;
mod node;
#[cfg(target_os = "linux")]
mod numa;
mod page_set;
mod page_table;
mod prefetch;
mod priority;
mod record_ring;
mod retire;
mod sequence_lock;
pub mod short_bytes;
mod sleeper;
pub mod sync;
mod table_page;
mod unaligned;
mod versions;

#[cfg(debug_assertions)]
pub use accesses::Accesses;
pub use accounting::Accounting;
pub use address::{BusAddress, Lid};
pub use any_pin::AnyPin;
pub use buffer::{LidReservation, NodeBuffer, ValueBuffer};
pub use checksum::{crc32c, crc32c_each};
pub use config::MemoryConfig;
pub use control::Control;
pub use device::Device;
pub use epochs::Pin;
pub use equal_bytes::{equal_bytes_of, equal_bytes_of_two};
pub use error::MemoryError;
pub use faults::Faults;
pub use lease::{Lease, LeaseUse};
pub use line_words::{LineOffset, LineWords};
pub use lock_word::LockAndSize;
pub use memory::Memory;
pub use node::{LINE_BYTES, LockedNode, LogWords, LogWordsIter, Node, Published};
pub use page_set::PAGE_BYTES;
pub use priority::lower_priority;
pub use record_ring::{RECORD_RING, RING_RECORD_BYTES_MAX, RecordRing};
pub use retire::Retired;
pub use sequence_lock::{SequenceGuard, SequenceLock, lock_all};
pub use sleeper::Sleeper;
pub use table_page::{PageWords, Pages};
pub use versions::{VERSION_RING, Version, Versions};

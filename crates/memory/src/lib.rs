//! The memory that writers and readers share: one arena, and the rules under which its bytes change.
//!
//! Nodes and long values live in *buffers* of the arena and are named by bus address; nodes name each other
//! by LID, and the page table maps a LID to the bus address of the node's current buffer. A buffer is private
//! while it is built ([`NodeBuffer`], [`ValueBuffer`]), then published and immutable but for what the
//! lock-and-size word governs ([`Node`], [`LockedNode`]), then retired, and reclaimed once every operation
//! that could see it has passed ([`Pin`], [`Lease`], [`Device`]).
//!
//! This is the only crate of the index that may use `unsafe`. Its API is safe to use under one rule that no
//! type can carry: what is given to [`Memory::retire`] must be out of reach of every operation that begins
//! afterwards.

#![allow(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

mod accounting;
mod address;
mod allocator;
mod arena;
mod bitmap;
mod buddy;
mod buffer;
mod checksum;
mod config;
mod control;
mod device;
mod device_read;
mod epochs;
mod error;
mod faults;
mod free_list;
pub mod heads;
pub mod heap;
mod lease;
mod ledger;
mod lock_word;
mod memory;
mod node;
#[cfg(target_os = "linux")]
mod numa;
mod page_table;
mod retire;
pub mod sync;
mod versions;

pub use accounting::Accounting;
pub use address::{BusAddress, Lid};
pub use buffer::{LidReservation, NodeBuffer, ValueBuffer};
pub use checksum::{crc32c, crc32c_each};
pub use config::MemoryConfig;
pub use control::Control;
pub use device::Device;
pub use epochs::Pin;
pub use error::MemoryError;
pub use faults::Faults;
pub use lease::{Lease, LeaseUse};
pub use lock_word::LockAndSize;
pub use memory::Memory;
pub use node::{LINE_BYTES, LockedNode, Node, Published};
pub use retire::Retired;
pub use versions::{VERSION_RING, Version, Versions};

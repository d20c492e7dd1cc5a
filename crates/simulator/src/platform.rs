//! Timing models of the machine around the accelerator: host memory behind PCIe, and on-board memory.
//!
//! Each model is a state machine without a clock: the caller passes the current time and new requests, and
//! collects the results. Parameters and seed determine its behaviour.

mod dram_bank;
mod dram_bus;
mod dram_channel;
mod dram_place;
mod dram_timing;
mod host_link;
mod on_board;
mod on_board_counts;
mod pages;
mod preset;
mod quantiles;

pub use dram_channel::DramCounts;
pub use dram_timing::DramTiming;
pub use host_link::{HostBeat, HostLink, HostRead, Link, LinkCounts};
pub use on_board::{Burst, OnBoard, OnBoardBeat, OnBoardMemory};
pub use on_board_counts::OnBoardCounts;
pub use preset::{Platform, UnknownPreset};
pub use quantiles::Quantiles;

/// A time or a duration, in picoseconds.
pub type Picoseconds = u64;

/// Bytes that a bus transfers in a cycle.
pub const LINE_BYTES: usize = 64;

/// Returns the time to transfer some bytes at a bandwidth in bytes per second.
fn transfer_time(bytes: u64, bytes_a_second: u64) -> Picoseconds {
    (u128::from(bytes) * 1_000_000_000_000 / u128::from(bytes_a_second)) as Picoseconds
}

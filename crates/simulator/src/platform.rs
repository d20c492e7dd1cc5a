//! The machine around the accelerator: host memory behind PCIe and on-board memory, as models of their time.
//!
//! Each is a state machine without a clock of its own: it is told what time it is and what is asked of it,
//! and says what it has to give. What it does follows from its parameters and its seed.

mod host_link;
mod on_board;
mod preset;
mod quantiles;

pub use host_link::{HostBeat, HostLink, HostRead, Link, LinkCounts};
pub use on_board::{Burst, OnBoard, OnBoardBeat, OnBoardCounts, OnBoardMemory};
pub use preset::{Platform, UnknownPreset};
pub use quantiles::Quantiles;

/// A time or a span of it, in picoseconds.
pub type Picoseconds = u64;

/// Bytes that a bus moves in a cycle.
pub const LINE_BYTES: usize = 64;

/// The time that so many bytes take at a bandwidth in bytes a second.
fn transfer_time(bytes: u64, bytes_a_second: u64) -> Picoseconds {
    (u128::from(bytes) * 1_000_000_000_000 / u128::from(bytes_a_second)) as Picoseconds
}

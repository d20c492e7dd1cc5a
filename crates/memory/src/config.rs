//! The configuration of a memory.

use std::ops::RangeInclusive;

use honeycomb_layout as layout;

use crate::error::MemoryError;
use crate::faults::Faults;

/// The parameters of a [`Memory`](crate::Memory).
#[derive(Debug, Clone)]
pub struct MemoryConfig {
    /// Bytes of the arena, rounded down to whole nodes. Physical memory is committed on touch. Default 1 GiB.
    pub arena_bytes: usize,
    /// Size of the buffer of a node in bytes: a power of two, 1 KiB to 16 KiB. Default 8 KiB.
    pub node_bytes: usize,
    /// Maximum number of operations in flight, rounded up to a power of two. A further operation waits.
    /// Default 256.
    pub participants: usize,
    /// Maximum number of leases. Default 64.
    pub leases: usize,
    /// Maximum number of devices. Default 8.
    pub devices: usize,
    /// Whether to request huge pages. Default true.
    pub huge_pages: bool,
    /// Whether to interleave pages over all NUMA nodes, because every core reads all pages. A process with a
    /// memory policy of its own (`numactl`) keeps it. Default true.
    pub interleave: bool,
    /// Injected allocation failures, for tests. Default none.
    pub faults: Faults,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            arena_bytes: 1 << 30,
            node_bytes: layout::NODE_BYTES_DEFAULT,
            participants: 256,
            leases: 64,
            devices: 8,
            huge_pages: true,
            interleave: true,
            faults: Faults::default(),
        }
    }
}

/// Minimum size of the arena in nodes.
const ARENA_NODES_MIN: usize = 4;
/// Maximum size of the arena in nodes: indices have 32 bits, and there are a few more LIDs than nodes.
const ARENA_NODES_MAX: usize = 1 << 31;

impl MemoryConfig {
    /// Maximum number of participants of one kind: operations, leases, devices.
    pub const PARTICIPANTS_MAX: usize = 1 << 16;

    /// Returns the allowed bytes of an arena with nodes of this size.
    #[must_use]
    pub fn arena_bytes_allowed(node_bytes: usize) -> RangeInclusive<usize> {
        ARENA_NODES_MIN.saturating_mul(node_bytes)..=ARENA_NODES_MAX.saturating_mul(node_bytes)
    }

    pub(crate) fn check(&self) -> Result<(), MemoryError> {
        let (min, max) = (layout::NODE_BYTES_MIN, layout::NODE_BYTES_MAX);
        if !self.node_bytes.is_power_of_two() || !(min..=max).contains(&self.node_bytes) {
            return Err(invalid(
                "node_bytes",
                self.node_bytes,
                &format!("a power of two from {min} to {max}"),
            ));
        }
        check_range("arena_bytes", self.arena_bytes, Self::arena_bytes_allowed(self.node_bytes))?;
        check_range("participants", self.participants, 1..=Self::PARTICIPANTS_MAX)?;
        check_range("leases", self.leases, 0..=Self::PARTICIPANTS_MAX)?;
        check_range("devices", self.devices, 0..=Self::PARTICIPANTS_MAX)
    }
}

fn check_range(name: &str, value: usize, allowed: RangeInclusive<usize>) -> Result<(), MemoryError> {
    if allowed.contains(&value) {
        return Ok(());
    }
    Err(invalid(name, value, &format!("from {} to {}", allowed.start(), allowed.end())))
}

fn invalid(name: &str, value: usize, allowed: &str) -> MemoryError {
    MemoryError::InvalidConfig(format!("{name} is {value}, must be {allowed}"))
}

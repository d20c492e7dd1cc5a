//! The parameters of a store and their defaults.

use std::sync::Arc;
use std::time::Duration;

use honeycomb_accelerator::{Backend, LONG_SCAN_LEASES, Software};
use honeycomb_btree::Shape;
use honeycomb_hashtable::Functions;
use honeycomb_layout::NODE_BYTES_MAX;
use honeycomb_memory::{Faults, MemoryConfig};

use crate::clock::{Clock, SystemClock};
use crate::durability::config::DurabilityConfig;
use crate::error::Error;

/// The leases of checkpoints, of which there is at most one at a time.
const CHECKPOINT_LEASES: usize = 1;

/// The parameters of a store. They cannot change after [`Store::open`](crate::Store::open).
///
/// ```
/// use honeycomb_store::{Config, Store};
///
/// let store = Store::open(Config { memory_bytes: 64 << 20, ..Config::default() })?;
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    /// Bytes of the arena, which contains all data. The address space is reserved at once, the memory is
    /// allocated page by page. Up to 16 nodes, but at most a 32nd of the arena, are reserved for deletes, so
    /// that a full store can be emptied. Default 1 GiB.
    pub memory_bytes: usize,
    /// Bytes of a node: a power of two, 1 KiB to 16 KiB. The node size limits the length of keys. Default 8
    /// KiB.
    pub node_bytes: usize,
    /// Bytes that the log block of a leaf may reach before the leaf is consolidated. Default 512.
    pub log_threshold_bytes: usize,
    /// Whether writes have versions. Without versions there are no snapshots, and the pairs of a scan, an
    /// iterator or an image may be of different moments; operations on single pairs stay linearizable.
    /// Default true.
    pub mvcc: bool,
    /// Whether the store requests huge pages from the operating system. Default true.
    pub huge_pages: bool,
    /// Whether a thread of the store commits memory before it is allocated: a 32nd of the arena, at most
    /// 16 MiB. Otherwise writers wait while the operating system clears pages. It does nothing in an arena
    /// of less than 64 MiB. Default true.
    pub commit_ahead: bool,
    /// Whether the store requests memory interleaved across all NUMA nodes, because every core reads all of
    /// it. A memory policy of the process (`numactl`) has priority. Default true.
    pub interleave: bool,
    /// Limits of snapshots, unless [`Store::snapshot_with`](crate::Store::snapshot_with) sets others.
    pub lease: LeaseLimits,
    /// Most operations in flight at one time, rounded up to a power of two. Further operations wait. Default
    /// 256. A batch or a read of several keys is one operation, whatever the number of its tables. A function
    /// that a method of the store calls, such as the one that
    /// [`UnorderedTable::get_with`](crate::UnorderedTable::get_with) calls with a value, is a part of an
    /// operation: it must not wait for another one.
    pub concurrent_operations: usize,
    /// Most snapshots at one time. Each iterator and each [`Store::save`](crate::Store::save) counts as one,
    /// and a checkpoint does not. Default 64.
    pub snapshots_max: usize,
    /// Most pairs that one scan returns. Default 65,536.
    pub scan_pairs_max: usize,
    /// The accelerator that executes reads. Default: the [software accelerator](Software).
    pub accelerator: Arc<dyn Backend>,
    /// The clock that leases use. Default: [`SystemClock`].
    pub clock: Arc<dyn Clock>,
    /// Where and when writes become durable. Default: never; the store is in memory only.
    pub durability: Option<DurabilityConfig>,
    /// The functions that operations on values may use, besides the built-in ones. Default: none.
    pub functions: Arc<Functions>,
    /// The seed of the hashes of unordered tables. Clients must not know it, or they could choose keys that
    /// slow a table down. Default `None`: each table has a random one.
    pub hash_seed: Option<u64>,
    /// Makes allocations fail, for tests. Default: never.
    pub faults: Faults,
}

/// Limits of a snapshot. They prevent a reader that never ends from pinning an unbounded amount of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseLimits {
    /// Longest time since the snapshot was taken or renewed. Default 60 seconds.
    pub time: Duration,
    /// Most bytes that writes may replace while the snapshot exists and that it therefore pins. Writes
    /// replace whole nodes: about every tenth write of a short pair replaces one. Default 256 MiB.
    pub bytes: u64,
}

impl Default for LeaseLimits {
    fn default() -> Self {
        Self { time: Duration::from_secs(60), bytes: 256 << 20 }
    }
}

impl Default for Config {
    fn default() -> Self {
        let shape = Shape::default();
        Self {
            memory_bytes: 1 << 30,
            node_bytes: shape.node_bytes,
            log_threshold_bytes: shape.log_threshold_bytes,
            mvcc: true,
            huge_pages: true,
            commit_ahead: true,
            interleave: true,
            lease: LeaseLimits::default(),
            concurrent_operations: 256,
            snapshots_max: 64,
            scan_pairs_max: 65_536,
            accelerator: Arc::new(Software::default()),
            clock: Arc::new(SystemClock::default()),
            durability: None,
            functions: Arc::default(),
            hash_seed: None,
            faults: Faults::default(),
        }
    }
}

impl Config {
    /// Checks the parameters that have other names in the memory, which checks the others.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let participants_max = MemoryConfig::PARTICIPANTS_MAX;
        let mut checked = vec![
            ("concurrent_operations", self.concurrent_operations, 1..=participants_max),
            ("snapshots_max", self.snapshots_max, 0..=participants_max - LONG_SCAN_LEASES),
        ];
        if self.node_bytes <= NODE_BYTES_MAX {
            let allowed = MemoryConfig::arena_bytes_allowed(self.node_bytes);
            checked.push(("memory_bytes", self.memory_bytes, allowed));
        }
        match checked.into_iter().find(|(_, value, allowed)| !allowed.contains(value)) {
            Some((name, value, allowed)) => {
                let (min, max) = allowed.into_inner();
                Err(Error::InvalidConfig(format!("{name} is {value}, must be from {min} to {max}")))
            }
            None => Ok(()),
        }
    }

    /// The configuration of the trees.
    pub(crate) fn forest(&self) -> honeycomb_btree::Config {
        honeycomb_btree::Config {
            memory: MemoryConfig {
                arena_bytes: self.memory_bytes,
                node_bytes: self.node_bytes,
                participants: self.concurrent_operations,
                leases: self.snapshots_max.saturating_add(LONG_SCAN_LEASES + CHECKPOINT_LEASES),
                huge_pages: self.huge_pages,
                interleave: self.interleave,
                faults: self.faults.clone(),
                ..MemoryConfig::default()
            },
            shape: Shape {
                node_bytes: self.node_bytes,
                log_threshold_bytes: self.log_threshold_bytes,
                ..Shape::default()
            },
            mvcc: self.mvcc,
        }
    }
}

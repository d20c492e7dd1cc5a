//! How a store is made.

use std::sync::Arc;
use std::time::Duration;

use honeycomb_accelerator::{Backend, LONG_SCAN_LEASES, Software};
use honeycomb_btree::Shape;
use honeycomb_memory::{Faults, MemoryConfig};

use crate::clock::{Clock, SystemClock};

/// The parameters of a store, set when it is opened.
///
/// ```
/// use honeycomb_store::{Config, Store};
///
/// let store = Store::open(Config { memory_bytes: 64 << 20, ..Config::default() })?;
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    /// Bytes of the arena, which holds all that is stored: address space at once, memory page by page. Up to
    /// 16 nodes (a 32nd part, if that is less) are kept for removals, so that a full store can be emptied.
    /// Default 1 GiB.
    pub memory_bytes: usize,
    /// Bytes of a node: a power of two, 1 KiB to 16 KiB. Default 8 KiB.
    pub node_bytes: usize,
    /// Bytes a leaf's log block may grow to before it is merged. Default 512.
    pub log_threshold_bytes: usize,
    /// Bytes below which no segment of a sorted block is made on purpose. Default 128.
    pub segment_bytes_min: usize,
    /// Bytes of a node's shortcut block: a multiple of 64, at most half the node. Default 448.
    pub shortcut_block_bytes: usize,
    /// Bytes of the tag directory of a leaf: a multiple of 64, with the shortcut block at most half the node.
    /// With one a get reads less than half of the lines of its leaf; pairs take more memory, and writes more
    /// time. Default 0: none.
    pub tag_directory_bytes: usize,
    /// Whether writes have versions. Without them there are no snapshots, and scans, iterators and images are
    /// not of one version; single operations stay linearizable. Default true.
    pub mvcc: bool,
    /// Whether to ask the operating system for huge pages. Default true.
    pub huge_pages: bool,
    /// Whether to ask the operating system for pages on all NUMA nodes in turn, since every core reads all of
    /// them. A process that was given a policy of its own (`numactl`) keeps it. Default true.
    pub interleave: bool,
    /// What a snapshot may use unless it says otherwise
    /// ([`Store::snapshot_with`](crate::Store::snapshot_with)).
    pub lease: LeaseLimits,
    /// Most operations in flight at one time, rounded up to a power of two; further ones wait. Default 256.
    pub concurrent_operations: usize,
    /// Most snapshots at one time; each iterator and each [`Store::save`](crate::Store::save) counts as one.
    /// Default 64.
    pub snapshots_max: usize,
    /// Most pairs that one scan returns. Default 65,536.
    pub scan_pairs_max: usize,
    /// What runs the reads. Default: the [software accelerator](Software).
    pub accelerator: Arc<dyn Backend>,
    /// What leases are timed by. Default: [`SystemClock`].
    pub clock: Arc<dyn Clock>,
    /// Makes allocations fail, for tests. Default: never.
    pub faults: Faults,
}

/// What a snapshot may use before it is too old. A reader that never ends must not pin memory without bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseLimits {
    /// Time since the snapshot was taken or renewed. Default 60 seconds.
    pub time: Duration,
    /// Bytes that writes have replaced since the snapshot was taken, which is what it keeps from being
    /// reclaimed. They are bytes of whole nodes, of which one is replaced by every tenth write of a short
    /// pair or so. Default 256 MiB.
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
            segment_bytes_min: shape.segment_bytes_min,
            shortcut_block_bytes: shape.shortcut_block_bytes,
            tag_directory_bytes: shape.tag_directory_bytes,
            mvcc: true,
            huge_pages: true,
            interleave: true,
            lease: LeaseLimits::default(),
            concurrent_operations: 256,
            snapshots_max: 64,
            scan_pairs_max: 65_536,
            accelerator: Arc::new(Software::default()),
            clock: Arc::new(SystemClock::default()),
            faults: Faults::default(),
        }
    }
}

impl Config {
    /// What the trees are told.
    pub(crate) fn forest(&self) -> honeycomb_btree::Config {
        honeycomb_btree::Config {
            memory: MemoryConfig {
                arena_bytes: self.memory_bytes,
                node_bytes: self.node_bytes,
                participants: self.concurrent_operations,
                leases: self.snapshots_max + LONG_SCAN_LEASES,
                huge_pages: self.huge_pages,
                interleave: self.interleave,
                faults: self.faults.clone(),
                ..MemoryConfig::default()
            },
            shape: Shape {
                node_bytes: self.node_bytes,
                log_threshold_bytes: self.log_threshold_bytes,
                segment_bytes_min: self.segment_bytes_min,
                shortcut_block_bytes: self.shortcut_block_bytes,
                tag_directory_bytes: self.tag_directory_bytes,
                ..Shape::default()
            },
            mvcc: self.mvcc,
        }
    }
}

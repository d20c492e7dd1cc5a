//! Counters of rare events, in words that all threads share.

use std::fmt::Debug;

use honeycomb_memory::sync::{AtomicU64, Ordering};

/// One counter.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn raise_to(&self, count: u64) {
        self.0.fetch_max(count, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counters {
    ($($(#[$about:meta])* $name:ident,)*) => {
        /// The counters of a forest.
        #[derive(Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
        }

        /// Counters of a forest since its creation.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Statistics {
            $($(#[$about])* pub $name: u64,)*
        }

        impl Counters {
            pub(crate) fn statistics(&self) -> Statistics {
                Statistics { $($name: self.$name.get(),)* }
            }
        }
    };
}

counters! {
    /// Leaves whose log block was consolidated into a new sorted block.
    consolidations,
    /// Consolidations in which no item moved.
    patches,
    /// Times that a run of leaves was replaced by more leaves.
    leaf_splits,
    /// Times that a run of leaves was replaced by the same number of leaves.
    leaf_redistributions,
    /// Times that a run of leaves was replaced by fewer leaves.
    leaf_merges,
    /// Times that compaction replaced a run of leaves by fewer leaves.
    compactions,
    /// Bytes that deletes and shorter values have freed inside leaves that still exist.
    shrunk_bytes,
    /// Splits of interior nodes.
    interior_splits,
    /// Merges of an interior node with a neighbour.
    interior_merges,
    /// Times that a tree gained a level.
    root_growths,
    /// Times that a tree lost a level.
    root_collapses,
    /// Retries of writes because another writer held a lock that they needed.
    retries,
    /// Steps of readers from a node to its previous version.
    version_chain_steps,
    /// Most such steps of one read of a node.
    version_chain_max,
    /// Times that a scan descended again from the root because a sibling was newer than its read version.
    scan_descents,
}

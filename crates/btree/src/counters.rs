//! Counts of what happens seldom enough to be counted in shared words.

use std::fmt::Debug;

use honeycomb_memory::sync::{AtomicU64, Ordering};

/// One count.
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
        /// The counts of a forest.
        #[derive(Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
        }

        /// What happened in a forest since it was made.
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
    /// Leaves whose log was merged into a new sorted block.
    consolidations,
    /// Those of them in which no item moved.
    patches,
    /// Times that leaves were replaced by more leaves.
    leaf_splits,
    /// Times that leaves were replaced by as many.
    leaf_shares,
    /// Times that leaves were replaced by fewer.
    leaf_merges,
    /// Times that compaction replaced leaves by fewer.
    compactions,
    /// Bytes of pairs that deletes and shorter values have left without use in leaves that stayed.
    shrunk_bytes,
    /// Interior nodes that were split.
    interior_splits,
    /// Interior nodes that were joined with a neighbour.
    interior_merges,
    /// Times a tree grew a level.
    root_growths,
    /// Times a tree lost a level.
    root_collapses,
    /// Writes that began again because another writer held a lock they needed.
    restarts,
    /// Steps from a node to its previous version, by readers.
    version_chain_steps,
    /// Most such steps for one node.
    version_chain_max,
    /// Times a scan went back to the root because a sibling was younger than its read version.
    scan_descents,
}

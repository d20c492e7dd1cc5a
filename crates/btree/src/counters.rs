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
    (
        structural { $($(#[$structural_about:meta])* $structural:ident,)* }
        others { $($(#[$about:meta])* $name:ident,)* }
    ) => {
        /// The counters of a forest.
        #[derive(Default)]
        pub(crate) struct Counters {
            $($structural: Counter,)*
            $(pub(crate) $name: Counter,)*
        }

        /// The structural changes of a transaction. They count when it commits, because an attempt that
        /// aborts changes nothing.
        #[derive(Clone, Copy, Default, PartialEq, Eq)]
        pub(crate) struct StructuralChanges {
            $(pub(crate) $structural: u32,)*
        }

        /// Counters of a forest since its creation.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Statistics {
            $($(#[$structural_about])* pub $structural: u64,)*
            $($(#[$about])* pub $name: u64,)*
        }

        impl Counters {
            pub(crate) fn statistics(&self) -> Statistics {
                Statistics {
                    $($structural: self.$structural.get(),)*
                    $($name: self.$name.get(),)*
                }
            }

            /// Counts the structural changes of a transaction that has committed.
            #[cold]
            pub(crate) fn add(&self, changes: &StructuralChanges) {
                $(if changes.$structural > 0 {
                    self.$structural.add(u64::from(changes.$structural));
                })*
            }
        }
    };
}

counters! {
    structural {
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
        /// Splits of interior nodes.
        interior_splits,
        /// Merges of an interior node with a neighbour.
        interior_merges,
        /// Times that a tree gained a level.
        root_growths,
        /// Times that a tree lost a level.
        root_collapses,
    }
    others {
        /// Bytes that deletes and shorter values have freed inside leaves that still exist.
        shrunk_bytes,
        /// Retries of writes because another writer held a lock that they needed.
        retries,
        /// Steps of readers from a node to its previous version.
        version_chain_steps,
        /// Most such steps of one read of a node.
        version_chain_max,
        /// Times that a scan descended again from the root because a sibling was newer than its read version.
        scan_descents,
    }
}

//! The maps that are compared, one file each.

mod bf_tree;
mod btree_map;
mod congee;
mod honeycomb;
mod masstree;
mod nothing;
mod skip_map;
mod tree_index;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

pub use bf_tree::Bf;
pub use btree_map::LockedBTreeMap;
pub use congee::Congee;
pub use honeycomb::{Honeycomb, Settings, Unversioned, Versioned};
pub use masstree::Masstree;
pub use nothing::Nothing;
pub use skip_map::SkipList;
pub use tree_index::SccTreeIndex;

use crate::map::{Failure, OrderedMap};

/// A map, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Peer {
    /// Honeycomb
    Honeycomb,
    /// Honeycomb without versions; only if asked for
    HoneycombUnversioned,
    /// Crate masstree: trie of B+trees
    Masstree,
    /// Crate congee: adaptive radix tree with optimistic lock coupling
    Congee,
    /// Crate scc, TreeIndex: B+tree
    SccTreeIndex,
    /// Crate crossbeam-skiplist
    SkipList,
    /// Crate bf-tree, in memory
    BfTree,
    /// The standard library's BTreeMap behind a RwLock
    BTreeMap,
}

/// Something to be done with a map whose type is chosen by name.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// Does it.
    fn visit<M: OrderedMap>(self) -> Result<Self::Output, Failure>;
}

impl Peer {
    /// What a run measures unless told otherwise.
    pub const DEFAULT: [Peer; 7] = [
        Peer::Honeycomb,
        Peer::Masstree,
        Peer::Congee,
        Peer::SccTreeIndex,
        Peer::SkipList,
        Peer::BfTree,
        Peer::BTreeMap,
    ];

    /// Its name in tables and on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().into())
    }

    /// Does something with the map of this name.
    pub fn accept<V: Visitor>(self, visitor: V) -> Result<V::Output, Failure> {
        match self {
            Peer::Honeycomb => visitor.visit::<Honeycomb<Versioned>>(),
            Peer::HoneycombUnversioned => visitor.visit::<Honeycomb<Unversioned>>(),
            Peer::Masstree => visitor.visit::<Masstree>(),
            Peer::Congee => visitor.visit::<Congee>(),
            Peer::SccTreeIndex => visitor.visit::<SccTreeIndex>(),
            Peer::SkipList => visitor.visit::<SkipList>(),
            Peer::BfTree => visitor.visit::<Bf>(),
            Peer::BTreeMap => visitor.visit::<LockedBTreeMap>(),
        }
    }

    /// About how many bytes a pair takes, rounded up: what planning needs before anything is measured.
    pub fn bytes_per_pair(self) -> u64 {
        match self {
            Peer::Honeycomb | Peer::HoneycombUnversioned => 80,
            Peer::Masstree | Peer::Congee | Peer::SkipList => 150,
            Peer::SccTreeIndex | Peer::BfTree | Peer::BTreeMap => 100,
        }
    }
}

/// A key or value in the one size that a map was compiled for.
fn fixed<const BYTES: usize>(bytes: &[u8]) -> Result<[u8; BYTES], Failure> {
    bytes.try_into().map_err(|_| format!("{} bytes, this map was compiled for {BYTES}", bytes.len()).into())
}

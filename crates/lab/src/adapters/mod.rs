//! Adapters of the compared maps, one file each.

mod bf_tree;
mod btree_map;
mod congee;
mod honeycomb;
mod masstree;
mod nothing;
mod options;
mod skip_map;
mod stored;
mod tree_index;

use std::fmt;
use std::str::FromStr;

use honeycomb_workload::names::{name_of, named, names};
use honeycomb_workload::{Sizes, serde_by_name};
use serde::{Deserialize, Serialize};

use crate::map::{Failure, OrderedMap};
pub use honeycomb::Honeycomb;
pub use nothing::Nothing;
pub use options::HoneycombOptions;
use stored::Stored;

/// A map, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Peer {
    /// Honeycomb, with options.
    Honeycomb(HoneycombOptions),
    /// Crate masstree: trie of B+trees.
    Masstree,
    /// Crate congee: adaptive radix tree with optimistic lock coupling.
    Congee,
    /// Crate scc, TreeIndex: B+tree.
    SccTreeIndex,
    /// Crate crossbeam-skiplist.
    SkipList,
    /// Crate bf-tree, in memory.
    BfTree,
    /// The standard library's `BTreeMap` behind a `RwLock`.
    BTreeMap,
    /// No map. It shows the overhead of the benchmark and of the operating system.
    Nothing,
}

/// The name of Honeycomb, before its options.
const HONEYCOMB: &str = "honeycomb";

/// The names of the other maps.
const NAMED: [(Peer, &str); 7] = [
    (Peer::Masstree, "masstree"),
    (Peer::Congee, "congee"),
    (Peer::SccTreeIndex, "scc-tree-index"),
    (Peer::SkipList, "skip-list"),
    (Peer::BfTree, "bf-tree"),
    (Peer::BTreeMap, "b-tree-map"),
    (Peer::Nothing, "nothing"),
];

/// The content of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contents {
    /// Approximate number of pairs.
    pub pairs: u64,
    /// Sizes of their keys and values.
    pub sizes: Sizes,
}

/// A generic function over maps, for a map whose type a name selects.
pub trait Visitor {
    /// The result.
    type Output;

    /// Applies the function to the map that `make` returns.
    fn visit<M: OrderedMap>(self, make: impl FnOnce() -> Result<M, Failure>)
    -> Result<Self::Output, Failure>;
}

impl Peer {
    /// Honeycomb with default options, the reference of all comparisons.
    pub const HONEYCOMB: Peer = Peer::Honeycomb(HoneycombOptions::NONE);

    /// The maps that a run measures by default.
    pub const DEFAULT: [Peer; 7] = [
        Peer::HONEYCOMB,
        Peer::Masstree,
        Peer::Congee,
        Peer::SccTreeIndex,
        Peer::SkipList,
        Peer::BfTree,
        Peer::BTreeMap,
    ];

    /// Applies a visitor to the map with this name.
    pub fn accept<V: Visitor>(self, contents: Contents, visitor: V) -> Result<V::Output, Failure> {
        match contents.sizes {
            Sizes::Fixed { key: 8, value: 8 } => self.accept_of::<[u8; 8], [u8; 8], V>(contents, visitor),
            Sizes::Fixed { key: 16, value: 16 } => self.accept_of::<[u8; 16], [u8; 16], V>(contents, visitor),
            _ => self.accept_of::<Box<[u8]>, Box<[u8]>, V>(contents, visitor),
        }
    }

    fn accept_of<K: Stored, V: Stored, W: Visitor>(
        self,
        contents: Contents,
        visitor: W,
    ) -> Result<W::Output, Failure> {
        match self {
            Peer::Honeycomb(options) => visitor.visit(|| Honeycomb::new(options.config(), contents)),
            Peer::Masstree => visitor.visit(|| Ok(masstree::Masstree::<V>::new())),
            Peer::Congee => visitor.visit(|| Ok(congee::Congee::<K, V>::new())),
            Peer::SccTreeIndex => visitor.visit(|| Ok(tree_index::SccTreeIndex::<K, V>::new())),
            Peer::SkipList => visitor.visit(|| Ok(skip_map::SkipList::<K, V>::new())),
            Peer::BfTree => visitor.visit(|| bf_tree::Bf::new(contents.sizes)),
            Peer::BTreeMap => visitor.visit(|| Ok(btree_map::LockedBTreeMap::<K, V>::new())),
            Peer::Nothing => visitor.visit(|| Ok(Nothing)),
        }
    }

    /// Returns why the map cannot store pairs of these sizes, or `None` if it can.
    pub fn unsupported(self, sizes: Sizes) -> Option<&'static str> {
        let (key_bytes_max, _) = sizes.longest();
        (self == Peer::Masstree && key_bytes_max > 256).then_some("keys of more than 256 bytes")
    }

    /// Returns an upper estimate of the bytes for a pair, which the plan needs before measurements.
    pub fn bytes_per_pair(self, sizes: Sizes) -> u64 {
        let boxes = if sizes == Sizes::DEFAULT { 0 } else { 48 };
        match self {
            Peer::Honeycomb(_) => honeycomb::bytes_per_pair(Contents { pairs: 0, sizes }),
            Peer::Nothing => 0,
            Peer::Masstree | Peer::Congee | Peer::SkipList => 118 + boxes + sizes.pair_bytes(),
            Peer::SccTreeIndex | Peer::BfTree | Peer::BTreeMap => 36 + boxes + 2 * sizes.pair_bytes(),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Peer::Honeycomb(options) = self {
            return write!(formatter, "{HONEYCOMB}{options}");
        }
        formatter.write_str(name_of(&NAMED, self))
    }
}

impl FromStr for Peer {
    type Err = Failure;

    fn from_str(name: &str) -> Result<Peer, Failure> {
        if let Some(options) = name.strip_prefix(HONEYCOMB)
            && (options.is_empty() || options.starts_with(':'))
        {
            return Ok(Peer::Honeycomb(options.parse()?));
        }
        named(&NAMED, name).ok_or_else(|| {
            let (named, form) = (names(&NAMED), HoneycombOptions::form());
            format!("unknown map {name}; expected {HONEYCOMB}, {named}, or {form}").into()
        })
    }
}

serde_by_name!(Peer);

//! The maps that are compared, one file each.

mod bf_tree;
mod btree_map;
mod congee;
mod honeycomb;
mod masstree;
mod nothing;
mod skip_map;
mod stored;
mod tree_index;

use std::fmt;
use std::str::FromStr;

use honeycomb_store::Config;
use serde::{Deserialize, Serialize};

pub use nothing::Nothing;

use crate::keys::Sizes;
use crate::map::{Failure, OrderedMap};
use crate::names::{name_of, named, names, written_by_name};
use stored::Stored;

/// A map, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Peer {
    /// Honeycomb.
    Honeycomb,
    /// Honeycomb without versions: what they cost, and what scans would be worth without them.
    HoneycombUnversioned,
    /// Honeycomb whose leaves have tag directories.
    HoneycombTagDirectory,
    /// Honeycomb whose log blocks may grow to so many bytes.
    HoneycombLog(usize),
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
}

/// The maps of one name each.
const NAMED: [(Peer, &str); 9] = [
    (Peer::Honeycomb, "honeycomb"),
    (Peer::HoneycombUnversioned, "honeycomb-unversioned"),
    (Peer::HoneycombTagDirectory, "honeycomb-tag-directory"),
    (Peer::Masstree, "masstree"),
    (Peer::Congee, "congee"),
    (Peer::SccTreeIndex, "scc-tree-index"),
    (Peer::SkipList, "skip-list"),
    (Peer::BfTree, "bf-tree"),
    (Peer::BTreeMap, "b-tree-map"),
];

/// And those of many.
const LOG: &str = "honeycomb-log";
/// Most bytes of a log block: half a node.
const LOG_BYTES_MAX: usize = 4_096;

/// Bytes of the tag directory of a leaf, where there is one.
const TAG_DIRECTORY_BYTES: usize = 512;

/// What a map is going to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    /// About how many pairs.
    pub pairs: u64,
    /// How long their keys and values are.
    pub sizes: Sizes,
}

/// Something to be done with a map whose type is chosen by name.
pub trait Visitor {
    /// What comes of it.
    type Output;

    /// Does it with what `make` makes.
    fn visit<M: OrderedMap>(self, make: impl FnOnce() -> Result<M, Failure>)
    -> Result<Self::Output, Failure>;
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

    /// Does something with the map of this name.
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
        let honeycomb = |config| honeycomb::Honeycomb::new(config, contents);
        match self {
            Peer::Honeycomb => visitor.visit(|| honeycomb(Config::default())),
            Peer::HoneycombUnversioned => {
                visitor.visit(|| honeycomb(Config { mvcc: false, ..Config::default() }))
            }
            Peer::HoneycombTagDirectory => visitor.visit(|| {
                honeycomb(Config { tag_directory_bytes: TAG_DIRECTORY_BYTES, ..Config::default() })
            }),
            Peer::HoneycombLog(log_threshold_bytes) => {
                visitor.visit(|| honeycomb(Config { log_threshold_bytes, ..Config::default() }))
            }
            Peer::Masstree => visitor.visit(|| Ok(masstree::Masstree::<V>::new())),
            Peer::Congee => visitor.visit(|| Ok(congee::Congee::<K, V>::new())),
            Peer::SccTreeIndex => visitor.visit(|| Ok(tree_index::SccTreeIndex::<K, V>::new())),
            Peer::SkipList => visitor.visit(|| Ok(skip_map::SkipList::<K, V>::new())),
            Peer::BfTree => visitor.visit(|| bf_tree::Bf::new(contents.sizes)),
            Peer::BTreeMap => visitor.visit(|| Ok(btree_map::LockedBTreeMap::<K, V>::new())),
        }
    }

    /// Why the map cannot hold pairs of these sizes, if it cannot.
    pub fn refuses(self, sizes: Sizes) -> Option<&'static str> {
        let (key_bytes_max, _) = sizes.longest();
        (self == Peer::Masstree && key_bytes_max > 256).then_some("keys of more than 256 bytes")
    }

    /// About how many bytes a pair takes, rounded up: what planning needs before anything is measured.
    pub fn bytes_per_pair(self, sizes: Sizes) -> u64 {
        let boxes = if sizes == Sizes::DEFAULT { 0 } else { 48 };
        match self {
            Peer::Honeycomb
            | Peer::HoneycombUnversioned
            | Peer::HoneycombTagDirectory
            | Peer::HoneycombLog(_) => honeycomb::bytes_per_pair(Contents { pairs: 0, sizes }),
            Peer::Masstree | Peer::Congee | Peer::SkipList => 118 + boxes + sizes.pair_bytes(),
            Peer::SccTreeIndex | Peer::BfTree | Peer::BTreeMap => 36 + boxes + 2 * sizes.pair_bytes(),
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Peer::HoneycombLog(bytes) = self {
            return write!(formatter, "{LOG}{bytes}");
        }
        formatter.write_str(name_of(&NAMED, self))
    }
}

impl FromStr for Peer {
    type Err = Failure;

    fn from_str(name: &str) -> Result<Peer, Failure> {
        let logged = || {
            let bytes = name.strip_prefix(LOG)?.parse().ok().filter(|bytes| *bytes <= LOG_BYTES_MAX)?;
            Some(Peer::HoneycombLog(bytes))
        };
        named(&NAMED, name).or_else(logged).ok_or_else(|| {
            format!("no map {name}: there are {}, {LOG}N (N to {LOG_BYTES_MAX})", names(&NAMED)).into()
        })
    }
}

written_by_name!(Peer);

//! The state that all trees of a store share: memory, versions, the shape of nodes, counters.

use std::sync::{Arc, OnceLock};

use honeycomb_layout as layout;
use honeycomb_memory::{Control, Lid, Memory, MemoryConfig, Node, Pin, Version, Versions};

use crate::counters::{Counters, Statistics};
use crate::error::Error;
use crate::journal::Journal;
use crate::node::plan::Plan;
use crate::node::shape::Shape;

/// The configuration of a forest.
#[derive(Debug, Clone)]
pub struct Config {
    /// The arena. `shape` overrides its node size.
    pub memory: MemoryConfig,
    /// The sizes of nodes and of their blocks.
    pub shape: Shape,
    /// Whether writes have versions. Without versions, scans and batches are not linearizable; all other
    /// operations are.
    pub mvcc: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { memory: MemoryConfig::default(), shape: Shape::default(), mvcc: true }
    }
}

/// The version of the state before the first write. It is not 0 because a request with version 0 reads at the
/// current read version.
const FIRST_VERSION: Version = 1;

/// Identifies a tree by the LID of its root, which never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Root(pub(crate) Lid);

impl Root {
    /// Returns the tree whose root has this LID.
    #[must_use]
    pub fn at(lid: Lid) -> Self {
        Self(lid)
    }

    /// Returns the LID of the root.
    #[must_use]
    pub fn lid(self) -> Lid {
        self.0
    }
}

/// B+trees in one arena that share one order of versions.
pub struct Forest {
    memory: Memory,
    shape: Shape,
    /// Limits derived from the shape, cached because every write checks them.
    key_bytes_max: usize,
    inline_value_bytes_max: usize,
    mvcc: bool,
    journal: OnceLock<Arc<dyn Journal>>,
    pub(crate) versions: Versions,
    pub(crate) counters: Counters,
}

impl Forest {
    /// Creates a forest without trees and reserves its arena.
    ///
    /// # Errors
    /// [`Error::InvalidShape`] names an invalid parameter; [`Error::Memory`] if the arena cannot be reserved.
    pub fn new(config: Config) -> Result<Self, Error> {
        config.shape.check()?;
        let memory = MemoryConfig { node_bytes: config.shape.node_bytes, ..config.memory };
        Ok(Self {
            memory: Memory::new(memory)?,
            shape: config.shape,
            key_bytes_max: config.shape.key_bytes_max(),
            inline_value_bytes_max: config.shape.inline_value_bytes_max(),
            mvcc: config.mvcc,
            journal: OnceLock::new(),
            versions: Versions::new(if config.mvcc { FIRST_VERSION } else { 0 }),
            counters: Counters::default(),
        })
    }

    /// Creates an empty tree.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is no memory for its root.
    pub fn create_tree(&self) -> Result<Root, Error> {
        let lid = self.memory.reserve_lid()?;
        let mut buffer = self.memory.allocate_node()?;
        Plan::empty_leaf().build(&mut buffer);
        let lid = lid.keep();
        self.memory.map(lid, buffer);
        Ok(Root(lid))
    }

    /// Registers a device that receives all mappings and versions from now on, and sends it the current read
    /// version.
    ///
    /// # Errors
    /// [`Error::Memory`] if a tree exists already, or too many devices are registered.
    pub fn register(&self, control: Arc<dyn Control>) -> Result<(), Error> {
        self.memory.register(control.clone())?;
        control.publish(self.read_version());
        Ok(())
    }

    /// Releases all versions up to one that a device has received, unless they are already visible to new
    /// readers. Never blocks: a device receives a version only after all writes up to it are done.
    pub fn release_up_to(&self, version: Version) {
        if self.read_version() < version {
            self.versions.advance(|version| self.memory.publish(version));
        }
    }

    /// Sets the journal that receives the changes of all later writes. Only the first call has an effect.
    pub fn set_journal(&self, journal: Arc<dyn Journal>) {
        let _ = self.journal.set(journal);
    }

    /// Whether the journal receives the values before changes. The answer may change at any time.
    #[inline]
    pub fn has_old_values(&self) -> bool {
        self.journal().is_some_and(|journal| journal.has_old_values())
    }

    #[inline]
    pub(crate) fn journal(&self) -> Option<&Arc<dyn Journal>> {
        self.journal.get()
    }

    /// Makes `version` the newest version, unless a later one exists, so that versions continue those of an
    /// earlier process. The forest must have versions, and no other thread may write meanwhile.
    pub fn skip_to(&self, version: Version) {
        if self.read_version() < version {
            self.memory.publish(version);
            self.versions.skip_to(version);
        }
    }

    /// Returns the newest version that a write has taken. It is visible when the read version has reached it.
    #[must_use]
    pub fn newest_version(&self) -> Version {
        self.versions.newest()
    }

    /// Returns the arena and its accounting.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Returns the shape of the nodes.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns whether writes have versions.
    #[must_use]
    pub fn mvcc(&self) -> bool {
        self.mvcc
    }

    /// Returns the newest version whose writes are all visible to new readers.
    #[must_use]
    pub fn read_version(&self) -> Version {
        self.versions.read_version()
    }

    /// Returns the counters since the forest was created.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.counters.statistics()
    }

    /// Returns the bytes that deletes and shorter values have freed inside leaves that still exist; part of
    /// [`Forest::statistics`]. The more it has grown since a pass of [`Forest::compact`] started, the more
    /// memory the next pass may free.
    #[must_use]
    #[inline]
    pub fn shrunk_bytes(&self) -> u64 {
        self.counters.shrunk_bytes.get()
    }

    /// Returns the current buffer of a LID.
    #[inline]
    pub(crate) fn node<'a>(&'a self, pin: &'a Pin<'_>, lid: Lid) -> Node<'a> {
        self.memory.node(pin, lid)
    }

    /// Returns whether a value of this size is an overflow value.
    #[inline]
    pub(crate) fn is_overflow(&self, value_bytes: usize) -> bool {
        value_bytes > self.inline_value_bytes_max
    }

    pub(crate) fn check_key(&self, key: &[u8]) -> Result<(), Error> {
        let max = self.key_bytes_max;
        if (layout::KEY_BYTES_MIN..=max).contains(&key.len()) {
            return Ok(());
        }
        Err(Error::KeyLength { bytes: key.len(), max })
    }

    pub(crate) fn check_value(&self, value: &[u8]) -> Result<(), Error> {
        let max = layout::VALUE_BYTES_MAX;
        if value.len() <= max {
            return Ok(());
        }
        Err(Error::ValueLength { bytes: value.len(), max })
    }
}

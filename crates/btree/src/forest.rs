//! What the trees of a store share: memory, versions, the shape of nodes, counters.

use std::sync::Arc;

use honeycomb_layout as layout;
use honeycomb_memory::{Control, Lid, Memory, MemoryConfig, Node, Pin, Published, Version, Versions};

use crate::counters::{Counters, Statistics};
use crate::error::Error;
use crate::node::builder::Plan;
use crate::node::shape::{Geometry, Shape};
use crate::node::view::View;

/// How a forest is made.
#[derive(Debug, Clone)]
pub struct Config {
    /// The arena; its node size is taken from `shape`.
    pub memory: MemoryConfig,
    /// The nodes.
    pub shape: Shape,
    /// Whether writes have versions. Without, scans and batches are not linearizable; everything else is.
    pub mvcc: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { memory: MemoryConfig::default(), shape: Shape::default(), mvcc: true }
    }
}

/// The version of what is there before the first write. Not 0: a request that names version 0 reads what is
/// visible now.
const FIRST_VERSION: Version = 1;

/// Names a tree: the LID of its root, which never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Root(pub(crate) Lid);

impl Root {
    /// The tree whose root has this LID.
    #[must_use]
    pub fn at(lid: Lid) -> Self {
        Self(lid)
    }

    /// The root's LID.
    #[must_use]
    pub fn lid(self) -> Lid {
        self.0
    }
}

/// B+trees over one arena, with one order of versions.
pub struct Forest {
    memory: Memory,
    shape: Shape,
    geometry: Geometry,
    /// What the shape says, kept since each write asks for it.
    key_bytes_max: usize,
    inline_value_bytes_max: usize,
    mvcc: bool,
    pub(crate) versions: Versions,
    pub(crate) counters: Counters,
}

impl Forest {
    /// Reserves the arena.
    ///
    /// # Errors
    /// [`Error::InvalidShape`] and [`Error::Memory`] say which parameter is not allowed, or that there is no
    /// memory.
    pub fn new(config: Config) -> Result<Self, Error> {
        config.shape.check()?;
        let memory = MemoryConfig { node_bytes: config.shape.node_bytes, ..config.memory };
        Ok(Self {
            memory: Memory::new(memory)?,
            shape: config.shape,
            geometry: config.shape.geometry(),
            key_bytes_max: config.shape.key_bytes_max(),
            inline_value_bytes_max: config.shape.inline_value_bytes_max(),
            mvcc: config.mvcc,
            versions: Versions::new(if config.mvcc { FIRST_VERSION } else { 0 }),
            counters: Counters::default(),
        })
    }

    /// A new, empty tree.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is no room for its root.
    pub fn create_tree(&self) -> Result<Root, Error> {
        let lid = self.memory.reserve_lid()?;
        let mut buffer = self.memory.allocate_node()?;
        Plan::EMPTY_LEAF.build(&self.shape, &mut buffer);
        let lid = lid.keep();
        self.memory.map(lid, buffer);
        Ok(Root(lid))
    }

    /// Registers a device that is to be told of mappings and versions, and tells it what version is visible.
    ///
    /// # Errors
    /// [`Error::Memory`] if a tree was planted already, or there are too many devices.
    pub fn register(&self, control: Arc<dyn Control>) -> Result<(), Error> {
        self.memory.register(control.clone())?;
        control.publish(self.read_version());
        Ok(())
    }

    /// Makes a version that a device was told of visible to new readers, if it is not yet. It waits for
    /// nobody: who told the device has found it done.
    pub fn release_up_to(&self, version: Version) {
        if self.read_version() < version {
            self.versions.advance(|version| self.memory.publish(version));
        }
    }

    /// The arena and its accounting.
    #[must_use]
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// The parameters of the nodes.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether writes have versions.
    #[must_use]
    pub fn mvcc(&self) -> bool {
        self.mvcc
    }

    /// The newest version of which every write is visible to new readers.
    #[must_use]
    pub fn read_version(&self) -> Version {
        self.versions.read_version()
    }

    /// What happened since the forest was made.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.counters.statistics()
    }

    /// Bytes of pairs that were deleted or made shorter in leaves that stayed: a part of
    /// [`Forest::statistics`]. The more were added since a pass of [`Forest::compact`] began, the more the
    /// next one may free.
    #[must_use]
    #[inline]
    pub fn shrunk_bytes(&self) -> u64 {
        self.counters.shrunk_bytes.get()
    }

    #[inline]
    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// A published node as it is now.
    #[inline]
    pub(crate) fn view<'a>(&'a self, node: Node<'a>) -> View<'a> {
        self.view_of(node.published())
    }

    /// A published node as it was.
    #[inline]
    pub(crate) fn view_of<'a>(&'a self, published: Published<'a>) -> View<'a> {
        View::published(self.geometry, published)
    }

    /// The current buffer of a LID.
    #[inline]
    pub(crate) fn node<'a>(&'a self, pin: &'a Pin<'_>, lid: Lid) -> Node<'a> {
        self.memory.node(pin, lid)
    }

    /// Asks for a node's header and shortcuts at once: they are adjacent lines.
    #[inline]
    pub(crate) fn prefetch(&self, node: Node<'_>) {
        node.prefetch(0, self.geometry.shortcuts_end());
    }

    /// Whether a value of so many bytes has a buffer of its own.
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

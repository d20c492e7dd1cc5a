//! Readers: wait-free gets and scans at one version.
//!
//! A reader takes its read version once. Writers delay only one loop here: the walk along previous versions.
//! It takes one step for each replacement of the node since the reader took its version; the forest counts
//! these steps.

use honeycomb_layout::node_header;
use honeycomb_memory::{AnyPin, LeaseUse, Lid, Node, Pin, Published, Version};

use crate::forest::{Forest, Root};
use crate::node::item::{Item, ValueReference};
use crate::node::key::SearchKey;
use crate::node::search::{LEFTMOST, child_at, child_for, last_child, lower_bound};
use crate::node::view::View;
use crate::read::access_stats::AccessStats;

/// A read operation at one version. While it exists, no memory that it can reach is reclaimed.
pub struct Reader<'a> {
    forest: &'a Forest,
    pin: AnyPin<'a>,
    version: Version,
    access_stats: Option<&'a AccessStats>,
}

/// The value of a pair, and the version that
/// [`Operation::CompareVersionAndSwap`](crate::Operation::CompareVersionAndSwap) expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookupResult<'a> {
    /// The value's bytes.
    pub value: &'a [u8],
    /// Grows with every change of the pair, and may grow when its leaf is consolidated.
    pub version: Version,
}

/// Selects a leaf as the target of a descent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LeafPosition<'a> {
    /// The leaf that a key is routed to.
    Key(&'a [u8]),
    /// The leaf that ends at a key, which is a fence key.
    Before(&'a [u8]),
    First,
    Last,
}

impl Forest {
    /// Returns a reader of the current read version.
    #[must_use]
    pub fn reader(&self) -> Reader<'_> {
        let pin = self.memory().pin();
        // Pin first: buffers that this version needs are retired only after their replacements are released.
        let version = self.read_version();
        Reader { forest: self, pin: AnyPin::Own(pin), version, access_stats: None }
    }

    /// Returns a reader of the current read version, under a pin of the caller.
    #[must_use]
    pub fn reader_under<'a>(&'a self, pin: &'a Pin<'a>) -> Reader<'a> {
        let (pin, version) = (AnyPin::Borrowed(pin), self.read_version());
        Reader { forest: self, pin, version, access_stats: None }
    }

    /// Returns a reader of a version that was acquired under a lease. The lease must be in use.
    #[must_use]
    pub fn reader_at<'a>(&'a self, lease: &'a LeaseUse<'a>, version: Version) -> Reader<'a> {
        Reader { forest: self, pin: AnyPin::Borrowed(lease.pin()), version, access_stats: None }
    }
}

impl<'a> Reader<'a> {
    /// Makes the reader count its memory accesses in `access_stats`, if given.
    #[must_use]
    pub fn with_access_stats(self, access_stats: Option<&'a AccessStats>) -> Self {
        Self { access_stats, ..self }
    }

    #[inline]
    pub(crate) fn access_stats(&self) -> Option<&'a AccessStats> {
        self.access_stats
    }
}

impl Reader<'_> {
    /// Returns the version at which this reader reads.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the value of a key.
    #[must_use]
    pub fn get(&self, root: Root, key: &[u8]) -> Option<LookupResult<'_>> {
        self.descend_to_get(self.start(root), key).descend().get()
    }

    pub(crate) fn forest(&self) -> &Forest {
        self.forest
    }

    pub(crate) fn pin(&self) -> &Pin<'_> {
        &self.pin
    }

    /// Returns the bytes of an item's value, inline or overflow.
    #[inline]
    pub(crate) fn value<'s>(&'s self, item: Item<'s>) -> &'s [u8] {
        self.overflow_value(item).unwrap_or_else(|| item.value())
    }

    /// Returns the bytes of an item's value if it is an overflow value.
    #[inline(always)]
    pub(crate) fn overflow_value<'s>(&'s self, item: Item<'s>) -> Option<&'s [u8]> {
        item.header.overflow().then(|| self.value_at(item.value()))
    }

    /// Returns the bytes of an overflow value.
    #[inline(never)]
    fn value_at(&self, reference: &[u8]) -> &[u8] {
        let at = ValueReference::read(reference);
        self.forest.memory().value(self.pin(), at.address, at.length)
    }

    /// Returns the node of a LID at this reader's version; `None` when the LID is newer.
    #[inline]
    pub(crate) fn node(&self, lid: Lid) -> Option<View<'_>> {
        self.at_version(self.current(lid)).map(View::published)
    }

    /// Returns the current buffer of a LID without reading from it.
    #[inline]
    pub(crate) fn current(&self, lid: Lid) -> Node<'_> {
        self.forest.node(self.pin(), lid)
    }

    /// Returns the node as it was at this reader's version; `None` when it is newer.
    #[inline(always)]
    pub(crate) fn at_version<'s>(&'s self, node: Node<'s>) -> Option<Published<'s>> {
        if self.sees(node) {
            return Some(node.published());
        }
        self.previous(node).map(Node::published)
    }

    /// Returns whether a node is not newer than this reader.
    #[inline(always)]
    pub(crate) fn sees(&self, node: Node<'_>) -> bool {
        node.word(node_header::NODE_VERSION_OFFSET) <= self.version
    }

    #[cold]
    fn previous<'s>(&'s self, mut node: Node<'s>) -> Option<Node<'s>> {
        let counters = &self.forest.counters;
        let mut steps = 0;
        while !self.sees(node) {
            node = node.previous()?;
            steps += 1;
        }
        counters.version_chain_steps.add(steps);
        counters.version_chain_max.raise_to(steps);
        Some(node)
    }

    /// Descends to a leaf without a key. Returns `None` only if the tree is newer than the reader.
    pub(crate) fn descend(&self, root: Root, toward: LeafPosition<'_>) -> Option<View<'_>> {
        let mut view = self.node(root.0)?;
        while !view.is_leaf() {
            view = self.node(child_toward(view, toward).1).expect("a child is not newer than its parent");
        }
        Some(view)
    }
}

/// Returns the child of an interior node on the way to a leaf, and its position.
#[inline]
pub(crate) fn child_toward(view: View<'_>, toward: LeafPosition<'_>) -> (usize, Lid) {
    let prefix = view.prefix_length();
    let position = match toward {
        LeafPosition::Key(key) => return child_for(view, SearchKey::new(&key[prefix..])),
        LeafPosition::Before(fence) => position_before(view, fence),
        LeafPosition::First => LEFTMOST,
        LeafPosition::Last => last_child(view),
    };
    (position, child_at(view, position))
}

/// Returns the position of the last child whose keys are all smaller than `fence`, which is at most the
/// node's high fence.
fn position_before(view: View<'_>, fence: &[u8]) -> usize {
    // The high fence may lack the prefix. Then all children are before it.
    let Some(suffix) = fence.strip_prefix(view.prefix()) else { return last_child(view) };
    lower_bound(view, SearchKey::new(suffix)).position
}

//! Readers: wait-free gets and scans at one version.
//!
//! A reader takes its read version once. No loop here depends on what writers do, but the walk along previous
//! versions: its length is the number of times a node was replaced since the read version was taken, and is
//! counted.

use honeycomb_layout::node_header;
use honeycomb_memory::{LeaseUse, Lid, Node, Pin, Published, Version};

use crate::forest::{Forest, Root};
use crate::node::item::{Item, ValueReference};
use crate::node::key::SearchKey;
use crate::node::view::View;
use crate::read::search::{LEFTMOST, child_at, child_before, child_for, last_child, lower_bound};
use crate::read::touched::Touched;

/// One operation in flight on a forest, at one version. As long as it lives, nothing it can see is reclaimed.
pub struct Reader<'a> {
    forest: &'a Forest,
    pin: ReaderPin<'a>,
    version: Version,
    touched: Option<&'a Touched>,
}

/// What keeps memory from being reclaimed under a reader.
enum ReaderPin<'a> {
    Own(Pin<'a>),
    Leased(&'a Pin<'a>),
}

/// A pair's value, and the version that `compare_version_and_swap` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LookupResult<'a> {
    /// The value's bytes.
    pub value: &'a [u8],
    /// Grows with every change of the pair, and may grow when its leaf is merged.
    pub version: Version,
}

/// Which leaf to go down to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LeafPosition<'a> {
    /// The leaf that a key is routed to.
    Key(&'a [u8]),
    /// The leaf of the keys right before a key, which is a fence.
    Before(&'a [u8]),
    First,
    Last,
}

impl Forest {
    /// A reader of all that is visible now.
    #[must_use]
    pub fn reader(&self) -> Reader<'_> {
        let pin = self.memory().pin();
        // After the pin: what replaces something this version needs is released, and so retired, only later.
        let version = self.read_version();
        Reader { forest: self, pin: ReaderPin::Own(pin), version, touched: None }
    }

    /// A reader at a version taken under a lease that is in use.
    #[must_use]
    pub fn reader_at<'a>(&'a self, lease: &'a LeaseUse<'a>, version: Version) -> Reader<'a> {
        Reader { forest: self, pin: ReaderPin::Leased(lease.pin()), version, touched: None }
    }
}

impl<'a> Reader<'a> {
    /// The same reader, counting what it touches, if it is told where.
    #[must_use]
    pub fn counting(self, touched: Option<&'a Touched>) -> Self {
        Self { touched, ..self }
    }

    #[inline]
    pub(crate) fn touched(&self) -> Option<&'a Touched> {
        self.touched
    }
}

impl Reader<'_> {
    /// The version this reader sees.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, root: Root, key: &[u8]) -> Option<LookupResult<'_>> {
        self.descend_to_get(root, key).descend().get()
    }

    pub(crate) fn forest(&self) -> &Forest {
        self.forest
    }

    pub(crate) fn pin(&self) -> &Pin<'_> {
        match &self.pin {
            ReaderPin::Own(pin) => pin,
            ReaderPin::Leased(pin) => pin,
        }
    }

    /// The bytes of an item's value, wherever they are.
    #[inline]
    pub(crate) fn value<'s>(&'s self, item: Item<'s>) -> &'s [u8] {
        self.overflow_value(item).unwrap_or_else(|| item.value())
    }

    /// The bytes of an item's value, if they are in a buffer of their own.
    #[inline(always)]
    pub(crate) fn overflow_value<'s>(&'s self, item: Item<'s>) -> Option<&'s [u8]> {
        item.header.overflow().then(|| self.value_at(item.value()))
    }

    /// The bytes of a value in a buffer of its own.
    #[inline(never)]
    fn value_at(&self, reference: &[u8]) -> &[u8] {
        let at = ValueReference::read(reference);
        self.forest.memory().value(self.pin(), at.address, at.length)
    }

    /// The node that a LID named at this reader's version; none if the LID is younger.
    #[inline]
    pub(crate) fn node(&self, lid: Lid) -> Option<View<'_>> {
        self.at_version(self.current(lid)).map(|published| self.forest.view_of(published))
    }

    /// The current node of a LID, of which nothing was read yet.
    #[inline]
    pub(crate) fn current(&self, lid: Lid) -> Node<'_> {
        self.forest.node(self.pin(), lid)
    }

    /// The node as it was at this reader's version; none if it is younger.
    #[inline]
    pub(crate) fn at_version<'s>(&'s self, node: Node<'s>) -> Option<Published<'s>> {
        if node.word(node_header::NODE_VERSION_OFFSET) <= self.version {
            return Some(node.published());
        }
        self.previous(node).map(Node::published)
    }

    #[cold]
    fn previous<'s>(&'s self, mut node: Node<'s>) -> Option<Node<'s>> {
        let counters = &self.forest.counters;
        let mut steps = 0;
        while node.word(node_header::NODE_VERSION_OFFSET) > self.version {
            node = node.previous()?;
            steps += 1;
        }
        counters.version_chain_steps.add(steps);
        counters.version_chain_max.raise_to(steps);
        Some(node)
    }

    /// Goes down to a leaf that no key leads to. None only if the tree is younger than the reader.
    pub(crate) fn descend(&self, root: Root, toward: LeafPosition<'_>) -> Option<View<'_>> {
        let mut view = self.node(root.0)?;
        while !view.is_leaf() {
            view = self.node(child_toward(view, toward).1).expect("a child is not younger than its parent");
        }
        Some(view)
    }
}

/// The child of an interior node on the way to a leaf, and its position.
#[inline]
pub(crate) fn child_toward(view: View<'_>, toward: LeafPosition<'_>) -> (usize, Lid) {
    let prefix = view.prefix_length();
    let position = match toward {
        LeafPosition::Key(key) => return child_for(view, &SearchKey::new(&key[prefix..])),
        LeafPosition::Before(fence) => position_before(view, fence),
        LeafPosition::First => LEFTMOST,
        LeafPosition::Last => last_child(view),
    };
    (position, child_at(view, position))
}

/// The last child whose keys all are smaller than `fence`, which is at most the node's high fence.
fn position_before(view: View<'_>, fence: &[u8]) -> usize {
    // The high fence itself need not have the prefix; then every child lies before it.
    let Some(suffix) = fence.strip_prefix(view.prefix()) else { return last_child(view) };
    let place = lower_bound(view, &SearchKey::new(suffix));
    child_before(view, place.offset).unwrap_or(LEFTMOST)
}

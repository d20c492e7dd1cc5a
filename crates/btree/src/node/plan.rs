//! The plan of a node, and its construction in a private buffer.

use honeycomb_memory::Lid;

use crate::node::columns;
use crate::node::counts::Counts;
use crate::node::fences::Fences;
use crate::node::header::write_header;
use crate::node::item_run::{ItemRun, Items};
use crate::node::shape::{BLOCK_START, LEAF};
use crate::node::size::{NodeKind, Size};

/// The complete contents of a node, except its version, which publication sets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'a> {
    kind: NodeKind,
    fences: Fences<'a>,
    /// The left sibling of a leaf, or the leftmost child of an interior node.
    left: Option<Lid>,
    right: Option<Lid>,
    item_runs: &'a [ItemRun<'a>],
    size: Size,
}

impl<'a> Plan<'a> {
    /// Returns the plan of a node of a kind with items, which have this size in it.
    pub(crate) fn new(
        kind: NodeKind,
        fences: Fences<'a>,
        [left, right]: [Option<Lid>; 2],
        items: &'a Items<'_>,
        size: Size,
    ) -> Self {
        debug_assert_eq!(kind.prefix, fences.prefix_length());
        debug_assert_eq!(size, items.size(kind));
        Self { kind, fences, left, right, item_runs: &items.item_runs, size }
    }

    /// Returns the plan of an empty leaf without siblings, the root of a new tree.
    pub(crate) fn empty_leaf() -> Plan<'static> {
        let kind = NodeKind { level: LEAF, prefix: 0 };
        Plan { kind, fences: Fences::NONE, left: None, right: None, item_runs: &[], size: Size::default() }
    }

    /// Returns the bytes of the sorted block.
    pub(crate) fn sorted_bytes(&self) -> usize {
        self.kind.block_bytes(self.size, self.fences)
    }

    /// Writes the node to `buffer`.
    pub(crate) fn build(&self, buffer: &mut [u8]) {
        let Self { kind, fences, size, .. } = *self;
        let built = columns::build::build(buffer, kind, fences, size, self.item_runs);
        debug_assert_eq!(built.sorted_end, BLOCK_START + self.sorted_bytes());
        let counts = Counts::new(kind.level, kind.prefix, (built.sorted_end, size.count), built.group_bits);
        write_header(buffer, built.sorted_end, [self.left, self.right], counts.0);
    }
}

//! The sizes of items that are copied from a node in columns.

use std::ops::Range;

use crate::node::columns::Columns;
use crate::node::columns::encoding::word_and_rest;
use crate::node::size::{Lengths, Size};

impl Columns<'_> {
    /// Returns the size of some items of an interior node, or of a leaf without a stride, in a new node of
    /// the same level and prefix.
    pub(crate) fn size(self, indexes: Range<usize>, prefix: usize) -> Size {
        let (count, item_bytes) = (indexes.len(), self.item_range(indexes.clone()).len());
        let lengths = if self.is_leaf() { self.lengths(indexes, prefix) } else { Lengths::Mixed };
        Size { count, item_bytes, lengths }
    }

    /// Returns the lengths of some items of a leaf without a stride. Most often the first two differ.
    fn lengths(self, indexes: Range<usize>, prefix: usize) -> Lengths {
        let mut lengths = Lengths::None;
        for index in indexes {
            let header = word_and_rest(self.from(self.stored_offset(index))).0;
            lengths = lengths.and(Lengths::of(header, prefix));
            if lengths == Lengths::Mixed {
                break;
            }
        }
        lengths
    }
}

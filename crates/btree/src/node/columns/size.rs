//! The sizes of items that are copied from a node in columns.

use std::ops::Range;

use crate::node::columns::Columns;
use crate::node::columns::encoding::word_and_rest;
use crate::node::size::{Lengths, Size};

impl Columns<'_> {
    /// Returns the size of some items of an interior node, or of a leaf without a stride, in a new node of
    /// the same level and prefix; `None` if it must be computed from each item.
    pub(crate) fn size(self, indexes: Range<usize>, prefix: usize) -> Option<Size> {
        let count = indexes.len();
        if !self.is_leaf() {
            return (!self.has_separator_items()).then_some(Size {
                count,
                item_bytes: 0,
                lengths: Lengths::Mixed,
            });
        }
        let item_bytes = self.item_range(indexes.clone()).len();
        Some(Size { count, item_bytes, lengths: self.lengths(indexes, prefix) })
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

//! The bytes that items need in a new node, before it is built.

use crate::node::columns::encoding::{self, CHILD_BYTES, Stride, aligned};
use crate::node::fences::Fences;
use crate::node::item::ItemHeader;
use crate::node::shape::LEAF;
use crate::node::suffix::HEAD_BYTES;

/// The lengths of the keys and values of some items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Lengths {
    /// There are no items.
    #[default]
    None,
    /// All keys have one length, and all values have one length and are inline.
    Equal {
        /// Bytes of the whole key.
        key: usize,
        value: usize,
    },
    Mixed,
}

impl Lengths {
    /// Returns the lengths of an item whose key lacks `prefix` bytes.
    #[inline]
    pub(crate) fn of(header: ItemHeader, prefix: usize) -> Self {
        if header.overflow() {
            return Self::Mixed;
        }
        Self::Equal { key: prefix + header.suffix_bytes(), value: header.value_bytes() }
    }

    /// Returns the lengths of these items and others.
    #[inline]
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, lengths) | (lengths, Self::None) => lengths,
            (one, other) if one == other => one,
            _ => Self::Mixed,
        }
    }
}

/// The number and the size of the items of a new node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) count: usize,
    /// Bytes of the items with their words.
    pub(crate) item_bytes: usize,
    pub(crate) lengths: Lengths,
}

impl Size {
    /// Returns the size of this many items of the size of one.
    #[inline]
    pub(crate) fn times(self, count: usize) -> Self {
        let lengths = if count > 0 { self.lengths } else { Lengths::None };
        Self { count: count * self.count, item_bytes: count * self.item_bytes, lengths }
    }

    #[inline]
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            item_bytes: self.item_bytes + other.item_bytes,
            lengths: self.lengths.and(other.lengths),
        }
    }
}

/// The kind of node for which items are sized.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NodeKind {
    pub(crate) level: usize,
    /// Bytes of the node's prefix.
    pub(crate) prefix: usize,
}

impl NodeKind {
    /// Returns the size of one item, given the lengths of its suffix and its value in a node with a prefix of
    /// `prefix` bytes. `is_determined` tells whether an interior node needs no item for it.
    #[inline]
    pub(crate) fn one(self, header: ItemHeader, prefix: usize, is_determined: impl FnOnce() -> bool) -> Size {
        let lengths = Lengths::of(header, prefix);
        let header = header.with_suffix_bytes(header.suffix_bytes() + prefix - self.prefix);
        let item_bytes = if self.level == LEAF {
            encoding::item_bytes(header)
        } else if is_determined() {
            0
        } else {
            encoding::item_bytes(ItemHeader::new(header.suffix_bytes(), 0))
        };
        Size { count: 1, item_bytes, lengths }
    }

    /// Returns the stride of a leaf with these items.
    pub(crate) fn stride(self, size: Size) -> Option<Stride> {
        match size.lengths {
            Lengths::Equal { key, value } if self.level == LEAF => {
                Some(Stride { suffix_bytes: key - self.prefix, value_bytes: value })
            }
            _ => None,
        }
    }

    /// Returns the bytes of the sorted block of a node with these items.
    pub(crate) fn block_bytes(self, size: Size, fences: Fences<'_>) -> usize {
        let items_start = aligned(self.columns_bytes(size) + fences.bytes());
        items_start + self.stride(size).map_or(size.item_bytes, |stride| size.count * stride.bytes())
    }

    /// Returns the bytes of the heads, of the offsets or children, and of the next heads.
    pub(crate) fn columns_bytes(self, size: Size) -> usize {
        if self.level > LEAF {
            encoding::children_offset(size.count) + (CHILD_BYTES + next_head_bytes(size)) * size.count
        } else if self.stride(size).is_some() {
            HEAD_BYTES * size.count
        } else {
            (HEAD_BYTES + encoding::OFFSET_BYTES) * size.count
        }
    }

    /// Returns the bytes that some items take in a node with all items, without fences and padding.
    #[inline]
    pub(crate) fn share_of(self, all: Size, some: Size) -> usize {
        if self.level > LEAF {
            return (HEAD_BYTES + CHILD_BYTES + next_head_bytes(all)) * some.count + some.item_bytes;
        }
        match self.stride(all) {
            Some(stride) => (HEAD_BYTES + stride.bytes()) * some.count,
            None => (HEAD_BYTES + encoding::OFFSET_BYTES) * some.count + some.item_bytes,
        }
    }
}

/// Returns the bytes of each next head of an interior node with these items.
fn next_head_bytes(size: Size) -> usize {
    if size.item_bytes > 0 { HEAD_BYTES } else { 0 }
}

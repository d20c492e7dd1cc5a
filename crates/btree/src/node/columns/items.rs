//! Iteration over adjacent items of a leaf, for scans.

use std::ops::Range;

use crate::node::columns::Columns;
use crate::node::columns::encoding::{ALIGNMENT, word_and_rest};
use crate::node::item::ItemHeader;

/// Adjacent items of a leaf with a stride.
pub(crate) struct EqualItems<'a> {
    header: ItemHeader,
    stride_bytes: usize,
    heads: std::slice::Iter<'a, [u8; 8]>,
    /// The first item and the bytes after it.
    from: &'a [u8],
}

impl<'a> EqualItems<'a> {
    /// Returns the lengths of each item.
    #[inline]
    pub(crate) fn header(&self) -> ItemHeader {
        self.header
    }

    /// Returns the lengths of each item, the distance between two items, and the bytes from the first one on.
    #[inline]
    pub(crate) fn into_parts(self) -> (ItemHeader, usize, &'a [u8]) {
        (self.header, self.stride_bytes, self.from)
    }

    /// Iterates over the heads of the keys, each with the `N` bytes of the node from the rest of the key on.
    /// Ends before an item after which the node has fewer bytes.
    #[inline(always)]
    pub(crate) fn chunks<const N: usize>(self) -> impl Iterator<Item = (u64, &'a [u8; N])> {
        let Self { heads, mut from, stride_bytes, .. } = self;
        heads.map_while(move |head| {
            let chunk = from.first_chunk()?;
            from = from.get(stride_bytes..).unwrap_or(&[]);
            Some((u64::from_le_bytes(*head), chunk))
        })
    }
}

impl<'a> Columns<'a> {
    /// Returns items of a leaf with a stride; `None` for a leaf without.
    #[inline(always)]
    pub(crate) fn equal_items(self, indexes: Range<usize>) -> Option<EqualItems<'a>> {
        let stride = self.stride()?;
        let stride_bytes = self.stride_bytes();
        let from = self.from(self.items_start() + stride_bytes * indexes.start);
        let heads = self.heads_of(indexes).iter();
        Some(EqualItems { header: stride.header(), stride_bytes, heads, from })
    }

    /// Returns items of a leaf without a stride: lengths, head, and the bytes of the node from the rest of
    /// the key on.
    #[inline]
    pub(crate) fn unequal_items(
        self,
        indexes: Range<usize>,
    ) -> impl Iterator<Item = (ItemHeader, u64, &'a [u8])> {
        let offsets = &self.offsets()[indexes.clone()];
        self.heads_of(indexes).iter().zip(offsets).map(move |(head, offset)| {
            let (header, rest) =
                word_and_rest(self.from(ALIGNMENT * usize::from(u16::from_le_bytes(*offset))));
            (header, u64::from_le_bytes(*head), rest)
        })
    }
}

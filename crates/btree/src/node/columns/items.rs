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
    /// The next item and the bytes after it.
    from: &'a [u8],
}

impl EqualItems<'_> {
    /// Returns the lengths of each item.
    #[inline]
    pub(crate) fn header(&self) -> ItemHeader {
        self.header
    }
}

impl<'a> Iterator for EqualItems<'a> {
    /// The head of a key, and the bytes of the node from the rest of the key on.
    type Item = (u64, &'a [u8]);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let head = u64::from_le_bytes(*self.heads.next()?);
        let item = self.from;
        self.from = item.get(self.stride_bytes..).unwrap_or(&[]);
        Some((head, item))
    }
}

impl<'a> Columns<'a> {
    #[inline]
    fn heads_of(self, indexes: Range<usize>) -> &'a [[u8; 8]] {
        &self.heads().as_chunks().0[indexes]
    }

    /// Returns items of a leaf with a stride; `None` for a leaf without.
    #[inline]
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

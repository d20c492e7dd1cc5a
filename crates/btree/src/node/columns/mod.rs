//! Nodes in columns: samples, heads, offsets or children, next heads, items.
//!
//! ```text
//!   0 header
//!  64 columns: place of the items, their stride and lengths, 15 samples
//! 192 heads: the first eight bytes of each key suffix as a number, 8 bytes each
//!     leaf with a stride:    fence keys | items, all of one length
//!     leaf without a stride: offsets of the items, 2 bytes each, in units of 4 | fence keys | items
//!     interior node: zeros up to 16 heads | children, 8 bytes each | next heads | fence keys | items of
//!                    separators
//! ```
//! An item of a leaf has the bytes of the key suffix after its head and the value; without a stride an item
//! word with the lengths is before them. Items begin at multiples of four bytes. A separator of an interior
//! node has an item, with a word and without a value, only if its head does not determine it: if it is longer
//! than a head or ends with a zero byte. If some separators of a node have items, the node has the next heads
//! of all: the first eight bytes after each head, as a number.

pub(crate) mod build;
pub(crate) mod check;
pub(crate) mod encoding;
mod equal_heads;
pub(crate) mod items;
pub(crate) mod merge;
pub(crate) mod patch;
pub(crate) mod search;
pub(crate) mod size;

use std::ops::Range;

use honeycomb_layout::{COLUMN_HEADS_OFFSET, column_child, columns as layout, node_header};
use honeycomb_memory::{LINE_BYTES, Lid, heads};

use crate::node::columns::encoding::{
    ALIGNMENT, CHILD_BYTES, OFFSET_BYTES, Stride, WORD_BYTES, children_offset, determined_length, item_of,
    word_and_rest,
};
use crate::node::counts::Counts;
use crate::node::item::{CHILD_LID_BYTES, Item, ItemHeader};
use crate::node::shape::LEAF;
use crate::node::suffix::{HEAD_BYTES, Suffix, bytes_after_head};

const _: () = assert!(COLUMN_HEADS_OFFSET == node_header::SIZE + layout::SIZE);
const _: () = assert!(COLUMN_HEADS_OFFSET.is_multiple_of(LINE_BYTES));

/// The columns of a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns<'a> {
    /// Bytes of the node from offset 64 on.
    body: &'a [u8],
    /// The header word with the fields `sorted_end` to `level`.
    counts: Counts,
}

/// The fields of the word at offset 64.
#[derive(Debug, Clone, Copy)]
struct Place(u64);

impl Place {
    #[inline]
    fn field(self, offset: usize) -> usize {
        (self.0 >> (8 * offset)) as usize & 0xffff
    }

    #[inline]
    fn items_start(self) -> usize {
        self.field(layout::ITEMS_START_OFFSET)
    }

    #[inline]
    fn stride_bytes(self) -> usize {
        self.field(layout::STRIDE_OFFSET)
    }

    #[inline]
    fn stride(self) -> Stride {
        Stride {
            suffix_bytes: self.field(layout::SUFFIX_LENGTH_OFFSET),
            value_bytes: self.field(layout::VALUE_LENGTH_OFFSET),
        }
    }
}

impl<'a> Columns<'a> {
    #[inline(always)]
    pub(crate) fn new(body: &'a [u8], counts: Counts) -> Self {
        Self { body, counts }
    }

    #[inline(always)]
    pub(crate) fn is_leaf(self) -> bool {
        self.counts.level() == LEAF
    }

    #[inline(always)]
    pub(crate) fn level(self) -> usize {
        self.counts.level()
    }

    /// Returns the length of the node's prefix.
    #[inline(always)]
    pub(crate) fn prefix_length(self) -> usize {
        self.counts.prefix_length()
    }

    #[inline(always)]
    pub(crate) fn sorted_end(self) -> usize {
        self.counts.sorted_end()
    }

    #[inline]
    pub(crate) fn from(self, offset: usize) -> &'a [u8] {
        &self.body[offset - node_header::SIZE..]
    }

    #[inline]
    fn place(self) -> Place {
        Place(u64::from_le_bytes(*self.body.first_chunk().expect("the columns begin with a word")))
    }

    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        self.counts.sorted_count()
    }

    /// Returns the binary logarithm of the number of heads in a group.
    #[inline(always)]
    pub(crate) fn group_bits(self) -> usize {
        self.counts.group_bits()
    }

    /// Returns the offset of the first item.
    #[inline]
    pub(crate) fn items_start(self) -> usize {
        self.place().items_start()
    }

    /// Returns the stored bytes of each item; 0 if the items have different lengths.
    pub(crate) fn stride_bytes(self) -> usize {
        self.place().stride_bytes()
    }

    /// Returns the form of the items; `None` if they have different lengths.
    #[inline]
    pub(crate) fn stride(self) -> Option<Stride> {
        let place = self.place();
        (place.stride_bytes() > 0).then(|| place.stride())
    }

    /// Returns the lengths of keys and values of a leaf with a stride; zeros in other nodes.
    pub(crate) fn stride_lengths(self) -> Stride {
        self.place().stride()
    }

    /// Returns whether stride and lengths are zero.
    pub(crate) fn is_without_stride(self) -> bool {
        self.stride_bytes() == 0 && self.stride_lengths() == Stride::default()
    }

    /// Returns the samples, and the word before them.
    #[inline]
    pub(crate) fn samples(self) -> &'a [u8; layout::SIZE] {
        const _: () = assert!(layout::SAMPLES_OFFSET == HEAD_BYTES && layout::SIZE == heads::GROUP_BYTES);
        self.body.first_chunk().expect("a node has samples")
    }

    /// Returns the first head of the second group; the greatest number if there is none.
    #[inline]
    fn first_sample(self) -> u64 {
        u64::from_le_bytes(
            *self.samples()[layout::SAMPLES_OFFSET..].first_chunk().expect("a node has samples"),
        )
    }

    /// Returns the heads from an index on, and the bytes after them.
    #[inline]
    fn heads_from(self, index: usize) -> &'a [u8] {
        &self.body[layout::SIZE + HEAD_BYTES * index..]
    }

    /// Returns the heads, eight bytes each.
    #[inline]
    pub(crate) fn heads(self) -> &'a [u8] {
        &self.body[layout::SIZE..][..HEAD_BYTES * self.count()]
    }

    #[inline]
    pub(crate) fn head(self, index: usize) -> u64 {
        u64::from_le_bytes(*self.heads_from(index).first_chunk().expect("a head has eight bytes"))
    }

    /// Returns the offset of the offsets of a leaf without a stride.
    #[inline]
    pub(crate) fn offsets_start(self) -> usize {
        self.heads_end()
    }

    /// Returns the average bytes of an item of a leaf, without reading the items.
    #[inline]
    pub(crate) fn likely_item_bytes(self) -> usize {
        match self.stride_bytes() {
            0 => (self.sorted_end() - self.items_start()) / self.count().max(1),
            bytes => bytes,
        }
    }

    /// Returns the offset after the heads.
    #[inline]
    fn heads_end(self) -> usize {
        COLUMN_HEADS_OFFSET + HEAD_BYTES * self.count()
    }

    /// Returns the offset of the children of an interior node.
    #[inline]
    pub(crate) fn children_start(self) -> usize {
        COLUMN_HEADS_OFFSET + children_offset(self.count())
    }

    /// Returns the offset of the next heads of an interior node some of whose separators have items.
    #[inline]
    pub(crate) fn next_heads_start(self) -> usize {
        self.children_start() + CHILD_BYTES * self.count()
    }

    /// Returns the bytes of the heads column that no head uses.
    pub(crate) fn padding_after_heads(self) -> &'a [u8] {
        let end = if self.is_leaf() { self.heads_end() } else { self.children_start() };
        &self.from(self.heads_end())[..end - self.heads_end()]
    }

    #[inline]
    pub(crate) fn fences_start(self) -> usize {
        if !self.is_leaf() {
            let next_heads = if self.has_separator_items() { HEAD_BYTES * self.count() } else { 0 };
            return self.next_heads_start() + next_heads;
        }
        self.heads_end() + if self.stride_bytes() == 0 { OFFSET_BYTES * self.count() } else { 0 }
    }

    /// Returns the offset of an item of a leaf without a stride; the end of the sorted block for the index
    /// after the last.
    #[inline]
    fn stored_offset(self, index: usize) -> usize {
        if index == self.count() {
            return self.sorted_end();
        }
        let bytes = self.from(self.offsets_start() + OFFSET_BYTES * index);
        ALIGNMENT * usize::from(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    /// Returns the offset of an item of a leaf; the end of the sorted block for the index after the last.
    #[inline]
    pub(crate) fn item_offset(self, index: usize) -> usize {
        let place = self.place();
        match place.stride_bytes() {
            0 => self.stored_offset(index),
            bytes => place.items_start() + index * bytes,
        }
    }

    /// Returns the range of the items from one index up to another.
    #[inline]
    pub(crate) fn item_range(self, indexes: Range<usize>) -> Range<usize> {
        if self.is_leaf() {
            return self.item_offset(indexes.start)..self.item_offset(indexes.end);
        }
        self.separator_item_offset(indexes.start)..self.separator_item_offset(indexes.end)
    }

    /// Returns the offset of the first item of the separators from an index on; the end of the sorted block
    /// if they have none.
    fn separator_item_offset(self, index: usize) -> usize {
        if !self.has_separator_items() {
            return self.sorted_end();
        }
        let mut offsets = (index..self.count()).map(|index| self.rest_offset(index));
        offsets.find(|&at| at > 0).unwrap_or_else(|| self.sorted_end())
    }

    /// Returns the bytes of the node in a range of offsets.
    #[inline]
    fn bytes(self, range: Range<usize>) -> &'a [u8] {
        &self.from(range.start)[..range.len()]
    }

    /// Returns the heads of some items.
    #[inline]
    fn heads_of(self, indexes: Range<usize>) -> &'a [[u8; HEAD_BYTES]] {
        &self.heads().as_chunks().0[indexes]
    }

    /// Returns the offsets of the items of a leaf without a stride, two bytes each.
    fn offsets(self) -> &'a [[u8; OFFSET_BYTES]] {
        self.from(self.heads_end())[..OFFSET_BYTES * self.count()].as_chunks().0
    }

    /// Returns the children of an interior node, eight bytes each.
    fn children(self) -> &'a [[u8; CHILD_BYTES]] {
        self.from(self.children_start())[..CHILD_BYTES * self.count()].as_chunks().0
    }

    /// Returns the next heads of an interior node some of whose separators have items, eight bytes each.
    #[inline]
    fn next_heads(self) -> &'a [[u8; HEAD_BYTES]] {
        self.from(self.next_heads_start())[..HEAD_BYTES * self.count()].as_chunks().0
    }

    /// Returns the next head of a separator of an interior node some of whose separators have items.
    #[inline(always)]
    fn next_head(self, index: usize) -> u64 {
        let bytes = self.from(self.next_heads_start() + HEAD_BYTES * index);
        u64::from_le_bytes(*bytes.first_chunk().expect("a next head has eight bytes"))
    }

    /// Returns an element of the children of an interior node.
    #[inline]
    pub(crate) fn child_word(self, index: usize) -> u64 {
        let bytes = self.from(self.children_start() + CHILD_BYTES * index);
        u64::from_le_bytes(*bytes.first_chunk().expect("a child has eight bytes"))
    }

    /// Returns the child of an interior node after the separator with this index.
    #[inline]
    pub(crate) fn child(self, index: usize) -> Lid {
        Lid::new(column_child::lid(self.child_word(index))).expect("a child's LID is never zero")
    }

    /// Returns the item at an index.
    #[inline]
    pub(crate) fn item(self, index: usize) -> Item<'a> {
        let head = self.head(index);
        if !self.is_leaf() {
            return self.separator_item(index, head);
        }
        let (header, bytes) = self.item_bytes(index);
        item_of(header, head, bytes)
    }

    /// Returns the lengths and flags of the item of a leaf, and the bytes from the rest of its key on.
    #[inline(always)]
    fn item_bytes(self, index: usize) -> (ItemHeader, &'a [u8]) {
        let place = self.place();
        match place.stride_bytes() {
            0 => word_and_rest(self.from(self.stored_offset(index))),
            bytes => (place.stride().header(), self.from(place.items_start() + index * bytes)),
        }
    }

    /// Returns the form of the items of a leaf and the bytes of one of them, if all have one form.
    #[inline(always)]
    fn item_with_stride(self, index: usize) -> Option<(Stride, &'a [u8])> {
        let place = self.place();
        let bytes = place.stride_bytes();
        (bytes > 0).then(|| (place.stride(), self.from(place.items_start() + index * bytes)))
    }

    /// Returns the lengths and flags of the item of a leaf.
    #[inline]
    pub(crate) fn item_header(self, index: usize) -> ItemHeader {
        self.item_bytes(index).0
    }

    /// Returns the range of the value of an item of a leaf.
    pub(crate) fn value_range(self, index: usize) -> Range<usize> {
        let header = self.item_header(index);
        let word = if self.stride_bytes() == 0 { WORD_BYTES } else { 0 };
        let start = self.item_offset(index) + word + bytes_after_head(header.suffix_bytes());
        start..start + header.value_bytes()
    }

    fn separator_item(self, index: usize, head: u64) -> Item<'a> {
        let suffix = self.separator(index, head);
        let at = self.children_start() + CHILD_BYTES * index;
        let header = ItemHeader::new(suffix.len(), CHILD_LID_BYTES);
        Item::new(header, suffix, &self.from(at)[..CHILD_LID_BYTES])
    }

    /// Returns the offset of the item of a separator; 0 if it has none.
    #[inline]
    pub(crate) fn rest_offset(self, index: usize) -> usize {
        ALIGNMENT * column_child::rest(self.child_word(index)) as usize
    }

    /// Returns the separator before a child of an interior node.
    #[inline]
    fn separator(self, index: usize, head: u64) -> Suffix<'a> {
        match self.rest_offset(index) {
            0 => Suffix::after_head(head, determined_length(head), &[]),
            at => {
                let (header, rest) = word_and_rest(self.from(at));
                let length = header.suffix_bytes();
                Suffix::after_head(head, length, &rest[..bytes_after_head(length)])
            }
        }
    }

    /// Returns whether some separators of an interior node have items.
    pub(crate) fn has_separator_items(self) -> bool {
        self.items_start() < self.sorted_end()
    }

    /// Returns the length of the key suffix at an index, and the bytes of the node from those after its head
    /// on, for comparisons with keys that have the same head.
    #[inline(always)]
    fn suffix_of<const LEAF: bool>(self, index: usize) -> (usize, &'a [u8]) {
        let (header, bytes) = match LEAF {
            true => self.item_bytes(index),
            false => match self.rest_offset(index) {
                0 => return (determined_length(self.head(index)), &[]),
                at => word_and_rest(self.from(at)),
            },
        };
        (header.suffix_bytes(), bytes)
    }

    /// Returns the indexes of a group of heads.
    #[inline]
    pub(crate) fn group(self, group: usize) -> Range<usize> {
        let start = group << self.group_bits();
        start..(start + (1 << self.group_bits())).min(self.count())
    }
}

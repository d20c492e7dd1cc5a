//! The encoding of items and separators of nodes in columns, and the sizes of columns.

use honeycomb_layout::{COLUMN_GROUP_BITS_MIN, columns as layout};
use honeycomb_memory::{heads, short_bytes};

use crate::node::item::{Item, ItemHeader};
use crate::node::suffix::{HEAD_BYTES, Suffix, bytes_after_head};

/// Items begin at multiples of this.
pub(crate) const ALIGNMENT: usize = 4;
pub(crate) const WORD_BYTES: usize = size_of::<u32>();
pub(crate) const OFFSET_BYTES: usize = size_of::<u16>();
pub(crate) const CHILD_BYTES: usize = size_of::<u64>();

/// The form of all items of a leaf with a stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stride {
    pub(crate) suffix_bytes: usize,
    pub(crate) value_bytes: usize,
}

impl Stride {
    /// Returns the bytes of each item; never zero, which means that there is no stride.
    #[inline]
    pub(crate) fn bytes(self) -> usize {
        aligned(bytes_after_head(self.suffix_bytes) + self.value_bytes).max(ALIGNMENT)
    }

    /// Returns the value of an item from the bytes from the rest of its key on.
    #[inline(always)]
    pub(crate) fn value_in(self, bytes: &[u8]) -> &[u8] {
        &bytes[bytes_after_head(self.suffix_bytes)..][..self.value_bytes]
    }

    /// Returns the lengths of each item.
    #[inline]
    pub(crate) fn header(self) -> ItemHeader {
        ItemHeader::new(self.suffix_bytes, self.value_bytes)
    }
}

/// Returns the smallest multiple of the alignment that is not less than `bytes`.
#[inline]
pub(crate) fn aligned(bytes: usize) -> usize {
    (bytes + ALIGNMENT - 1) & !(ALIGNMENT - 1)
}

/// Returns the bytes of an item with its word.
#[inline]
pub(crate) fn item_bytes(header: ItemHeader) -> usize {
    item_bytes_for(header.suffix_bytes(), header.value_bytes())
}

/// Returns the bytes of an item with these lengths.
#[inline]
pub(crate) fn item_bytes_for(suffix_bytes: usize, value_bytes: usize) -> usize {
    WORD_BYTES + aligned(bytes_after_head(suffix_bytes) + value_bytes)
}

/// Returns the lengths and flags of the item that starts `bytes`, and the bytes after its word.
#[inline]
pub(crate) fn word_and_rest(bytes: &[u8]) -> (ItemHeader, &[u8]) {
    let (word, rest) = bytes.split_first_chunk().expect("an item has a word");
    (ItemHeader::from_word(u32::from_le_bytes(*word)), rest)
}

/// Returns an item from its lengths, its head, and the bytes of the rest of its key and its value.
#[inline]
pub(crate) fn item_of(header: ItemHeader, head: u64, bytes: &[u8]) -> Item<'_> {
    let length = header.suffix_bytes();
    let (rest, after) = bytes.split_at(bytes_after_head(length));
    Item::new(header, Suffix::after_head(head, length, rest), &after[..header.value_bytes()])
}

/// Returns the value of an item from the bytes from the rest of its key on.
#[inline(always)]
pub(crate) fn value_in(header: ItemHeader, bytes: &[u8]) -> &[u8] {
    &bytes[bytes_after_head(header.suffix_bytes())..][..header.value_bytes()]
}

/// Writes an item with its word, the bytes of its key after the head, its value and zeros up to the
/// alignment.
#[inline(always)]
pub(crate) fn write_item(out: &mut [u8], header: ItemHeader, rest: &[u8], value: &[u8]) {
    out[..WORD_BYTES].copy_from_slice(&header.word().to_le_bytes());
    write_rest(&mut out[WORD_BYTES..item_bytes(header)], rest, value);
}

/// Fills `out` with the rest of a key, a value, and at most [`ALIGNMENT`] zeros.
#[inline(always)]
pub(crate) fn write_rest(out: &mut [u8], rest: &[u8], value: &[u8]) {
    debug_assert!((rest.len() + value.len()..=rest.len() + value.len() + ALIGNMENT).contains(&out.len()));
    // First, because one store of a constant length is cheaper than a fill of the padding.
    if let Some(last) = out.last_chunk_mut() {
        *last = [0; ALIGNMENT];
    }
    let (first, after) = out.split_at_mut(rest.len());
    short_bytes::copy(rest, first);
    short_bytes::copy(value, &mut after[..value.len()]);
}

/// Writes the offsets of items that are copied from one offset to another.
#[inline]
pub(crate) fn shift_offsets(
    out: &mut [[u8; OFFSET_BYTES]],
    offsets: &[[u8; OFFSET_BYTES]],
    from: usize,
    to: usize,
) {
    let shift = ((to / ALIGNMENT) as u16).wrapping_sub((from / ALIGNMENT) as u16);
    for (out, offset) in out.iter_mut().zip(offsets) {
        *out = u16::from_le_bytes(*offset).wrapping_add(shift).to_le_bytes();
    }
}

/// Returns the length of a separator that its head determines.
#[inline]
pub(crate) fn determined_length(head: u64) -> usize {
    HEAD_BYTES - head.trailing_zeros() as usize / 8
}

/// Returns whether the head of a separator determines it.
#[inline]
pub(crate) fn is_determined(head: u64, length: usize) -> bool {
    length == determined_length(head)
}

/// Returns the offset of the children after the start of the heads, in a node with `count` separators.
#[inline]
pub(crate) fn children_offset(count: usize) -> usize {
    HEAD_BYTES * ((count + heads::GROUP - 1) & !(heads::GROUP - 1))
}

/// Returns the binary logarithm of the number of heads in a group: the smallest with which the samples cover
/// all groups but the first.
pub(crate) fn group_bits_for(count: usize) -> usize {
    let groups = layout::SAMPLES_COUNT + 1;
    let needed = count.div_ceil(groups).next_power_of_two().trailing_zeros() as usize;
    needed.max(COLUMN_GROUP_BITS_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_cover_all_heads() {
        assert_eq!([0, 1, 256, 257, 512, 513, 1024].map(group_bits_for), [4, 4, 4, 5, 5, 6, 6]);
        for count in 0..2100_usize {
            assert!(count.div_ceil(1 << group_bits_for(count)) <= layout::SAMPLES_COUNT + 1, "{count}");
        }
    }

    #[test]
    fn children_begin_after_groups_of_heads() {
        assert_eq!([0, 1, 15, 16, 17, 32].map(children_offset), [0, 128, 128, 128, 256, 256]);
    }

    #[test]
    fn heads_determine_separators_without_zeros_at_the_end() {
        use crate::node::key::head;
        let is = |separator: &[u8]| is_determined(head(separator), separator.len());
        assert!(is(b"a") && is(b"\0a") && is(b"abcdefgh"));
        assert!(!is(b"a\0") && !is(b"\0") && !is(b"abcdefghi") && !is(b"abcdefg\0"));
    }
}

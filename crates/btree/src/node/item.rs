//! Items: a key after the node's prefix, and a value. An item that is not in a node is encoded so:
//!
//! ```text
//! | item word, 4 | key suffix, 0..=460 | value, 0..=469 |
//! ```
//! The value of a leaf's item is the value itself or a `value_reference`; that of an interior node's item is
//! the LID of a child. Nodes store items in another form (see `columns`).

use honeycomb_layout::{column_child, item_word, value_reference};
use honeycomb_memory::{BusAddress, Lid};

use crate::node::suffix::Suffix;

/// Bytes of the value of an interior node's item: the LID of a child.
pub(crate) const CHILD_LID_BYTES: usize = (column_child::LID_BITS / 8) as usize;
const _: () = assert!(column_child::LID_BITS.is_multiple_of(8));
/// Bytes of an encoded item's header.
const HEADER_BYTES: usize = (item_word::BITS / 8) as usize;

/// The lengths and the flags of an item: an item word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemHeader(u32);

const LOG_FLAGS: u64 = item_word::REPLACES_MASK << item_word::REPLACES_SHIFT
    | item_word::REPEATS_MASK << item_word::REPEATS_SHIFT;

impl ItemHeader {
    #[inline]
    pub(crate) fn new(suffix_bytes: usize, value_bytes: usize) -> Self {
        let word = item_word::with_suffix_length(0, suffix_bytes as u64);
        Self(item_word::with_value_length(word, value_bytes as u64) as u32)
    }

    /// Returns the header of an encoded item.
    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> Self {
        Self(u32::from_le_bytes(*bytes.first_chunk().expect("an item has a header")))
    }

    /// Returns the header with the bits of an item word.
    #[inline]
    pub(crate) fn from_word(word: u32) -> Self {
        Self(word)
    }

    #[inline]
    pub(crate) fn word(self) -> u32 {
        self.0
    }

    #[inline]
    fn bits(self) -> u64 {
        u64::from(self.0)
    }

    #[inline]
    pub(crate) fn suffix_bytes(self) -> usize {
        item_word::suffix_length(self.bits()) as usize
    }

    #[inline]
    pub(crate) fn value_bytes(self) -> usize {
        item_word::value_length(self.bits()) as usize
    }

    /// Returns the bytes of the whole encoded item.
    #[inline]
    pub(crate) fn item_bytes(self) -> usize {
        HEADER_BYTES + self.suffix_bytes() + self.value_bytes()
    }

    #[inline]
    pub(crate) fn overflow(self) -> bool {
        item_word::overflow(self.bits()) != 0
    }

    /// Returns the reference to the overflow value of an item with these value bytes, if it has one.
    #[inline]
    pub(crate) fn reference(self, value: &[u8]) -> Option<ValueReference> {
        self.overflow().then(|| ValueReference::read(value))
    }

    #[inline]
    pub(crate) fn tombstone(self) -> bool {
        item_word::tombstone(self.bits()) != 0
    }

    #[inline]
    pub(crate) fn replaces(self) -> bool {
        item_word::replaces(self.bits()) != 0
    }

    #[inline]
    pub(crate) fn repeats(self) -> bool {
        item_word::repeats(self.bits()) != 0
    }

    pub(crate) fn padding(self) -> u64 {
        item_word::padding(self.bits())
    }

    pub(crate) fn with_overflow(self, is: bool) -> Self {
        Self(item_word::with_overflow(self.bits(), u64::from(is)) as u32)
    }

    pub(crate) fn with_tombstone(self, is: bool) -> Self {
        Self(item_word::with_tombstone(self.bits(), u64::from(is)) as u32)
    }

    pub(crate) fn with_place(self, replaces: bool, repeats: bool) -> Self {
        let word = item_word::with_replaces(self.bits(), u64::from(replaces));
        Self(item_word::with_repeats(word, u64::from(repeats)) as u32)
    }

    /// Returns the header of the same item in a sorted block.
    #[inline]
    pub(crate) fn without_log_flags(self) -> Self {
        Self(self.0 & !(LOG_FLAGS as u32))
    }

    #[inline]
    pub(crate) fn with_suffix_bytes(self, bytes: usize) -> Self {
        Self(item_word::with_suffix_length(self.bits(), bytes as u64) as u32)
    }
}

/// An item in a node, or an encoded one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item<'a> {
    pub(crate) header: ItemHeader,
    suffix: Suffix<'a>,
    value: &'a [u8],
}

impl<'a> Item<'a> {
    #[inline]
    pub(crate) fn new(header: ItemHeader, suffix: Suffix<'a>, value: &'a [u8]) -> Self {
        debug_assert_eq!((header.suffix_bytes(), header.value_bytes()), (suffix.len(), value.len()));
        Self { header, suffix, value }
    }

    /// Returns the encoded item at the start of `bytes`.
    #[inline]
    pub(crate) fn read(bytes: &'a [u8]) -> Self {
        let header = ItemHeader::read(bytes);
        let (suffix, rest) = bytes[HEADER_BYTES..].split_at(header.suffix_bytes());
        Self { header, suffix: Suffix::whole(suffix), value: &rest[..header.value_bytes()] }
    }

    #[inline]
    pub(crate) fn suffix(self) -> Suffix<'a> {
        self.suffix
    }

    #[inline]
    pub(crate) fn value(self) -> &'a [u8] {
        self.value
    }

    /// Returns the reference to the item's overflow value, if it has one.
    #[inline]
    pub(crate) fn reference(self) -> Option<ValueReference> {
        self.header.reference(self.value)
    }

    /// Returns the child of an interior node's item.
    #[inline]
    pub(crate) fn child(self) -> Lid {
        let mut bytes = [0; 8];
        bytes[..CHILD_LID_BYTES].copy_from_slice(self.value);
        Lid::new(u64::from_le_bytes(bytes)).expect("a child's LID is never zero")
    }
}

/// The location of an overflow value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValueReference {
    pub(crate) address: BusAddress,
    pub(crate) length: usize,
}

impl ValueReference {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut address = [0; 8];
        address[..value_reference::ADDRESS_BYTES].copy_from_slice(&bytes[..value_reference::ADDRESS_BYTES]);
        let mut length = [0; 4];
        length.copy_from_slice(&bytes[value_reference::LENGTH_OFFSET..value_reference::SIZE]);
        Self {
            address: BusAddress::new(u64::from_le_bytes(address)).expect("a value's address is never zero"),
            length: u32::from_le_bytes(length) as usize,
        }
    }

    pub(crate) fn to_bytes(self) -> [u8; value_reference::SIZE] {
        let mut bytes = [0; value_reference::SIZE];
        bytes[..value_reference::ADDRESS_BYTES]
            .copy_from_slice(&self.address.get().to_le_bytes()[..value_reference::ADDRESS_BYTES]);
        bytes[value_reference::LENGTH_OFFSET..].copy_from_slice(&(self.length as u32).to_le_bytes());
        bytes
    }
}

/// Returns an encoded item.
pub(crate) fn encode(header: ItemHeader, suffix: &[u8], value: &[u8]) -> ItemBytes {
    debug_assert_eq!((header.suffix_bytes(), header.value_bytes()), (suffix.len(), value.len()));
    let mut bytes = ItemBytes::from_slice(&header.0.to_le_bytes());
    bytes.extend_from_slice(suffix);
    bytes.extend_from_slice(value);
    bytes
}

/// Returns the encoded item of an interior node.
pub(crate) fn encode_child(suffix: &[u8], lid: Lid) -> ItemBytes {
    let header = ItemHeader::new(suffix.len(), CHILD_LID_BYTES);
    encode(header, suffix, &lid.get().to_le_bytes()[..CHILD_LID_BYTES])
}

/// An encoded item. Most items are short.
pub(crate) type ItemBytes = smallvec::SmallVec<[u8; 64]>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_read_back() {
        for (suffix, value) in [(0, 0), (1, 469), (460, 0), (14, 16)] {
            let (suffix, value) = (vec![7; suffix], vec![9; value]);
            let header = ItemHeader::new(suffix.len(), value.len()).with_place(true, true);
            let mut bytes = encode(header, &suffix, &value);
            bytes.push(0xaa);
            let item = Item::read(&bytes);
            assert!(item.suffix().equals(&suffix));
            assert_eq!(item.value(), value);
            assert!(item.header.replaces() && item.header.repeats() && !item.header.tombstone());
            assert_eq!(item.header.without_log_flags(), ItemHeader::new(suffix.len(), value.len()));
        }
    }

    #[test]
    fn references_and_children_read_back() {
        let reference =
            ValueReference { address: BusAddress::new(0x1234_5678_9a00).unwrap(), length: 16 << 20 };
        assert_eq!(ValueReference::read(&reference.to_bytes()), reference);
        let lid = Lid::new((1 << 48) - 1).unwrap();
        assert_eq!(Item::read(&encode_child(b"key", lid)).child(), lid);
    }
}

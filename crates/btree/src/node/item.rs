//! Items: a three-byte header, the key after the node's prefix, and the value.
//!
//! ```text
//! | item header, 3 | key suffix, 0..=460 | value, 0..=469 |
//! ```
//! The value of a leaf's item is the value itself or a `value_reference`; that of an interior node's item is
//! a `child`.

use honeycomb_layout::{child, item_header, value_reference};
use honeycomb_memory::{BusAddress, Lid};

use crate::node::in_node::InNode;

/// Bytes of an item's header.
pub(crate) const HEADER_BYTES: usize = (item_header::BITS / 8) as usize;

const LOG_FLAGS: u64 = item_header::REPLACES_MASK << item_header::REPLACES_SHIFT
    | item_header::REPEATS_MASK << item_header::REPEATS_SHIFT;

/// The decoded first three bytes of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemHeader(u64);

impl ItemHeader {
    pub(crate) fn new(suffix_bytes: usize, value_bytes: usize) -> Self {
        let word = item_header::with_suffix_length(0, suffix_bytes as u64);
        Self(item_header::with_value_length(word, value_bytes as u64))
    }

    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> Self {
        // Load four bytes at once if there is a fourth byte. Only an empty item at the end of a node has none
        // after it.
        let word =
            bytes.first_chunk::<4>().map_or_else(|| Self::read_last(bytes), |four| u32::from_le_bytes(*four));
        Self(u64::from(word) & ((1 << item_header::BITS) - 1))
    }

    #[cold]
    fn read_last(bytes: &[u8]) -> u32 {
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0])
    }

    pub(crate) fn write(self, bytes: &mut [u8]) {
        bytes[..HEADER_BYTES].copy_from_slice(&self.0.to_le_bytes()[..HEADER_BYTES]);
    }

    #[inline]
    pub(crate) fn suffix_bytes(self) -> usize {
        item_header::suffix_length(self.0) as usize
    }

    #[inline]
    pub(crate) fn value_bytes(self) -> usize {
        item_header::value_length(self.0) as usize
    }

    /// Returns the bytes of the whole item.
    #[inline]
    pub(crate) fn item_bytes(self) -> usize {
        HEADER_BYTES + self.suffix_bytes() + self.value_bytes()
    }

    /// Like [`ItemHeader::item_bytes`], but only for items of interior nodes. It takes fewer instructions.
    #[inline]
    pub(crate) fn child_item_bytes(self) -> usize {
        debug_assert_eq!(self.value_bytes(), child::SIZE);
        HEADER_BYTES + self.suffix_bytes() + child::SIZE
    }

    pub(crate) fn overflow(self) -> bool {
        item_header::overflow(self.0) != 0
    }

    pub(crate) fn tombstone(self) -> bool {
        item_header::tombstone(self.0) != 0
    }

    pub(crate) fn replaces(self) -> bool {
        item_header::replaces(self.0) != 0
    }

    pub(crate) fn repeats(self) -> bool {
        item_header::repeats(self.0) != 0
    }

    pub(crate) fn padding(self) -> u64 {
        item_header::padding(self.0)
    }

    pub(crate) fn with_overflow(self, is: bool) -> Self {
        Self(item_header::with_overflow(self.0, u64::from(is)))
    }

    pub(crate) fn with_tombstone(self, is: bool) -> Self {
        Self(item_header::with_tombstone(self.0, u64::from(is)))
    }

    pub(crate) fn with_place(self, replaces: bool, repeats: bool) -> Self {
        let word = item_header::with_replaces(self.0, u64::from(replaces));
        Self(item_header::with_repeats(word, u64::from(repeats)))
    }

    /// Returns the header of the same item in a sorted block.
    pub(crate) fn without_log_flags(self) -> Self {
        Self(self.0 & !LOG_FLAGS)
    }

    pub(crate) fn with_suffix_bytes(self, bytes: usize) -> Self {
        Self(item_header::with_suffix_length(self.0, bytes as u64))
    }
}

/// An item in a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item<'a> {
    pub(crate) header: ItemHeader,
    /// The whole item: header, key suffix, value.
    pub(crate) bytes: &'a [u8],
    /// The item and the bytes after it.
    from: &'a [u8],
}

impl<'a> Item<'a> {
    /// Returns the item at the start of `bytes`.
    #[inline]
    pub(crate) fn read(bytes: &'a [u8]) -> Self {
        let header = ItemHeader::read(bytes);
        Self { header, bytes: &bytes[..header.item_bytes()], from: bytes }
    }

    #[inline]
    pub(crate) fn suffix(self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES..HEADER_BYTES + self.header.suffix_bytes()]
    }

    #[inline]
    pub(crate) fn value(self) -> &'a [u8] {
        &self.bytes[HEADER_BYTES + self.header.suffix_bytes()..]
    }

    /// Returns the first `length` bytes after the header: suffix, or suffix and value.
    #[inline]
    pub(crate) fn after_header(self, length: usize) -> InNode<'a> {
        InNode::new(&self.from[HEADER_BYTES..], length)
    }

    /// Returns the reference to the item's overflow value, if it has one.
    pub(crate) fn reference(self) -> Option<ValueReference> {
        self.header.overflow().then(|| ValueReference::read(self.value()))
    }

    /// Returns the child of an interior node's item.
    #[inline]
    pub(crate) fn child(self) -> Lid {
        debug_assert_eq!(self.header.value_bytes(), child::SIZE);
        last_lid(*self.bytes.last_chunk().expect("no item of a child is shorter"))
    }
}

/// Returns the LID of an interior node's item that ends with these bytes. One load is enough because no item
/// is shorter.
#[inline(always)]
pub(crate) fn last_lid(bytes: [u8; 8]) -> Lid {
    const _: () = assert!(child::SIZE == child::LID_BYTES && HEADER_BYTES + child::SIZE >= 8);
    Lid::new(u64::from_le_bytes(bytes) >> (8 * (8 - child::LID_BYTES))).expect("a child's LID is never zero")
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
    let mut bytes = ItemBytes::new();
    bytes.resize(HEADER_BYTES, 0);
    header.write(&mut bytes);
    bytes.extend_from_slice(suffix);
    bytes.extend_from_slice(value);
    bytes
}

/// Returns the encoded item of an interior node.
pub(crate) fn encode_child(suffix: &[u8], lid: Lid) -> ItemBytes {
    encode(ItemHeader::new(suffix.len(), child::SIZE), suffix, &lid.get().to_le_bytes()[..child::LID_BYTES])
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
            assert_eq!((item.suffix(), item.value()), (&suffix[..], &value[..]));
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

//! The fields and items of a node, decoded from its bytes: a leaf in rows, or an interior node in columns.

use honeycomb_accelerator::HostMemory;
use honeycomb_btree::{RowShape, Version};
use honeycomb_layout as layout;
use honeycomb_layout::{
    COLUMN_HEADS_OFFSET, column_child, columns, fences, item_header, item_word, lock_and_size,
    node_header as header, value_reference,
};

use crate::device_model::{Fault, number, slice};

const ITEM_HEADER_BYTES: usize = item_header::BITS as usize / 8;
const HEAD_BYTES: usize = 8;
const CHILD_BYTES: usize = column_child::BITS as usize / 8;
const ITEM_WORD_BYTES: usize = item_word::BITS as usize / 8;

/// The offsets that are equal in all leaves.
#[derive(Clone, Copy)]
pub(super) struct Geometry {
    node_bytes: usize,
    shortcuts_end: usize,
    shortcut_capacity: usize,
}

impl Geometry {
    pub(super) fn new(node_bytes: usize, rows: RowShape) -> Self {
        Self {
            node_bytes,
            shortcuts_end: header::SIZE + rows.shortcut_block_bytes,
            // The number of shortcuts is one byte in the header.
            shortcut_capacity: (rows.shortcut_block_bytes / layout::SHORTCUT_BYTES).min(255),
        }
    }
}

/// The header of a node: its first cache line.
pub(super) struct Header {
    geometry: Geometry,
    bytes: [u8; header::SIZE],
}

impl Header {
    /// Reads the header of the node at an address. A caller reads it before the other bytes of the node: all
    /// bytes below the size in it are published.
    pub(super) fn read(memory: &dyn HostMemory, geometry: Geometry, address: u64) -> Result<Self, Fault> {
        let mut bytes = [0; header::SIZE];
        memory.read(address, &mut bytes)?;
        Ok(Self { geometry, bytes })
    }

    fn field(&self, offset: usize, bytes: usize) -> usize {
        number(&self.bytes, offset, bytes).unwrap_or(0) as usize
    }

    pub(super) fn node_version(&self) -> Version {
        self.field(header::NODE_VERSION_OFFSET, header::NODE_VERSION_BYTES) as u64
    }

    /// The address of the node that this node replaced; 0 if it replaced none.
    pub(super) fn previous_version(&self) -> u64 {
        self.field(header::PREVIOUS_VERSION_OFFSET, header::PREVIOUS_VERSION_BYTES) as u64
    }

    fn level(&self) -> usize {
        self.field(header::LEVEL_OFFSET, header::LEVEL_BYTES)
    }

    fn sorted_count(&self) -> usize {
        self.field(header::SORTED_COUNT_OFFSET, header::SORTED_COUNT_BYTES)
    }

    /// The offset of the children of an interior node.
    fn children_start(&self) -> usize {
        COLUMN_HEADS_OFFSET + HEAD_BYTES * self.sorted_count().next_multiple_of(16)
    }

    /// The offset of the columns' end: after the shortcuts of a leaf, after the children of an interior node.
    fn columns_end(&self) -> usize {
        match self.level() {
            0 => self.geometry.shortcuts_end,
            _ => self.children_start() + CHILD_BYTES * self.sorted_count(),
        }
    }

    fn word(&self) -> u64 {
        self.field(header::LOCK_AND_SIZE_OFFSET, header::LOCK_AND_SIZE_BYTES) as u64
    }

    /// Reads the rest of the node at the address of this header.
    pub(super) fn node(self, memory: &dyn HostMemory, address: u64) -> Result<Node, Fault> {
        let size = lock_and_size::size(self.word()) as usize;
        let sorted_end = self.field(header::SORTED_END_OFFSET, header::SORTED_END_BYTES);
        let shortcuts = self.field(header::SHORTCUT_COUNT_OFFSET, header::SHORTCUT_COUNT_BYTES);
        let ends = [self.columns_end() + fences::SIZE, sorted_end, size, self.geometry.node_bytes];
        let has_room = self.level() > 0 || shortcuts <= self.geometry.shortcut_capacity;
        if !ends.is_sorted() || !has_room {
            return Err(Fault);
        }
        let mut bytes = self.bytes.to_vec();
        bytes.resize(size, 0);
        memory.read(address + header::SIZE as u64, &mut bytes[header::SIZE..])?;
        Ok(Node { header: self, bytes, sorted_end, shortcuts })
    }
}

/// A node up to the size in its header.
pub(super) struct Node {
    header: Header,
    bytes: Vec<u8>,
    pub(super) sorted_end: usize,
    shortcuts: usize,
}

/// An item of the sorted block, or of a log entry.
#[derive(Clone, Copy)]
pub(super) struct Item<'n> {
    pub(super) suffix: &'n [u8],
    pub(super) value: &'n [u8],
    /// The word `item_header`.
    flags: u64,
    /// The offset after the item.
    pub(super) end: usize,
}

impl Item<'_> {
    pub(super) fn is_tombstone(&self) -> bool {
        item_header::tombstone(self.flags) != 0
    }

    /// For a log entry: whether the sorted item at its back pointer has the same key.
    pub(super) fn replaces(&self) -> bool {
        item_header::replaces(self.flags) != 0
    }

    /// For a log entry: whether an earlier entry has the same key.
    pub(super) fn repeats(&self) -> bool {
        item_header::repeats(self.flags) != 0
    }

    /// The value, or a reference to it.
    pub(super) fn value(&self) -> Result<Value, Fault> {
        if item_header::overflow(self.flags) == 0 {
            return Ok(Value::Inline(self.value.to_vec()));
        }
        let field = |offset, bytes| number(self.value, offset, bytes);
        let address = field(value_reference::ADDRESS_OFFSET, value_reference::ADDRESS_BYTES)?;
        let length = field(value_reference::LENGTH_OFFSET, value_reference::LENGTH_BYTES)? as usize;
        if length > layout::VALUE_BYTES_MAX { Err(Fault) } else { Ok(Value::Overflow { address, length }) }
    }
}

/// A value, or the bus address of an overflow value.
pub(super) enum Value {
    Inline(Vec<u8>),
    Overflow { address: u64, length: usize },
}

impl Value {
    /// Returns the bytes of the value; reads them if they are in a buffer of their own.
    pub(super) fn fetch(self, memory: &dyn HostMemory) -> Result<Vec<u8>, Fault> {
        match self {
            Self::Inline(bytes) => Ok(bytes),
            Self::Overflow { address, length } => {
                let mut bytes = vec![0; length];
                memory.read(address, &mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

impl Node {
    pub(super) fn version(&self) -> Version {
        self.header.node_version()
    }

    /// The height above the leaves.
    pub(super) fn level(&self) -> usize {
        self.header.level()
    }

    /// The LID of a leaf's left sibling, or 0; the LID of an interior node's leftmost child.
    pub(super) fn left(&self) -> u64 {
        self.header.field(header::LEFT_OFFSET, header::LEFT_BYTES) as u64
    }

    /// The LID of a leaf's right sibling, or 0.
    pub(super) fn right(&self) -> u64 {
        self.header.field(header::RIGHT_OFFSET, header::RIGHT_BYTES) as u64
    }

    pub(super) fn log_count(&self) -> usize {
        lock_and_size::log_count(self.header.word()) as usize
    }

    /// The fingerprint of a log entry, if the header has room for it.
    pub(super) fn fingerprint(&self, entry: usize) -> Option<u8> {
        (entry < header::TAGS_COUNT).then(|| self.bytes[header::TAGS_OFFSET + entry])
    }

    /// The bytes of the node up to its size.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn prefix_length(&self) -> usize {
        self.header.field(header::PREFIX_LENGTH_OFFSET, header::PREFIX_LENGTH_BYTES)
    }

    /// The offset of the fence keys. The next heads of an interior node with items are before them; the model
    /// does not need these.
    fn fences_start(&self) -> Result<usize, Fault> {
        let end = self.header.columns_end();
        let items_start = number(&self.bytes, header::SIZE + columns::ITEMS_START_OFFSET, 2)? as usize;
        let has_next_heads = self.header.level() > 0 && items_start < self.sorted_end;
        Ok(if has_next_heads { end + HEAD_BYTES * self.header.sorted_count() } else { end })
    }

    /// The low fence key; empty at the left edge of the tree.
    pub(super) fn low_fence(&self) -> Result<&[u8], Fault> {
        let start = self.fences_start()?;
        let length = number(&self.bytes, start + fences::LOW_LENGTH_OFFSET, fences::LOW_LENGTH_BYTES)?;
        slice(&self.bytes, start + fences::SIZE, start + fences::SIZE + length as usize)
    }

    /// The high fence key without the prefix, as the node stores it; `None` at the right edge of the tree.
    fn high_fence_suffix(&self) -> Result<Option<&[u8]>, Fault> {
        let field = self.fences_start()? + fences::HIGH_LENGTH_OFFSET;
        let length = number(&self.bytes, field, fences::HIGH_LENGTH_BYTES)? as usize;
        if length == 0 {
            return Ok(None);
        }
        let start = self.fences_start()? + fences::SIZE + self.low_fence()?.len();
        let rest = length.checked_sub(self.prefix_length()).ok_or(Fault)?;
        slice(&self.bytes, start, start + rest).map(Some)
    }

    /// The common prefix of all keys of the node.
    pub(super) fn prefix(&self) -> Result<&[u8], Fault> {
        self.low_fence()?.get(..self.prefix_length()).ok_or(Fault)
    }

    /// The high fence key; `None` at the right edge of the tree.
    pub(super) fn high_fence(&self) -> Result<Option<Vec<u8>>, Fault> {
        let prefix = self.prefix()?;
        Ok(self.high_fence_suffix()?.map(|suffix| [prefix, suffix].concat()))
    }

    /// The offset of the first item.
    pub(super) fn items_start(&self) -> Result<usize, Fault> {
        let high = self.high_fence_suffix()?.map_or(0, <[u8]>::len);
        Ok(self.fences_start()? + fences::SIZE + self.low_fence()?.len() + high)
    }

    /// Decodes the item at an offset, which must end at or before `limit`.
    pub(super) fn item(&self, offset: usize, limit: usize) -> Result<Item<'_>, Fault> {
        let flags = number(&self.bytes, offset, ITEM_HEADER_BYTES)?;
        let suffix = offset + ITEM_HEADER_BYTES;
        let value = suffix + item_header::suffix_length(flags) as usize;
        let end = value + item_header::value_length(flags) as usize;
        if end > limit {
            return Err(Fault);
        }
        let (suffix, value) = (slice(&self.bytes, suffix, value)?, slice(&self.bytes, value, end)?);
        Ok(Item { suffix, value, flags, end })
    }

    /// Iterates over the items of the sorted block from an offset on, each with its offset.
    pub(super) fn items(&self, start: usize) -> impl Iterator<Item = Result<(usize, Item<'_>), Fault>> {
        let mut offset = start;
        std::iter::from_fn(move || {
            let at = offset;
            if at >= self.sorted_end {
                return None;
            }
            let item = self.item(at, self.sorted_end);
            offset = item.as_ref().map_or(self.sorted_end, |item| item.end);
            Some(item.map(|item| (at, item)))
        })
    }

    /// Iterates over the separators of an interior node, without the prefix, each with the LID of the child
    /// after it.
    pub(super) fn children(&self) -> impl Iterator<Item = Result<(Vec<u8>, u64), Fault>> {
        (0..self.header.sorted_count()).map(|index| {
            let at = self.header.children_start() + CHILD_BYTES * index;
            let child = number(&self.bytes, at, CHILD_BYTES)?;
            Ok((self.separator(index, 4 * column_child::rest(child) as usize)?, column_child::lid(child)))
        })
    }

    /// The separator whose item is at an offset; without an item, at offset 0, it is its head up to the last
    /// byte that is not zero.
    fn separator(&self, index: usize, item: usize) -> Result<Vec<u8>, Fault> {
        let head = number(&self.bytes, COLUMN_HEADS_OFFSET + HEAD_BYTES * index, HEAD_BYTES)?.to_be_bytes();
        if item == 0 {
            let length = head.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            return Ok(head[..length].to_vec());
        }
        let length = item_word::suffix_length(number(&self.bytes, item, ITEM_WORD_BYTES)?) as usize;
        let rest = item + ITEM_WORD_BYTES;
        let rest = slice(&self.bytes, rest, rest + length.saturating_sub(HEAD_BYTES))?;
        Ok([&head[..length.min(HEAD_BYTES)], rest].concat())
    }

    fn head(&self, shortcut: usize) -> Result<u64, Fault> {
        number(&self.bytes, header::SIZE + 8 * shortcut, 8)
    }

    fn segment(&self, shortcut: usize) -> Result<usize, Fault> {
        let offsets = header::SIZE + 8 * self.header.geometry.shortcut_capacity;
        Ok(number(&self.bytes, offsets + 2 * shortcut, 2)? as usize)
    }

    /// The offset of the only segment that can contain a key.
    pub(super) fn segment_of(&self, suffix: &[u8]) -> Result<usize, Fault> {
        let key_head = head(suffix);
        let mut start = None;
        for shortcut in 0..self.shortcuts {
            if self.head(shortcut)? > key_head {
                break;
            }
            let segment = self.segment(shortcut)?;
            // If the heads are equal, only the whole suffixes give the order.
            let begins_before =
                self.head(shortcut)? < key_head || self.item(segment, self.sorted_end)?.suffix <= suffix;
            if begins_before || start.is_none() {
                start = Some(segment);
            }
        }
        start.map_or_else(|| self.items_start(), Ok)
    }
}

/// Returns the first eight bytes as a big-endian number, which has the same order.
fn head(suffix: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = suffix.len().min(8);
    bytes[..length].copy_from_slice(&suffix[..length]);
    u64::from_be_bytes(bytes)
}

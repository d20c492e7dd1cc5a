//! The fields, columns and items of a node, decoded from its bytes.

use honeycomb_accelerator::HostMemory;
use honeycomb_btree::Version;
use honeycomb_layout as layout;
use honeycomb_layout::{
    COLUMN_HEADS_OFFSET, column_child, columns, fences, item_word, lock_and_size, log_word,
    node_header as header, value_reference,
};

use crate::device_model::{Fault, number, slice};

const LOG_WORD_BYTES: usize = log_word::BITS as usize / 8;
const OFFSET_BYTES: usize = 2;
const HEAD_BYTES: usize = 8;
const CHILD_BYTES: usize = column_child::BITS as usize / 8;
const ITEM_WORD_BYTES: usize = item_word::BITS as usize / 8;

/// The header of a node: its first cache line.
pub(super) struct Header {
    node_bytes: usize,
    bytes: [u8; header::SIZE],
}

impl Header {
    /// Reads the header of the node at an address. A caller reads it before the other bytes of the node: all
    /// bytes below the size in it are published.
    pub(super) fn read(memory: &dyn HostMemory, node_bytes: usize, address: u64) -> Result<Self, Fault> {
        let mut bytes = [0; header::SIZE];
        memory.read(address, &mut bytes)?;
        Ok(Self { node_bytes, bytes })
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

    fn word(&self) -> u64 {
        self.field(header::LOCK_AND_SIZE_OFFSET, header::LOCK_AND_SIZE_BYTES) as u64
    }

    /// Reads the rest of the node at the address of this header.
    pub(super) fn node(self, memory: &dyn HostMemory, address: u64) -> Result<Node, Fault> {
        let size = lock_and_size::size(self.word()) as usize;
        let sorted_end = self.field(header::SORTED_END_OFFSET, header::SORTED_END_BYTES);
        let entries = lock_and_size::log_count(self.word()) as usize;
        let words_start = self.node_bytes.checked_sub(LOG_WORD_BYTES * entries).ok_or(Fault)?;
        if ![COLUMN_HEADS_OFFSET + fences::SIZE, sorted_end, size, words_start].is_sorted() {
            return Err(Fault);
        }
        let mut bytes = self.bytes.to_vec();
        bytes.resize(size, 0);
        memory.read(address + header::SIZE as u64, &mut bytes[header::SIZE..])?;
        let mut log_words = vec![0; LOG_WORD_BYTES * entries];
        memory.read(address + words_start as u64, &mut log_words)?;
        Ok(Node { header: self, bytes, log_words })
    }
}

/// A node up to the size in its header.
pub(super) struct Node {
    header: Header,
    bytes: Vec<u8>,
    /// From the end of the node downwards.
    log_words: Vec<u8>,
}

/// An item of the sorted block, or of a log entry.
#[derive(Clone, Copy)]
pub(super) struct Item<'n> {
    head: [u8; HEAD_BYTES],
    /// The bytes of the key suffix after its head.
    rest: &'n [u8],
    pub(super) value: &'n [u8],
    /// The word `item_word`.
    word: u64,
}

impl Item<'_> {
    pub(super) fn suffix(&self) -> Vec<u8> {
        let length = item_word::suffix_length(self.word) as usize;
        [&self.head[..length.min(HEAD_BYTES)], self.rest].concat()
    }

    pub(super) fn is_tombstone(&self) -> bool {
        item_word::tombstone(self.word) != 0
    }

    /// For a log entry: whether the sorted item at its back pointer has the same key.
    pub(super) fn replaces(&self) -> bool {
        item_word::replaces(self.word) != 0
    }

    /// For a log entry: whether an earlier entry has the same key.
    pub(super) fn repeats(&self) -> bool {
        item_word::repeats(self.word) != 0
    }

    /// The value, or a reference to it.
    pub(super) fn value(&self) -> Result<Value, Fault> {
        if item_word::overflow(self.word) == 0 {
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

    /// The log word of an entry.
    pub(super) fn log_word(&self, entry: usize) -> Result<u64, Fault> {
        let at = self.log_words.len().checked_sub(LOG_WORD_BYTES * (entry + 1)).ok_or(Fault)?;
        number(&self.log_words, at, LOG_WORD_BYTES)
    }

    /// The number of items in the sorted block.
    pub(super) fn count(&self) -> usize {
        self.header.sorted_count()
    }

    /// The number of bytes of the items of a leaf; 0 if they have different lengths.
    fn stride(&self) -> Result<usize, Fault> {
        self.column_field(columns::STRIDE_OFFSET, columns::STRIDE_BYTES)
    }

    fn column_field(&self, offset: usize, bytes: usize) -> Result<usize, Fault> {
        number(&self.bytes, header::SIZE + offset, bytes).map(|value| value as usize)
    }

    /// The offset of the fence keys: after the offsets of a leaf, after the children of an interior node, and
    /// after the next heads of one with items. The model does not need next heads.
    fn fences_start(&self) -> Result<usize, Fault> {
        if self.level() == 0 {
            let item_bytes = HEAD_BYTES + if self.stride()? == 0 { OFFSET_BYTES } else { 0 };
            return Ok(COLUMN_HEADS_OFFSET + item_bytes * self.count());
        }
        let items_start = self.column_field(columns::ITEMS_START_OFFSET, columns::ITEMS_START_BYTES)?;
        let sorted_end = self.header.field(header::SORTED_END_OFFSET, header::SORTED_END_BYTES);
        let next_head_bytes = if items_start < sorted_end { HEAD_BYTES } else { 0 };
        Ok(self.header.children_start() + (CHILD_BYTES + next_head_bytes) * self.count())
    }

    pub(super) fn prefix_length(&self) -> usize {
        self.header.field(header::PREFIX_LENGTH_OFFSET, header::PREFIX_LENGTH_BYTES)
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

    /// Decodes the item of a leaf at an index.
    pub(super) fn item(&self, index: usize) -> Result<Item<'_>, Fault> {
        let head = self.head(index)?;
        let stride = self.stride()?;
        if stride == 0 {
            let offsets = COLUMN_HEADS_OFFSET + HEAD_BYTES * self.count();
            let offset = 4 * number(&self.bytes, offsets + OFFSET_BYTES * index, OFFSET_BYTES)? as usize;
            return self.item_with_word(head, offset);
        }
        let start = self.column_field(columns::ITEMS_START_OFFSET, columns::ITEMS_START_BYTES)?;
        let suffix = self.column_field(columns::SUFFIX_LENGTH_OFFSET, columns::SUFFIX_LENGTH_BYTES)?;
        let value = self.column_field(columns::VALUE_LENGTH_OFFSET, columns::VALUE_LENGTH_BYTES)?;
        let (suffix, value) = (suffix as u64, value as u64);
        if suffix > item_word::SUFFIX_LENGTH_MASK || value > item_word::VALUE_LENGTH_MASK {
            return Err(Fault);
        }
        let word = item_word::with_value_length(item_word::with_suffix_length(0, suffix), value);
        self.item_of(head, word, start + stride * index)
    }

    /// Decodes the item of the log entry at an offset.
    pub(super) fn entry(&self, offset: usize) -> Result<Item<'_>, Fault> {
        let head = number(&self.bytes, offset, HEAD_BYTES)?;
        self.item_with_word(head, offset + HEAD_BYTES)
    }

    fn item_with_word(&self, head: u64, offset: usize) -> Result<Item<'_>, Fault> {
        let word = number(&self.bytes, offset, ITEM_WORD_BYTES)?;
        self.item_of(head, word, offset + ITEM_WORD_BYTES)
    }

    /// Returns an item whose bytes after the head are at an offset.
    fn item_of(&self, head: u64, word: u64, rest: usize) -> Result<Item<'_>, Fault> {
        let value = rest + (item_word::suffix_length(word) as usize).saturating_sub(HEAD_BYTES);
        let end = value + item_word::value_length(word) as usize;
        let (rest, value) = (slice(&self.bytes, rest, value)?, slice(&self.bytes, value, end)?);
        Ok(Item { head: head.to_be_bytes(), rest, value, word })
    }

    fn head(&self, index: usize) -> Result<u64, Fault> {
        number(&self.bytes, COLUMN_HEADS_OFFSET + HEAD_BYTES * index, HEAD_BYTES)
    }

    /// The index of the first item whose head is not smaller than that of a key suffix.
    pub(super) fn first_with_head(&self, suffix: &[u8]) -> Result<usize, Fault> {
        let head = head(suffix);
        for index in 0..self.count() {
            if self.head(index)? >= head {
                return Ok(index);
            }
        }
        Ok(self.count())
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
        let head = self.head(index)?.to_be_bytes();
        if item == 0 {
            let length = head.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            return Ok(head[..length].to_vec());
        }
        let length = item_word::suffix_length(number(&self.bytes, item, ITEM_WORD_BYTES)?) as usize;
        let rest = item + ITEM_WORD_BYTES;
        let rest = slice(&self.bytes, rest, rest + length.saturating_sub(HEAD_BYTES))?;
        Ok([&head[..length.min(HEAD_BYTES)], rest].concat())
    }
}

/// Returns the first eight bytes as a big-endian number, which has the same order.
fn head(suffix: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = suffix.len().min(8);
    bytes[..length].copy_from_slice(&suffix[..length]);
    u64::from_be_bytes(bytes)
}

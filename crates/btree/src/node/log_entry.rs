//! One entry of a log block: its place in the order of the keys, and its item.
//!
//! ```text
//! | head, 8 | item word, 4 | rest | value | padding |     and a log word at the end of the node
//! ```
//! An entry begins at a multiple of four bytes and has the form of a sorted item after its head, so a
//! consolidation copies it. The log words of a leaf are adjacent, so a reader that needs only places and
//! versions of the entries reads one or two cache lines.

use honeycomb_layout::log_word;
use honeycomb_memory::Version;

use crate::node::columns::encoding::{self, ALIGNMENT, word_and_rest};
use crate::node::item::{Item, ItemHeader};
use crate::node::key::SearchKey;
use crate::node::suffix::{HEAD_BYTES, Suffix};

/// The version delta of an entry that is not published.
pub(crate) const NOT_PUBLISHED: u64 = log_word::VERSION_DELTA_MASK;

/// Bytes of the log word of an entry.
pub(crate) const WORD_BYTES: usize = size_of::<u64>();

/// Returns the lengths and flags of the entry that starts `bytes`.
#[inline]
pub(crate) fn item_header(bytes: &[u8]) -> ItemHeader {
    word_and_rest(&bytes[HEAD_BYTES..]).0
}

/// Returns the lengths, the flags and the stored value of the entry that starts `bytes`.
#[inline(always)]
pub(crate) fn stored_value(bytes: &[u8]) -> (ItemHeader, &[u8]) {
    let (header, rest) = word_and_rest(&bytes[HEAD_BYTES..]);
    (header, encoding::value_in(header, rest))
}

/// Returns the bytes of a whole entry with this item, without its log word.
#[inline]
fn entry_bytes(item: ItemHeader) -> usize {
    entry_bytes_for(item.suffix_bytes(), item.value_bytes())
}

/// Returns the bytes of a whole entry with these lengths, without its log word.
#[inline]
pub(crate) fn entry_bytes_for(suffix_bytes: usize, value_bytes: usize) -> usize {
    HEAD_BYTES + encoding::item_bytes_for(suffix_bytes, value_bytes)
}

/// Returns the item of the entry that starts `bytes`.
#[inline]
pub(crate) fn item(bytes: &[u8]) -> Item<'_> {
    let (item, rest) = word_and_rest(&bytes[HEAD_BYTES..]);
    encoding::item_of(item, entry_head(bytes), rest)
}

/// Returns the head of the entry that starts `bytes`.
#[inline]
pub(crate) fn entry_head(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("an entry has a head"))
}

/// The place of a log entry in the order of the keys of its leaf, without its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryPlace {
    /// Position of the first sorted item whose key is not smaller.
    pub(crate) back_pointer: usize,
    /// The rank among the existing entries at the time of the write.
    pub(crate) order_hint: usize,
    /// Write version minus node version.
    pub(crate) version_delta: u64,
    /// Offset of the entry in the node.
    pub(crate) at: usize,
    /// Whether an earlier log entry has the same key.
    pub(crate) repeats: bool,
}

impl EntryPlace {
    /// Returns the place that a log word contains.
    #[inline(always)]
    pub(crate) fn from_word(word: u64) -> Self {
        Self {
            back_pointer: log_word::back_pointer(word) as usize,
            order_hint: log_word::order_hint(word) as usize,
            version_delta: log_word::version_delta(word),
            at: ALIGNMENT * log_word::entry_offset(word) as usize,
            repeats: log_word::repeats(word) != 0,
        }
    }

    /// Returns the log word.
    #[inline]
    pub(crate) fn word(self) -> u64 {
        debug_assert!(self.at.is_multiple_of(ALIGNMENT));
        let word = log_word::with_back_pointer(0, self.back_pointer as u64);
        let word = log_word::with_order_hint(word, self.order_hint as u64);
        let word = log_word::with_entry_offset(word, (self.at / ALIGNMENT) as u64);
        let word = log_word::with_version_delta(word, self.version_delta);
        log_word::with_repeats(word, u64::from(self.repeats))
    }

    /// Returns the write version of the entry; 0 if it is not published.
    #[inline]
    pub(crate) fn version(self, node_version: Version) -> Version {
        if self.version_delta == NOT_PUBLISHED { 0 } else { node_version + self.version_delta }
    }
}

/// A log entry in a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogEntry<'a> {
    pub(crate) place: EntryPlace,
    pub(crate) item: Item<'a>,
}

impl LogEntry<'_> {
    /// Returns the bytes of the whole entry, without its log word.
    #[inline]
    pub(crate) fn bytes(self) -> usize {
        entry_bytes(self.item.header)
    }

    /// Returns the bytes after the value that align the next entry.
    pub(crate) fn padding_bytes(self) -> usize {
        let rest = self.item.suffix().rest().len() + self.item.header.value_bytes();
        self.bytes() - HEAD_BYTES - encoding::WORD_BYTES - rest
    }
}

/// An item that is not in a node yet.
#[derive(Clone, Copy)]
pub(crate) struct NewItem<'a> {
    pub(crate) header: ItemHeader,
    pub(crate) key: SearchKey<'a>,
    pub(crate) value: &'a [u8],
}

impl<'a> NewItem<'a> {
    pub(crate) fn item(self) -> Item<'a> {
        Item::new(self.header, Suffix::whole(self.key.suffix), self.value)
    }
}

/// A new log entry without its version, which publication sets.
#[derive(Clone, Copy)]
pub(crate) struct NewEntry<'a> {
    /// Position of the first sorted item whose key is not smaller.
    pub(crate) back_pointer: usize,
    /// The rank among the existing entries.
    pub(crate) order_hint: usize,
    pub(crate) item: NewItem<'a>,
}

impl NewEntry<'_> {
    /// Returns the bytes of the whole entry, without its log word.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        entry_bytes(self.item.header)
    }

    /// Returns the log word of the entry at an offset of the node.
    #[inline]
    pub(crate) fn word(&self, at: usize, version_delta: u64) -> u64 {
        let Self { back_pointer, order_hint, item } = *self;
        EntryPlace { back_pointer, order_hint, version_delta, at, repeats: item.header.repeats() }.word()
    }

    /// Writes the entry, without its log word, and returns its bytes.
    #[inline(always)]
    pub(crate) fn write(&self, out: &mut [u8]) -> usize {
        let bytes = self.bytes();
        let out = &mut out[..bytes];
        let NewItem { header: item, key, value } = self.item;
        let (out_head, out) = out.split_at_mut(HEAD_BYTES);
        out_head.copy_from_slice(&key.head.to_le_bytes());
        encoding::write_item(out, item, key.rest(), value);
        bytes
    }
}

/// Returns a log word with its version delta set.
#[inline]
pub(crate) fn stamp_word(word: u64, delta: u64) -> u64 {
    log_word::with_version_delta(word, delta)
}

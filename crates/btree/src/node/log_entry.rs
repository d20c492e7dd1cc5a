//! One entry of a log block: header and item.
//!
//! ```text
//! | back pointer, 2 | order hint, 1 | version delta, 5 | item |
//! ```

use honeycomb_layout::log_entry_header as header;
use honeycomb_memory::Version;

use crate::node::item::{HEADER_BYTES, Item, ItemHeader};

/// The version delta of an entry that is not published.
pub(crate) const NOT_PUBLISHED: u64 = (1 << (8 * header::VERSION_DELTA_BYTES)) - 1;

/// A log entry in a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogEntry<'a> {
    /// Offset of the first sorted item whose key is not smaller.
    pub(crate) back_pointer: usize,
    /// The rank among the existing entries at the time of the write.
    pub(crate) order_hint: usize,
    /// Write version minus node version.
    pub(crate) version_delta: u64,
    pub(crate) item: Item<'a>,
}

/// The header of an entry: the eight bytes before its item.
#[derive(Clone, Copy)]
pub(crate) struct EntryWord(u64);

impl EntryWord {
    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> Self {
        Self(u64::from_le_bytes(*bytes.first_chunk().expect("an entry has a header")))
    }

    #[inline]
    fn field(self, offset: usize, bytes: usize) -> u64 {
        (self.0 >> (8 * offset)) & ((1 << (8 * bytes)) - 1)
    }

    #[inline]
    pub(crate) fn back_pointer(self) -> usize {
        self.field(header::BACK_POINTER_OFFSET, header::BACK_POINTER_BYTES) as usize
    }

    #[inline]
    pub(crate) fn order_hint(self) -> usize {
        self.field(header::ORDER_HINT_OFFSET, header::ORDER_HINT_BYTES) as usize
    }

    #[inline]
    pub(crate) fn version_delta(self) -> u64 {
        self.field(header::VERSION_DELTA_OFFSET, header::VERSION_DELTA_BYTES)
    }
}

impl<'a> LogEntry<'a> {
    #[inline]
    pub(crate) fn read(bytes: &'a [u8]) -> Self {
        let word = EntryWord::read(bytes);
        Self {
            back_pointer: word.back_pointer(),
            order_hint: word.order_hint(),
            version_delta: word.version_delta(),
            item: Item::read(&bytes[header::SIZE..]),
        }
    }

    /// Returns the write version of the entry; 0 if it is not published.
    #[inline]
    pub(crate) fn version(self, node_version: Version) -> Version {
        if self.version_delta == NOT_PUBLISHED { 0 } else { node_version + self.version_delta }
    }

    /// Returns the bytes of the whole entry.
    #[inline]
    pub(crate) fn bytes(self) -> usize {
        header::SIZE + self.item.bytes.len()
    }
}

/// An item that is not in a node yet.
#[derive(Clone, Copy)]
pub(crate) struct NewItem<'a> {
    pub(crate) header: ItemHeader,
    pub(crate) suffix: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// A new log entry without its version, which publication sets.
#[derive(Clone, Copy)]
pub(crate) struct NewEntry<'a> {
    /// Offset of the first sorted item whose key is not smaller.
    pub(crate) back_pointer: usize,
    /// The rank among the existing entries.
    pub(crate) order_hint: usize,
    pub(crate) item: NewItem<'a>,
}

impl NewEntry<'_> {
    /// Returns the bytes of the whole entry.
    pub(crate) fn bytes(&self) -> usize {
        header::SIZE + self.item.header.item_bytes()
    }

    #[inline]
    pub(crate) fn write(&self, out: &mut [u8], version_delta: u64) {
        let (suffix, value) = (self.item.suffix, self.item.value);
        let word = self.back_pointer as u64
            | (self.order_hint as u64) << (8 * header::ORDER_HINT_OFFSET)
            | version_delta << (8 * header::VERSION_DELTA_OFFSET);
        let (head, rest) = out[..self.bytes()].split_at_mut(header::SIZE + HEADER_BYTES);
        head[..header::SIZE].copy_from_slice(&word.to_le_bytes());
        self.item.header.write(&mut head[header::SIZE..]);
        rest[..suffix.len()].copy_from_slice(suffix);
        rest[suffix.len()..].copy_from_slice(value);
    }
}

/// Sets the version delta of each entry. `entries` must consist of whole entries.
#[inline]
pub(crate) fn stamp_entries(mut entries: &mut [u8], delta: u64) {
    debug_assert!(entries.is_empty() || delta >> (8 * header::VERSION_DELTA_BYTES) == 0);
    while !entries.is_empty() {
        let bytes = header::SIZE + ItemHeader::read(&entries[header::SIZE..]).item_bytes();
        entries[header::VERSION_DELTA_OFFSET..header::SIZE]
            .copy_from_slice(&delta.to_le_bytes()[..header::VERSION_DELTA_BYTES]);
        entries = &mut entries[bytes..];
    }
}

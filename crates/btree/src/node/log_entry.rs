//! One entry of a log block: header and item.
//!
//! ```text
//! | back pointer, 2 | order hint, 1 | version delta, 5 | the item:
//!
//! rows:    | encoded item |
//! columns: | head, 8 | item word, 4 | rest | value | padding |
//! ```
//! In columns an entry begins at a multiple of four bytes and has the form of a sorted item after its head,
//! so a consolidation copies it.

use honeycomb_layout::log_entry_header as header;
use honeycomb_memory::Version;

use crate::node::columns::encoding::{self, word_and_rest};
use crate::node::item::{HEADER_BYTES, Item, ItemHeader};
use crate::node::key::head;
use crate::node::suffix::{HEAD_BYTES, Suffix};

/// The version delta of an entry that is not published.
pub(crate) const NOT_PUBLISHED: u64 = (1 << (8 * header::VERSION_DELTA_BYTES)) - 1;

/// Offset of the item word of an entry in columns.
const WORD_OFFSET: usize = header::SIZE + HEAD_BYTES;

/// The form of an entry's item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryFormat {
    Rows,
    Columns,
}

impl EntryFormat {
    /// Returns the lengths and flags of the entry that starts `bytes`.
    #[inline]
    pub(crate) fn item_header(self, bytes: &[u8]) -> ItemHeader {
        match self {
            Self::Rows => ItemHeader::read(&bytes[header::SIZE..]),
            Self::Columns => word_and_rest(&bytes[WORD_OFFSET..]).0,
        }
    }

    /// Returns the bytes of a whole entry with this item.
    #[inline]
    pub(crate) fn entry_bytes(self, item: ItemHeader) -> usize {
        match self {
            Self::Rows => header::SIZE + item.item_bytes(),
            Self::Columns => WORD_OFFSET + encoding::item_bytes(item),
        }
    }

    /// Returns the item of the entry that starts `bytes`.
    #[inline]
    pub(crate) fn item(self, bytes: &[u8]) -> Item<'_> {
        match self {
            Self::Rows => Item::read(&bytes[header::SIZE..]),
            Self::Columns => {
                let (item, rest) = word_and_rest(&bytes[WORD_OFFSET..]);
                encoding::item_of(item, entry_head(bytes), rest)
            }
        }
    }
}

/// Returns the head of the entry in columns that starts `bytes`.
#[inline]
pub(crate) fn entry_head(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes[header::SIZE..].first_chunk().expect("an entry has a head"))
}

/// A log entry in a node.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogEntry<'a> {
    /// Position of the first sorted item whose key is not smaller.
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
    pub(crate) fn read(format: EntryFormat, bytes: &'a [u8]) -> Self {
        let word = EntryWord::read(bytes);
        Self {
            back_pointer: word.back_pointer(),
            order_hint: word.order_hint(),
            version_delta: word.version_delta(),
            item: format.item(bytes),
        }
    }

    /// Returns the write version of the entry; 0 if it is not published.
    #[inline]
    pub(crate) fn version(self, node_version: Version) -> Version {
        if self.version_delta == NOT_PUBLISHED { 0 } else { node_version + self.version_delta }
    }

    /// Returns the bytes of the whole entry.
    #[inline]
    pub(crate) fn bytes(self, format: EntryFormat) -> usize {
        format.entry_bytes(self.item.header)
    }
}

/// An item that is not in a node yet.
#[derive(Clone, Copy)]
pub(crate) struct NewItem<'a> {
    pub(crate) header: ItemHeader,
    pub(crate) suffix: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl<'a> NewItem<'a> {
    pub(crate) fn item(self) -> Item<'a> {
        Item::new(self.header, Suffix::whole(self.suffix), self.value)
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
    /// Returns the bytes of the whole entry.
    #[inline]
    pub(crate) fn bytes(&self, format: EntryFormat) -> usize {
        format.entry_bytes(self.item.header)
    }

    #[inline]
    pub(crate) fn write(&self, format: EntryFormat, out: &mut [u8], version_delta: u64) {
        let word = self.back_pointer as u64
            | (self.order_hint as u64) << (8 * header::ORDER_HINT_OFFSET)
            | version_delta << (8 * header::VERSION_DELTA_OFFSET);
        let out = &mut out[..self.bytes(format)];
        out[..header::SIZE].copy_from_slice(&word.to_le_bytes());
        let NewItem { header: item, suffix, value } = self.item;
        let rest = match format {
            EntryFormat::Rows => {
                item.write(&mut out[header::SIZE..]);
                out[header::SIZE + HEADER_BYTES..][..suffix.len()].copy_from_slice(suffix);
                header::SIZE + HEADER_BYTES + suffix.len()
            }
            EntryFormat::Columns => {
                out[header::SIZE..WORD_OFFSET].copy_from_slice(&head(suffix).to_le_bytes());
                return encoding::write_item(
                    &mut out[WORD_OFFSET..],
                    item,
                    suffix.get(HEAD_BYTES..).unwrap_or(&[]),
                    value,
                );
            }
        };
        out[rest..].copy_from_slice(value);
    }
}

/// Sets the version delta of each entry. `entries` must consist of whole entries.
#[inline]
pub(crate) fn stamp_entries(format: EntryFormat, mut entries: &mut [u8], delta: u64) {
    debug_assert!(entries.is_empty() || delta >> (8 * header::VERSION_DELTA_BYTES) == 0);
    while !entries.is_empty() {
        let bytes = format.entry_bytes(format.item_header(entries));
        entries[header::VERSION_DELTA_OFFSET..header::SIZE]
            .copy_from_slice(&delta.to_le_bytes()[..header::VERSION_DELTA_BYTES]);
        entries = &mut entries[bytes..];
    }
}

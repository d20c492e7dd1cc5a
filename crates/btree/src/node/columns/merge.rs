//! Consolidations of a leaf whose form stays the same, as with most inserts: its prefix, its fence keys, and
//! its stride if it has one. The new leaf consists of copies: runs of heads, offsets and items, and the
//! entries between them.

use std::ops::Range;

use honeycomb_layout::COLUMN_HEADS_OFFSET;
use smallvec::SmallVec;

use crate::node::columns::Columns;
use crate::node::columns::build::write_columns;
use crate::node::columns::encoding::{
    ALIGNMENT, OFFSET_BYTES, Stride, WORD_BYTES, aligned, group_bits_for, item_bytes, shift_offsets,
    write_item, write_rest,
};
use crate::node::consolidation::Change;
use crate::node::counts::Counts;
use crate::node::header::write_header;
use crate::node::item::ItemHeader;
use crate::node::log::Overlay;
use crate::node::log_entry;
use crate::node::log_entry::NewItem;
use crate::node::shape::BLOCK_START;
use crate::node::size::Lengths;
use crate::node::suffix::{HEAD_BYTES, bytes_after_head};
use crate::node::view::View;

/// A leaf with its log block and up to one more change.
pub(crate) struct Merge<'a> {
    leaf: View<'a>,
    columns: Columns<'a>,
    /// `None` if the items have different lengths.
    stride: Option<Stride>,
    /// Bytes of the fence keys.
    fence_bytes: usize,
    change: Option<&'a Change<'a>>,
    /// In key order, one for each key.
    changes: SmallVec<[KeyChange; 17]>,
    /// Number of items of the new leaf.
    count: usize,
    /// Bytes of these items.
    item_bytes: usize,
}

/// A change to one key.
#[derive(Clone, Copy)]
struct KeyChange {
    /// Index of the first sorted item whose key is not smaller.
    back_pointer: u16,
    /// Offset of the log entry; 0 for the change that is not in the log block.
    entry: u16,
    /// The new item's lengths, with the flags of a change.
    header: ItemHeader,
}

impl<'a> Merge<'a> {
    /// Returns `None` if only one of the leaf and the new leaf has a stride.
    pub(crate) fn of(leaf: View<'a>, change: Option<&'a Change<'a>>) -> Option<Self> {
        let columns = leaf.columns();
        let (changes, count, stride) = (SmallVec::new(), columns.count(), columns.stride());
        let item_bytes = leaf.sorted_end() - columns.items_start();
        let fence_bytes = leaf.fence_bytes();
        let mut merge = Self { leaf, columns, stride, fence_bytes, change, changes, count, item_bytes };
        let overlay = Overlay::new(leaf, u64::MAX);
        let (before, after) = Change::entries_around(change, &overlay);
        merge.add_entries(&overlay, before)?;
        if let Some(change) = change {
            merge.add(change.back_pointer, 0, change.item.header)?;
        }
        merge.add_entries(&overlay, after)?;
        (merge.stride.is_some() || merge.has_different_lengths()).then_some(merge)
    }

    /// Returns the bytes of the sorted block.
    pub(crate) fn sorted_bytes(&self) -> usize {
        self.sorted_end() - BLOCK_START
    }

    /// Writes the leaf to `buffer`.
    pub(crate) fn build(&self, buffer: &mut [u8]) {
        let (leaf, start) = (self.leaf, self.leaf.fences_start());
        let fences = leaf.bytes(start..start + self.fence_bytes);
        let (out, padding) = buffer[self.columns_end()..self.items_start()].split_at_mut(fences.len());
        out.copy_from_slice(fences);
        padding.fill(0);
        self.write_items(buffer);
        write_columns(buffer, self.items_start(), self.stride, self.count);
        let (sorted, group_bits) = ((self.sorted_end(), self.count), group_bits_for(self.count));
        let counts = Counts::new(leaf.level(), leaf.prefix_length(), sorted, group_bits);
        write_header(buffer, self.sorted_end(), [leaf.left(), leaf.right()], counts.0);
    }

    fn add_entries(&mut self, overlay: &Overlay<'_>, entries: Range<usize>) -> Option<()> {
        for (back_pointer, at) in overlay.offsets(entries) {
            let header = log_entry::item_header(self.leaf.from(at));
            self.add(back_pointer, at, header)?;
        }
        Some(())
    }

    #[inline]
    fn add(&mut self, back_pointer: usize, entry: usize, header: ItemHeader) -> Option<()> {
        if !header.tombstone() {
            self.count += 1;
            self.item_bytes += match self.stride {
                Some(stride) if stride.header() != header.without_log_flags() => return None,
                Some(stride) => stride.bytes(),
                None => item_bytes(header),
            };
        }
        if header.replaces() {
            self.count -= 1;
            self.item_bytes -= self.columns.item_range(back_pointer..back_pointer + 1).len();
        }
        let (back_pointer, entry) = (back_pointer as u16, entry as u16);
        self.changes.push(KeyChange { back_pointer, entry, header });
        Some(())
    }

    /// Returns whether the items of the new leaf have different lengths. Most often the first two differ.
    fn has_different_lengths(&self) -> bool {
        let is_replaced = |index: usize| {
            self.changes.iter().any(|change| change.header.replaces() && index == change.back_pointer.into())
        };
        let added = self.changes.iter().filter(|change| !change.header.tombstone());
        let kept = (0..self.columns.count()).filter(|&index| !is_replaced(index));
        let mut headers =
            added.map(|change| change.header).chain(kept.map(|index| self.columns.item_header(index)));
        let mut lengths = Lengths::None;
        headers.any(|header| {
            lengths = lengths.and(Lengths::of(header, 0));
            lengths == Lengths::Mixed
        })
    }

    /// Returns the offset after the heads and the offsets.
    fn columns_end(&self) -> usize {
        let offset_bytes = if self.stride.is_some() { 0 } else { OFFSET_BYTES };
        COLUMN_HEADS_OFFSET + (HEAD_BYTES + offset_bytes) * self.count
    }

    fn items_start(&self) -> usize {
        aligned(self.columns_end() + self.fence_bytes)
    }

    fn sorted_end(&self) -> usize {
        self.items_start() + self.item_bytes
    }

    /// Writes the columns and the items: the sorted items before each change, then its item.
    fn write_items(&self, buffer: &mut [u8]) {
        let items_start = self.items_start();
        let (columns, items) = buffer.split_at_mut(items_start);
        let (heads, offsets) = columns[COLUMN_HEADS_OFFSET..].split_at_mut(HEAD_BYTES * self.count);
        let (heads, offsets) = (heads.as_chunks_mut().0, offsets.as_chunks_mut().0);
        let place = (items_start, self.stride);
        let mut out = Output { old: self.columns, place, heads, offsets, items, from: 0, to: 0, at: 0 };
        for change in &self.changes {
            out.copy_up_to(usize::from(change.back_pointer));
            out.from += usize::from(change.header.replaces());
            if !change.header.tombstone() {
                self.write_item(*change, &mut out);
            }
        }
        out.copy_up_to(self.columns.count());
        debug_assert_eq!((out.to, out.at), (self.count, self.item_bytes));
    }

    /// Writes the head and the item of a change.
    #[inline]
    fn write_item(&self, KeyChange { entry, header, .. }: KeyChange, out: &mut Output<'_, '_>) {
        if let Some(change) = self.change.filter(|_| entry == 0) {
            let NewItem { key, value, .. } = change.item;
            let (head, item) = out.next(header);
            *head = key.head.to_le_bytes();
            return match self.stride {
                Some(_) => write_rest(item, key.rest(), value),
                None => write_item(item, header.without_log_flags(), key.rest(), value),
            };
        }
        let entry = self.leaf.from(usize::from(entry));
        let (head, item) = out.next(header);
        head.copy_from_slice(&entry[..HEAD_BYTES]);
        match self.stride {
            // An entry with neither rest nor value has no bytes after its word, but the stride is never zero.
            Some(Stride { suffix_bytes, value_bytes }) => {
                let bytes = bytes_after_head(suffix_bytes) + value_bytes;
                write_rest(item, &entry[HEAD_BYTES + WORD_BYTES..][..bytes], &[]);
            }
            None => {
                item.copy_from_slice(&entry[HEAD_BYTES..][..item.len()]);
                item[..WORD_BYTES].copy_from_slice(&header.without_log_flags().word().to_le_bytes());
            }
        }
    }
}

/// The columns and items that are written, and those that are copied.
struct Output<'b, 'a> {
    old: Columns<'a>,
    /// The offset of the first item, and the stride.
    place: (usize, Option<Stride>),
    heads: &'b mut [[u8; HEAD_BYTES]],
    /// The offsets of the items, and with a stride other bytes.
    offsets: &'b mut [[u8; OFFSET_BYTES]],
    items: &'b mut [u8],
    /// Index of the next element to copy.
    from: usize,
    /// Index of the next element to write.
    to: usize,
    /// Bytes of the items written.
    at: usize,
}

impl Output<'_, '_> {
    /// Copies the elements before an index.
    #[inline]
    fn copy_up_to(&mut self, end: usize) {
        let indexes = self.from..end;
        let count = indexes.len();
        self.heads[self.to..][..count].copy_from_slice(self.old.heads_of(indexes.clone()));
        let range = self.old.item_range(indexes.clone());
        if self.place.1.is_none() {
            let out = &mut self.offsets[self.to..][..count];
            shift_offsets(out, &self.old.offsets()[indexes], range.start, self.place.0 + self.at);
        }
        self.items[self.at..][..range.len()].copy_from_slice(self.old.bytes(range.clone()));
        (self.from, self.to, self.at) = (end, self.to + count, self.at + range.len());
    }

    /// Returns the next head and the next item to write, given its lengths.
    #[inline]
    fn next(&mut self, header: ItemHeader) -> (&mut [u8; HEAD_BYTES], &mut [u8]) {
        let (to, at) = (self.to, self.at);
        let bytes = match self.place.1 {
            Some(stride) => stride.bytes(),
            None => {
                self.offsets[to] = (((self.place.0 + at) / ALIGNMENT) as u16).to_le_bytes();
                item_bytes(header)
            }
        };
        (self.to, self.at) = (to + 1, at + bytes);
        (&mut self.heads[to], &mut self.items[at..at + bytes])
    }
}

//! Consolidations of a leaf with a stride whose changes have the lengths of its items or delete keys, as with
//! inserts of pairs of equal lengths. The new leaf has the same prefix, fence keys and stride, so its size is
//! known, and it consists of copies: runs of heads and items, and the entries between them.

use std::ops::Range;

use honeycomb_layout::COLUMN_HEADS_OFFSET;
use smallvec::SmallVec;

use crate::node::columns::Columns;
use crate::node::columns::build::write_columns;
use crate::node::columns::encoding::{Stride, WORD_BYTES, aligned, group_bits_for, write_rest};
use crate::node::consolidation::Change;
use crate::node::counts::Counts;
use crate::node::header::write_header;
use crate::node::item::ItemHeader;
use crate::node::key::head;
use crate::node::log::Overlay;
use crate::node::suffix::HEAD_BYTES;
use crate::node::view::View;

/// A leaf with its log block and one more change.
pub(crate) struct Merge<'a> {
    leaf: View<'a>,
    columns: Columns<'a>,
    stride: Stride,
    change: &'a Change<'a>,
    /// In key order, one for each key.
    changes: SmallVec<[KeyChange; 17]>,
    /// Number of items of the new leaf.
    count: usize,
}

/// A change to one key.
#[derive(Clone, Copy)]
struct KeyChange {
    /// Index of the first sorted item whose key is not smaller.
    back_pointer: u16,
    /// Offset of the log entry; 0 for the change that is not in the log block.
    entry: u16,
    replaces: bool,
    deletes: bool,
}

impl<'a> Merge<'a> {
    /// Returns `None` if the leaf has no stride, or an item of other lengths results.
    pub(crate) fn of(leaf: View<'a>, change: &'a Change<'a>) -> Option<Self> {
        let columns = leaf.columns()?;
        let stride = columns.stride()?;
        let (changes, count) = (SmallVec::new(), columns.count());
        let mut merge = Self { leaf, columns, stride, change, changes, count };
        let overlay = Overlay::new(leaf, u64::MAX);
        let [before, after] = change.entries_around(&overlay);
        merge.add_entries(&overlay, before)?;
        merge.add(change.back_pointer, 0, change.item.header)?;
        merge.add_entries(&overlay, after)?;
        Some(merge)
    }

    /// Returns the bytes of the sorted block.
    pub(crate) fn sorted_bytes(&self) -> usize {
        self.sorted_end() - self.leaf.block_start()
    }

    /// Writes the leaf to `buffer`.
    pub(crate) fn build(&self, buffer: &mut [u8]) {
        let (leaf, start) = (self.leaf, self.leaf.fences_start());
        let fences = leaf.bytes(start..start + leaf.fence_bytes());
        let (out, padding) = buffer[self.heads_end()..self.items_start()].split_at_mut(fences.len());
        out.copy_from_slice(fences);
        padding.fill(0);
        self.write_items(buffer);
        write_columns(buffer, self.items_start(), Some(self.stride), self.count);
        let (sorted, group_bits) = ((self.sorted_end(), self.count), group_bits_for(self.count));
        let counts = Counts::new(leaf.level(), leaf.prefix_length(), sorted, group_bits);
        write_header(buffer, self.sorted_end(), [leaf.left(), leaf.right()], counts.0);
    }

    fn add_entries(&mut self, overlay: &Overlay<'_>, entries: Range<usize>) -> Option<()> {
        for (back_pointer, at) in overlay.offsets(entries) {
            let header = self.leaf.entry_format().item_header(self.leaf.from(at));
            self.add(back_pointer, at, header)?;
        }
        Some(())
    }

    #[inline]
    fn add(&mut self, back_pointer: usize, entry: usize, header: ItemHeader) -> Option<()> {
        let (replaces, deletes) = (header.replaces(), header.tombstone());
        if !deletes && header.without_log_flags() != self.stride.header() {
            return None;
        }
        self.count = self.count + usize::from(!deletes) - usize::from(replaces);
        let (back_pointer, entry) = (back_pointer as u16, entry as u16);
        self.changes.push(KeyChange { back_pointer, entry, replaces, deletes });
        Some(())
    }

    fn heads_end(&self) -> usize {
        COLUMN_HEADS_OFFSET + HEAD_BYTES * self.count
    }

    fn items_start(&self) -> usize {
        aligned(self.heads_end() + self.leaf.fence_bytes())
    }

    fn sorted_end(&self) -> usize {
        self.items_start() + self.count * self.stride.bytes()
    }

    /// Writes heads and items: the sorted items before each change, then its item.
    fn write_items(&self, buffer: &mut [u8]) {
        let (columns, leaf) = (self.columns, self.leaf);
        let old = [columns.heads(), leaf.bytes(columns.items_start()..leaf.sorted_end())];
        let (heads, items) = buffer.split_at_mut(self.items_start());
        let out = [&mut heads[COLUMN_HEADS_OFFSET..], items];
        let mut out = Output { out, old, element_bytes: [HEAD_BYTES, self.stride.bytes()], from: 0, to: 0 };
        for change in &self.changes {
            out.copy_up_to(usize::from(change.back_pointer));
            out.from += usize::from(change.replaces);
            if !change.deletes {
                let [head, item] = out.next();
                self.write_item(*change, head, item);
            }
        }
        out.copy_up_to(columns.count());
        debug_assert_eq!(out.to, self.count);
    }

    /// Writes the head and the item of a change.
    #[inline]
    fn write_item(&self, change: KeyChange, head_out: &mut [u8], item_out: &mut [u8]) {
        if change.entry == 0 {
            let suffix = self.change.item.suffix;
            head_out.copy_from_slice(&head(suffix).to_le_bytes());
            return write_rest(item_out, suffix.get(HEAD_BYTES..).unwrap_or(&[]), self.change.item.value);
        }
        let entry = self.leaf.from(usize::from(change.entry));
        head_out.copy_from_slice(&entry[..HEAD_BYTES]);
        // An entry with neither rest nor value has no bytes after its word, but the stride is never zero.
        let Stride { suffix_bytes, value_bytes } = self.stride;
        let bytes = suffix_bytes.saturating_sub(HEAD_BYTES) + value_bytes;
        write_rest(item_out, &entry[HEAD_BYTES + WORD_BYTES..][..bytes], &[]);
    }
}

/// The columns that are written, heads and items, and those that are copied.
struct Output<'b, 'a> {
    out: [&'b mut [u8]; 2],
    old: [&'a [u8]; 2],
    element_bytes: [usize; 2],
    /// Index of the next element to copy.
    from: usize,
    /// Index of the next element to write.
    to: usize,
}

impl Output<'_, '_> {
    /// Copies the elements before an index.
    #[inline]
    fn copy_up_to(&mut self, end: usize) {
        let count = end - self.from;
        for column in 0..2 {
            let bytes = self.element_bytes[column];
            let elements = &self.old[column][bytes * self.from..bytes * end];
            self.out[column][bytes * self.to..][..elements.len()].copy_from_slice(elements);
        }
        (self.from, self.to) = (end, self.to + count);
    }

    /// Returns the next elements to write.
    #[inline]
    fn next(&mut self) -> [&mut [u8]; 2] {
        let (to, [heads, items]) = (self.to, self.element_bytes);
        self.to += 1;
        let [out_heads, out_items] = &mut self.out;
        [&mut out_heads[heads * to..][..heads], &mut out_items[items * to..][..items]]
    }
}

//! Builds the sorted block of a node in columns in a private buffer: heads, offsets or children, fence keys,
//! items, samples.

use std::ops::Range;

use honeycomb_layout::{COLUMN_HEADS_OFFSET, column_child, columns as layout, node_header};

use crate::node::columns::Columns;
use crate::node::columns::encoding::{
    ALIGNMENT, CHILD_BYTES, OFFSET_BYTES, Stride, WORD_BYTES, aligned, children_offset, group_bits_for,
    is_determined, item_bytes, shift_offsets, write_item, write_rest,
};
use crate::node::fences::Fences;
use crate::node::item::{Item, ItemHeader};
use crate::node::item_run::ItemRun;
use crate::node::key::{self, head};
use crate::node::shape::LEAF;
use crate::node::size::{NodeKind, Size};
use crate::node::suffix::HEAD_BYTES;

/// The sorted block that was built.
pub(crate) struct Built {
    pub(crate) sorted_end: usize,
    pub(crate) group_bits: usize,
}

/// A node in columns that is being built.
struct Builder<'b> {
    buffer: &'b mut [u8],
    kind: NodeKind,
    stride: Option<Stride>,
    /// Offset of the offsets or the children.
    second: usize,
    /// Offset of the next heads of an interior node some of whose separators have items.
    next_heads: Option<usize>,
    /// Number of items written.
    index: usize,
    /// Offset of the next item.
    at: usize,
    /// Memory for a key whose parts are joined.
    key: Vec<u8>,
}

/// Writes the sorted block of a node with items of this size.
pub(crate) fn build(
    buffer: &mut [u8],
    kind: NodeKind,
    fences: Fences<'_>,
    size: Size,
    item_runs: &[ItemRun<'_>],
) -> Built {
    let stride = kind.stride(size);
    let heads_end = COLUMN_HEADS_OFFSET + HEAD_BYTES * size.count;
    let second =
        if kind.level == LEAF { heads_end } else { COLUMN_HEADS_OFFSET + children_offset(size.count) };
    buffer[heads_end..second].fill(0);
    let fences_start = COLUMN_HEADS_OFFSET + kind.columns_bytes(size);
    let fences_end = fences_start + fences.write(&mut buffer[fences_start..]);
    let items_start = aligned(fences_end);
    buffer[fences_end..items_start].fill(0);
    let next_heads = (kind.level > LEAF && size.item_bytes > 0).then(|| second + CHILD_BYTES * size.count);
    let (index, at, key) = (0, items_start, Vec::new());
    let mut builder = Builder { buffer, kind, stride, second, next_heads, index, at, key };
    item_runs.iter().for_each(|item_run| builder.add_run(*item_run));
    debug_assert_eq!(builder.index, size.count);
    let sorted_end = builder.at;
    write_columns(buffer, items_start, stride, size.count);
    Built { sorted_end, group_bits: group_bits_for(size.count) }
}

impl Builder<'_> {
    fn add_run(&mut self, item_run: ItemRun<'_>) {
        if let Some((columns, indexes)) = item_run.unchanged_columns(self.kind)
            && self.can_copy(columns)
        {
            return self.copy(columns, indexes);
        }
        for item in item_run.items() {
            if self.kind.level == LEAF {
                self.add_item(item_run, item);
            } else {
                self.add_child(item_run, item);
            }
        }
    }

    /// Returns whether items of another node of the same level and prefix can be copied as they are.
    fn can_copy(&self, columns: Columns<'_>) -> bool {
        self.kind.level > LEAF || columns.stride() == self.stride
    }

    /// Copies items of a node with the same prefix and the same form of items.
    fn copy(&mut self, columns: Columns<'_>, indexes: Range<usize>) {
        let (count, from) = (indexes.len(), indexes.clone());
        self.heads(count).copy_from_slice(columns.heads_of(from.clone()).as_flattened());
        let (range, at) = (columns.item_range(from.clone()), self.at);
        if self.kind.level > LEAF {
            self.copy_next_heads(columns, from.clone());
            let children = &columns.children()[from];
            shift_rests(self.seconds(count), children, range.clone(), at);
        } else if self.stride.is_none() {
            shift_offsets(self.seconds(count), &columns.offsets()[from], range.start, at);
        }
        let items = columns.bytes(range);
        self.buffer[self.at..self.at + items.len()].copy_from_slice(items);
        self.at += items.len();
        self.index += count;
    }

    /// Copies the next heads of separators, which are zero in a node without items.
    fn copy_next_heads(&mut self, columns: Columns<'_>, indexes: Range<usize>) {
        let Some(out) = self.next_heads(indexes.len()) else { return };
        match columns.has_separator_items() {
            true => out.copy_from_slice(columns.next_heads()[indexes].as_flattened()),
            false => out.fill(0),
        }
    }

    /// Returns the place of the next heads of some separators to write, if the node has that column.
    fn next_heads(&mut self, count: usize) -> Option<&mut [u8]> {
        let start = self.next_heads? + HEAD_BYTES * self.index;
        Some(&mut self.buffer[start..][..HEAD_BYTES * count])
    }

    /// Returns the place of the heads of some items to write.
    fn heads(&mut self, count: usize) -> &mut [u8] {
        &mut self.buffer[COLUMN_HEADS_OFFSET + HEAD_BYTES * self.index..][..HEAD_BYTES * count]
    }

    /// Returns the place of the offsets or children of some items to write.
    fn seconds<const BYTES: usize>(&mut self, count: usize) -> &mut [[u8; BYTES]] {
        self.buffer[self.second + BYTES * self.index..][..BYTES * count].as_chunks_mut().0
    }

    /// Adds an item to a leaf.
    fn add_item(&mut self, item_run: ItemRun<'_>, item: Item<'_>) {
        let header = item.header.without_log_flags();
        if item_run.prefix.len() == self.kind.prefix
            && let Some(head) = item.suffix().stored_head()
        {
            return self.write_item(header, head, item.suffix().rest(), item.value());
        }
        let suffix = self.take_joined(item_run.key(item).skip(self.kind.prefix));
        let rest = suffix.get(HEAD_BYTES..).unwrap_or(&[]);
        self.write_item(header.with_suffix_bytes(suffix.len()), head(&suffix), rest, item.value());
        self.key = suffix;
    }

    /// Returns the parts of a key in one part, in the memory for it.
    fn take_joined(&mut self, parts: [&[u8]; 3]) -> Vec<u8> {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        parts.into_iter().for_each(|part| key.extend_from_slice(part));
        key
    }

    fn write_item(&mut self, header: ItemHeader, head: u64, rest: &[u8], value: &[u8]) {
        self.heads(1).copy_from_slice(&head.to_le_bytes());
        let (at, stride) = (self.at, self.stride);
        self.at += match stride {
            Some(stride) => {
                write_rest(&mut self.buffer[at..at + stride.bytes()], rest, value);
                stride.bytes()
            }
            None => {
                self.seconds::<OFFSET_BYTES>(1)[0] = ((at / ALIGNMENT) as u16).to_le_bytes();
                write_item(&mut self.buffer[at..], header, rest, value);
                item_bytes(header)
            }
        };
        self.index += 1;
    }

    /// Adds a child and its separator to an interior node.
    fn add_child(&mut self, item_run: ItemRun<'_>, item: Item<'_>) {
        let separator = self.take_joined(item_run.key(item).skip(self.kind.prefix));
        let (at, head) = (self.at, head(&separator));
        let rest = separator.get(HEAD_BYTES..).unwrap_or(&[]);
        self.heads(1).copy_from_slice(&head.to_le_bytes());
        if let Some(out) = self.next_heads(1) {
            out.copy_from_slice(&key::head(rest).to_le_bytes());
        }
        let mut word = column_child::with_lid(0, item.child().get());
        if !is_determined(head, separator.len()) {
            let header = ItemHeader::new(separator.len(), 0);
            write_item(&mut self.buffer[at..], header, rest, &[]);
            word = column_child::with_rest(word, (at / ALIGNMENT) as u64);
            self.at += item_bytes(header);
        }
        self.seconds::<CHILD_BYTES>(1)[0] = word.to_le_bytes();
        self.index += 1;
        self.key = separator;
    }
}

/// Writes the children of separators whose items, which are in a range, are copied to another offset.
fn shift_rests(
    out: &mut [[u8; CHILD_BYTES]],
    children: &[[u8; CHILD_BYTES]],
    items: Range<usize>,
    to: usize,
) {
    if items.is_empty() {
        return out.copy_from_slice(children);
    }
    let shift = ((to / ALIGNMENT) as u64).wrapping_sub((items.start / ALIGNMENT) as u64);
    for (out, child) in out.iter_mut().zip(children) {
        let word = u64::from_le_bytes(*child);
        let rest = column_child::rest(word);
        let moved = if rest == 0 { 0 } else { rest.wrapping_add(shift) };
        *out = column_child::with_rest(word, moved).to_le_bytes();
    }
}

/// Writes the two lines after the header of a node whose heads are written.
pub(crate) fn write_columns(buffer: &mut [u8], items_start: usize, stride: Option<Stride>, count: usize) {
    const _: () = assert!(WORD_BYTES == ALIGNMENT);
    let (stride_bytes, suffix, value) =
        stride.map_or((0, 0, 0), |stride| (stride.bytes(), stride.suffix_bytes, stride.value_bytes));
    let fields = [
        (layout::ITEMS_START_OFFSET, items_start),
        (layout::STRIDE_OFFSET, stride_bytes),
        (layout::SUFFIX_LENGTH_OFFSET, suffix),
        (layout::VALUE_LENGTH_OFFSET, value),
    ];
    for (offset, field) in fields {
        buffer[node_header::SIZE + offset..][..2].copy_from_slice(&(field as u16).to_le_bytes());
    }
    let (columns, heads) = buffer[node_header::SIZE..].split_at_mut(layout::SIZE);
    let (samples, heads) =
        (columns[layout::SAMPLES_OFFSET..].as_chunks_mut::<HEAD_BYTES>().0, heads.as_chunks().0);
    for (group, sample) in samples.iter_mut().enumerate() {
        let first = (group + 1) << group_bits_for(count);
        *sample = if first < count { heads[first] } else { [0xff; HEAD_BYTES] };
    }
}

//! Divides the items of a new node into segments and writes the shortcuts.
//!
//! Most items come from other nodes, where segments start at some of them. A new node keeps these segments
//! while they are of similar size. Otherwise it divides all items again, which has to read the header of each
//! item.

use std::ops::Range;

use crate::node::item::{HEADER_BYTES, ItemHeader};
use crate::node::key::head;
use crate::node::shape::{Geometry, Shape};
use crate::node::view::View;

/// The segment starts of a node, in the format of its shortcut block: two bytes each.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Starts<'a>(pub(crate) &'a [[u8; 2]]);

impl<'a> Starts<'a> {
    pub(crate) fn of(view: View<'a>) -> Self {
        let block = view.from(view.geometry().segment_field_offset(0));
        Self(block[..2 * view.shortcut_count()].as_chunks().0)
    }

    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = usize> + 'a {
        self.0.iter().map(|offset| usize::from(u16::from_le_bytes(*offset)))
    }

    /// Returns the starts before an offset, and the others.
    #[inline]
    pub(crate) fn split_at(self, offset: usize) -> (Self, Self) {
        let before = self.iter().position(|start| start >= offset).unwrap_or(self.0.len());
        let (before, after) = self.0.split_at(before);
        (Self(before), Self(after))
    }
}

/// The segment starts of a new node, in its shortcut block.
pub(crate) struct Segments {
    geometry: Geometry,
    /// Number of starts. If they exceed the capacity of the block, the others are not written.
    count: usize,
}

impl Segments {
    pub(crate) fn new(shape: &Shape) -> Self {
        Self { geometry: shape.geometry(), count: 0 }
    }

    /// Keeps segment starts of another node. Its item at `offset` is at `at` in this node.
    #[inline]
    pub(crate) fn keep(&mut self, buffer: &mut [u8], starts: Starts<'_>, offset: usize, at: usize) {
        if starts.0.is_empty() {
            return;
        }
        let shift = (at as u16).wrapping_sub(offset as u16);
        let count = self.count + starts.0.len();
        if count <= self.geometry.shortcut_capacity() {
            let fields = &mut buffer[self.fields(self.count..count)];
            for (field, start) in fields.as_chunks_mut().0.iter_mut().zip(starts.0) {
                *field = u16::from_le_bytes(*start).wrapping_add(shift).to_le_bytes();
            }
        }
        self.count = count;
    }

    /// Writes the shortcuts of all items and returns their number.
    pub(crate) fn finish(mut self, shape: &Shape, buffer: &mut [u8], items: Range<usize>) -> usize {
        let even = even_bytes(shape, items.len());
        if !self.are_even(buffer, &items, even) {
            self.cut(buffer, items, even);
        }
        self.write_heads(buffer);
        self.count
    }

    /// Returns the range of the fields of some segments.
    fn fields(&self, segments: Range<usize>) -> Range<usize> {
        self.geometry.segment_field_offset(segments.start)..self.geometry.segment_field_offset(segments.end)
    }

    /// Returns whether the segments cover the items, none is longer than two segments of `even` bytes, and
    /// their number is at least three quarters of what such segments would need.
    fn are_even(&self, buffer: &[u8], items: &Range<usize>, even: usize) -> bool {
        if self.count > self.geometry.shortcut_capacity() || 4 * self.count < 3 * (items.len() / even) {
            return false;
        }
        let starts = Starts(buffer[self.fields(0..self.count)].as_chunks().0);
        let (mut longest, mut last) = (0, items.start);
        for start in starts.iter() {
            longest = longest.max(start - last);
            last = start;
        }
        longest.max(items.end - last) <= 2 * even && starts.iter().next() == Some(items.start)
    }

    /// Divides the items into segments of similar size, at least `even` bytes each.
    fn cut(&mut self, buffer: &mut [u8], items: Range<usize>, even: usize) {
        let step = items.len().div_ceil((items.len() / even).max(1));
        let (mut at, mut goal) = (items.start, items.start);
        self.count = 0;
        while at < items.end {
            if at >= goal {
                let field = self.fields(self.count..self.count + 1);
                buffer[field].copy_from_slice(&(at as u16).to_le_bytes());
                self.count += 1;
                goal = at + step;
            }
            at += ItemHeader::read(&buffer[at..]).item_bytes();
        }
        debug_assert!(self.count <= self.geometry.shortcut_capacity());
    }

    fn write_heads(&self, buffer: &mut [u8]) {
        let (heads, rest) = buffer.split_at_mut(self.geometry.segment_field_offset(0));
        let skipped = heads.len();
        let heads = heads[self.geometry.head_offset(0)..].as_chunks_mut().0;
        let starts = Starts(rest[..2 * self.count].as_chunks().0);
        for (out, start) in heads.iter_mut().zip(starts.iter()) {
            *out = item_head(&rest[start - skipped..]).to_le_bytes();
        }
    }
}

/// Returns the size of each segment if items of `items_bytes` bytes are divided evenly.
pub(crate) fn even_bytes(shape: &Shape, items_bytes: usize) -> usize {
    items_bytes.div_ceil(shape.geometry().shortcut_capacity()).max(shape.segment_bytes_min).max(1)
}

/// Returns the head of the item that starts `bytes`.
#[inline]
fn item_head(bytes: &[u8]) -> u64 {
    let suffix_bytes = ItemHeader::read(bytes).suffix_bytes();
    match bytes[HEADER_BYTES..].first_chunk() {
        Some(first) if suffix_bytes >= 8 => u64::from_be_bytes(*first),
        _ => head(&bytes[HEADER_BYTES..][..suffix_bytes]),
    }
}

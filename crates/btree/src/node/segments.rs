//! Cuts the items of a node that is built into segments, and writes a shortcut for each.
//!
//! Most items come from nodes in which segments start at some of them. These stay starts of segments as long
//! as the segments stay even, so that few builds walk the items; else all segments are cut anew.

use std::ops::Range;

use crate::node::item::{HEADER_BYTES, ItemHeader};
use crate::node::key::head;
use crate::node::shape::{Geometry, Shape};
use crate::node::view::View;

/// Starts of segments among the items of a node, as its shortcut block holds them: two bytes each.
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

    /// Those before an offset, and the others.
    #[inline]
    pub(crate) fn split_at(self, offset: usize) -> (Self, Self) {
        let before = self.iter().position(|start| start >= offset).unwrap_or(self.0.len());
        let (before, after) = self.0.split_at(before);
        (Self(before), Self(after))
    }
}

/// The starts of segments of a node that is built, in its shortcut block.
pub(crate) struct Segments {
    geometry: Geometry,
    /// How many are known; more than fit in the block are not written.
    count: usize,
}

impl Segments {
    pub(crate) fn new(shape: &Shape) -> Self {
        Self { geometry: shape.geometry(), count: 0 }
    }

    /// Keeps starts of segments of another node, whose item at `offset` stands in this one at `at`.
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

    /// Writes the shortcuts of all items, and says how many there are.
    pub(crate) fn finish(mut self, shape: &Shape, buffer: &mut [u8], items: Range<usize>) -> usize {
        let even = even_bytes(shape, items.len());
        if !self.are_even(buffer, &items, even) {
            self.cut(buffer, items, even);
        }
        self.write_heads(buffer);
        self.count
    }

    /// Where the fields of some segments are.
    fn fields(&self, segments: Range<usize>) -> Range<usize> {
        self.geometry.segment_field_offset(segments.start)..self.geometry.segment_field_offset(segments.end)
    }

    /// Whether the segments cover the items, none is twice as long as segments of `even` bytes, and they are
    /// not much fewer than these would be.
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

    /// Cuts the items into segments of similar size, not shorter than `even` bytes.
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

/// Bytes of a segment if all that items of so many bytes are cut into are even.
pub(crate) fn even_bytes(shape: &Shape, items_bytes: usize) -> usize {
    items_bytes.div_ceil(shape.geometry().shortcut_capacity()).max(shape.segment_bytes_min).max(1)
}

/// The head of the item that starts `bytes`.
#[inline]
fn item_head(bytes: &[u8]) -> u64 {
    let suffix_bytes = ItemHeader::read(bytes).suffix_bytes();
    match bytes[HEADER_BYTES..].first_chunk() {
        Some(first) if suffix_bytes >= 8 => u64::from_be_bytes(*first),
        _ => head(&bytes[HEADER_BYTES..][..suffix_bytes]),
    }
}

//! Cuts the items of a node that is built into segments, and writes a shortcut for each.
//!
//! Most items come from nodes in which segments start at some of them. Those stay starts of segments where
//! that leaves no segment too short or too long, so that only what became uneven is walked item by item.

use crate::item::{HEADER_BYTES, ItemHeader};
use crate::key::head;
use crate::shape::{Geometry, Shape};
use crate::view::View;

/// Starts of segments among the items of a node, as its shortcut block holds them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Starts<'a> {
    offsets: &'a [[u8; 2]],
}

impl<'a> Starts<'a> {
    pub(crate) fn of(view: View<'a>) -> Self {
        let block = view.from(view.geometry().segment_field_offset(0));
        Self { offsets: block[..2 * view.shortcut_count()].as_chunks().0 }
    }

    pub(crate) fn from_bytes(offsets: &'a [[u8; 2]]) -> Self {
        Self { offsets }
    }

    pub(crate) fn as_bytes(self) -> &'a [[u8; 2]] {
        self.offsets
    }

    pub(crate) fn iter(self) -> impl DoubleEndedIterator<Item = usize> + 'a {
        self.offsets.iter().map(|offset| usize::from(u16::from_le_bytes(*offset)))
    }

    /// Those before an offset, and the others.
    pub(crate) fn split_at(self, offset: usize) -> (Self, Self) {
        let before = self.iter().take_while(|&start| start < offset).count();
        let (before, after) = self.offsets.split_at(before);
        (Self { offsets: before }, Self { offsets: after })
    }
}

/// The segments of a node that is built, from its first item on.
pub(crate) struct Segments {
    geometry: Geometry,
    /// Where the last segment starts.
    last: usize,
    count: usize,
    /// Bytes of a segment if all are even, below which none is made, and above which it is cut.
    even: usize,
    min: usize,
    max: usize,
    first: usize,
}

impl Segments {
    /// For items of so many bytes.
    pub(crate) fn new(shape: &Shape, items_start: usize, bytes: usize) -> Self {
        let geometry = shape.geometry();
        let even = bytes.div_ceil(geometry.shortcut_capacity()).max(shape.segment_bytes_min).max(1);
        Self {
            geometry,
            first: items_start,
            last: items_start,
            count: 0,
            even,
            min: shape.segment_bytes_min,
            max: 2 * even,
        }
    }

    /// An item at `next`, up to which the items are in `buffer`, would do as the start of a segment.
    #[inline]
    pub(crate) fn start(&mut self, buffer: &mut [u8], next: usize) {
        let bytes = next - self.last;
        if bytes < self.min || bytes == 0 {
            return;
        }
        self.end_segment(buffer, next);
        self.last = next;
    }

    /// Writes the shortcuts of all items up to `end`, and says how many there are.
    pub(crate) fn finish(mut self, buffer: &mut [u8], end: usize) -> usize {
        if end == self.first {
            return 0;
        }
        self.end_segment(buffer, end);
        let few = 4 * self.count < 3 * ((end - self.first) / self.even);
        if few || self.count > self.geometry.shortcut_capacity() {
            (self.last, self.count) = (self.first, 0);
            self.cut(buffer, end);
        }
        self.write_heads(buffer);
        self.count
    }

    /// Ends the last segment at `end`, or makes several of it.
    #[inline]
    fn end_segment(&mut self, buffer: &mut [u8], end: usize) {
        if end - self.last > self.max {
            self.cut(buffer, end);
        } else {
            self.push(buffer, self.last);
        }
    }

    #[inline]
    fn push(&mut self, buffer: &mut [u8], start: usize) {
        if self.count < self.geometry.shortcut_capacity() {
            let field = self.geometry.segment_field_offset(self.count);
            buffer[field..field + 2].copy_from_slice(&(start as u16).to_le_bytes());
        }
        self.count += 1;
    }

    /// Makes segments of similar size, not smaller than `even`, of the items from the last start up to `end`.
    #[cold]
    fn cut(&mut self, buffer: &mut [u8], end: usize) {
        let bytes = end - self.last;
        let step = bytes.div_ceil((bytes / self.even).max(1));
        let (mut at, mut goal) = (self.last, self.last);
        while at < end {
            if at >= goal {
                self.push(buffer, at);
                goal = at + step;
            }
            at += ItemHeader::read(&buffer[at..]).item_bytes();
        }
    }

    fn write_heads(&self, buffer: &mut [u8]) {
        let (shortcuts, items) = buffer.split_at_mut(self.first);
        let (heads, starts) = shortcuts.split_at_mut(self.geometry.segment_field_offset(0));
        let heads = heads[self.geometry.head_offset(0)..].as_chunks_mut().0;
        for (out, start) in heads.iter_mut().zip(starts.as_chunks().0).take(self.count) {
            let item = &items[usize::from(u16::from_le_bytes(*start)) - self.first..];
            let suffix = &item[HEADER_BYTES..][..ItemHeader::read(item).suffix_bytes()];
            *out = head(suffix).to_le_bytes();
        }
    }
}

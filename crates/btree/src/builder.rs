//! Builds a node in a private buffer: fences, items, shortcuts, header.

use honeycomb_layout::{fences, node_header};
use honeycomb_memory::{Lid, LockAndSize};

use crate::item::ItemHeader;
use crate::key::{self, head};
use crate::piece::Piece;
use crate::shape::Shape;
use crate::view::View;

/// All that makes a node, but for its version, which is stamped when it is published.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'a> {
    pub(crate) level: usize,
    /// Smallest key routed here; empty for the leftmost node of a level.
    pub(crate) low: &'a [u8],
    /// Smallest key routed to the right of here; none for the rightmost node of a level.
    pub(crate) high: Option<&'a [u8]>,
    /// Left sibling of a leaf, leftmost child of an interior node.
    pub(crate) left: Option<Lid>,
    pub(crate) right: Option<Lid>,
    pub(crate) pieces: &'a [Piece<'a>],
}

impl Plan<'_> {
    fn prefix_length(&self) -> usize {
        key::prefix_length(self.low, self.high)
    }

    /// Bytes of the sorted block.
    pub(crate) fn sorted_bytes(&self) -> usize {
        let prefix_length = self.prefix_length();
        let items: usize = self.pieces.iter().map(|piece| piece.bytes_with_prefix(prefix_length)).sum();
        fences_bytes(self.low, self.high) + items
    }

    /// Writes the node.
    pub(crate) fn build(&self, shape: &Shape, buffer: &mut [u8]) {
        let geometry = shape.geometry();
        let mut at = geometry.sorted_start();
        at += write_fences(&mut buffer[at..], self.low, self.high);
        let prefix_length = self.prefix_length();
        let items_start = at;
        for piece in self.pieces {
            at += piece.write(&mut buffer[at..], prefix_length);
        }
        let (sorted_count, shortcut_count) = write_shortcuts(shape, buffer, items_start, at);
        self.write_header(buffer, at, sorted_count, shortcut_count);
    }

    fn write_header(&self, buffer: &mut [u8], sorted_end: usize, sorted_count: usize, shortcut_count: usize) {
        let state = LockAndSize::new(sorted_end, 0);
        write_word(buffer, node_header::LOCK_AND_SIZE_OFFSET, u64::from(state));
        write_word(buffer, node_header::NODE_VERSION_OFFSET, 0);
        write_word(buffer, node_header::PREVIOUS_VERSION_OFFSET, 0);
        write_word(buffer, node_header::LEFT_OFFSET, self.left.map_or(0, Lid::get));
        write_word(buffer, node_header::RIGHT_OFFSET, self.right.map_or(0, Lid::get));
        let mut put = |offset: usize, bytes: usize, value: usize| {
            buffer[offset..offset + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        };
        put(node_header::SORTED_END_OFFSET, node_header::SORTED_END_BYTES, sorted_end);
        put(node_header::SORTED_COUNT_OFFSET, node_header::SORTED_COUNT_BYTES, sorted_count);
        put(node_header::PREFIX_LENGTH_OFFSET, node_header::PREFIX_LENGTH_BYTES, self.prefix_length());
        put(node_header::SHORTCUT_COUNT_OFFSET, node_header::SHORTCUT_COUNT_BYTES, shortcut_count);
        put(node_header::LEVEL_OFFSET, node_header::LEVEL_BYTES, self.level);
        write_word(buffer, node_header::TAGS_OFFSET, 0);
        write_word(buffer, node_header::TAGS_OFFSET + 8, 0);
    }
}

/// Stores a word of a private buffer.
pub(crate) fn write_word(buffer: &mut [u8], offset: usize, value: u64) {
    buffer[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

/// Bytes of the fences at the start of a sorted block.
pub(crate) fn fences_bytes(low: &[u8], high: Option<&[u8]>) -> usize {
    fences::SIZE + low.len() + high.map_or(0, <[u8]>::len) - key::prefix_length(low, high)
}

fn write_fences(out: &mut [u8], low: &[u8], high: Option<&[u8]>) -> usize {
    let high_suffix = &high.unwrap_or(&[])[key::prefix_length(low, high)..];
    let length = |bytes: usize| (bytes as u16).to_le_bytes();
    out[fences::LOW_LENGTH_OFFSET..][..2].copy_from_slice(&length(low.len()));
    out[fences::HIGH_LENGTH_OFFSET..][..2].copy_from_slice(&length(high.map_or(0, <[u8]>::len)));
    let (low_out, rest) = out[fences::SIZE..].split_at_mut(low.len());
    low_out.copy_from_slice(low);
    rest[..high_suffix.len()].copy_from_slice(high_suffix);
    fences::SIZE + low.len() + high_suffix.len()
}

/// Cuts the items into segments of similar size and writes a shortcut for each: counts of items and of
/// shortcuts.
fn write_shortcuts(shape: &Shape, buffer: &mut [u8], start: usize, end: usize) -> (usize, usize) {
    let geometry = shape.geometry();
    let capacity = geometry.shortcut_capacity();
    let segment_bytes = (end - start).div_ceil(capacity).max(shape.segment_bytes_min);
    let (shortcut_block, items) = buffer.split_at_mut(start);
    let mut rest = &items[..end - start];
    let (mut item_count, mut shortcut_count) = (0, 0);
    // Counted from the end, like `rest`.
    let mut next_segment = rest.len();
    while !rest.is_empty() {
        let header = ItemHeader::read(rest);
        if rest.len() <= next_segment {
            let offset = end - rest.len();
            let field = geometry.segment_field_offset(shortcut_count);
            let suffix = &rest[crate::item::HEADER_BYTES..][..header.suffix_bytes()];
            write_word(shortcut_block, geometry.head_offset(shortcut_count), head(suffix));
            shortcut_block[field..field + 2].copy_from_slice(&(offset as u16).to_le_bytes());
            shortcut_count += 1;
            next_segment = rest.len().saturating_sub(segment_bytes);
        }
        item_count += 1;
        rest = &rest[header.item_bytes()..];
    }
    debug_assert!(shortcut_count <= capacity);
    (item_count, shortcut_count)
}

/// What a node of one child looks like before anything is in it: an empty leaf without siblings.
pub(crate) const EMPTY_LEAF: Plan<'static> =
    Plan { level: 0, low: &[], high: None, left: None, right: None, pieces: &[] };

/// The fences of a node, in memory of their own.
pub(crate) struct Fences {
    pub(crate) low: Vec<u8>,
    pub(crate) high: Option<Vec<u8>>,
}

impl Fences {
    /// From the low fence of `first` to the high fence of `last`.
    pub(crate) fn spanning(first: View<'_>, last: View<'_>) -> Self {
        Self { low: first.low_fence().to_vec(), high: last.high_fence().map(|high| high.to_vec()) }
    }
}

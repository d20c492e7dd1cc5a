//! Builds a node in a private buffer: fence keys, items, shortcuts, header.

use honeycomb_layout::node_header;
use honeycomb_memory::{Lid, LockAndSize};

use crate::node::fences::Fences;
use crate::node::item_run::{ItemRun, Items};
use crate::node::segments::Segments;
use crate::node::shape::{LEAF, Shape};
use crate::node::tag_directory;

/// The complete contents of a node, except its version, which publication sets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'a> {
    level: usize,
    fences: Fences<'a>,
    /// The left sibling of a leaf, or the leftmost child of an interior node.
    left: Option<Lid>,
    right: Option<Lid>,
    item_runs: &'a [ItemRun<'a>],
    sorted_count: usize,
    prefix_length: usize,
    items_bytes: usize,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(
        level: usize,
        fences: Fences<'a>,
        links: [Option<Lid>; 2],
        items: &'a Items<'_>,
    ) -> Self {
        let ([left, right], prefix_length) = (links, fences.prefix_length());
        let items_bytes = items.bytes_with_prefix(prefix_length);
        let (item_runs, sorted_count) = (&items.item_runs[..], items.tally.count);
        Self { level, fences, left, right, item_runs, sorted_count, prefix_length, items_bytes }
    }

    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// Returns the bytes of the sorted block.
    pub(crate) fn sorted_bytes(&self) -> usize {
        self.fences.bytes() + self.items_bytes
    }

    /// Writes the node to `buffer`.
    pub(crate) fn build(&self, shape: &Shape, buffer: &mut [u8]) {
        let geometry = shape.geometry();
        let mut at = geometry.sorted_start(self.level);
        at += self.fences.write(&mut buffer[at..]);
        let (start, mut segments) = (at, Segments::new(shape));
        for item_run in self.item_runs {
            if self.prefix_length == item_run.prefix.len() {
                segments.keep(buffer, item_run.starts, item_run.offset, at);
            }
            at += item_run.write(&mut buffer[at..], self.prefix_length);
        }
        let shortcut_count = segments.finish(shape, buffer, start..at);
        if self.level == LEAF && geometry.has_tag_directory() {
            tag_directory::write(geometry, buffer, &self.fences.low[..self.prefix_length], start..at);
        }
        let counts = count_field(node_header::SORTED_END_OFFSET, at)
            | count_field(node_header::SORTED_COUNT_OFFSET, self.sorted_count)
            | count_field(node_header::PREFIX_LENGTH_OFFSET, self.prefix_length)
            | count_field(node_header::SHORTCUT_COUNT_OFFSET, shortcut_count)
            | count_field(node_header::LEVEL_OFFSET, self.level);
        write_header(buffer, at, [self.left, self.right], counts);
    }
}

/// Writes the header of a node without log entries. `links` are its siblings, or its leftmost child; `counts`
/// is the header word with the counts.
pub(crate) fn write_header(buffer: &mut [u8], sorted_end: usize, links: [Option<Lid>; 2], counts: u64) {
    let [left, right] = links.map(|link| link.map_or(0, Lid::get));
    write_word(buffer, node_header::LOCK_AND_SIZE_OFFSET, u64::from(LockAndSize::new(sorted_end, 0)));
    write_word(buffer, node_header::NODE_VERSION_OFFSET, 0);
    write_word(buffer, node_header::PREVIOUS_VERSION_OFFSET, 0);
    write_word(buffer, node_header::LEFT_OFFSET, left);
    write_word(buffer, node_header::RIGHT_OFFSET, right);
    write_word(buffer, node_header::SORTED_END_OFFSET, counts);
    write_word(buffer, node_header::TAGS_OFFSET, 0);
    write_word(buffer, node_header::TAGS_OFFSET + 8, 0);
}

/// Returns a field of the header word with the counts.
fn count_field(offset: usize, value: usize) -> u64 {
    (value as u64) << (8 * (offset - node_header::SORTED_END_OFFSET))
}

/// Loads a word from a private buffer.
pub(crate) fn read_word(buffer: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(*buffer[offset..].first_chunk().expect("eight bytes"))
}

/// Stores a word in a private buffer.
pub(crate) fn write_word(buffer: &mut [u8], offset: usize, value: u64) {
    buffer[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

impl Plan<'static> {
    /// An empty leaf without siblings, the root of a new tree.
    pub(crate) const EMPTY_LEAF: Self = Self {
        level: 0,
        fences: Fences::NONE,
        left: None,
        right: None,
        item_runs: &[],
        sorted_count: 0,
        prefix_length: 0,
        items_bytes: 0,
    };
}

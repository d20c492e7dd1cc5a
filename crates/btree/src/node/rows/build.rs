//! Builds the sorted block of a leaf in rows in a private buffer: fence keys, items, segments, shortcuts.

use std::ops::Range;

use crate::node::fences::Fences;
use crate::node::item::{HEADER_BYTES, Item, ItemHeader};
use crate::node::item_run::ItemRun;
use crate::node::key::head;
use crate::node::shape::{Geometry, NodeLayout, Shape};
use crate::node::suffix::KeyParts;

/// Writes the sorted block of a leaf with a prefix of `prefix_length` bytes. Returns the offset of its end
/// and the number of shortcuts.
pub(crate) fn build(
    shape: &Shape,
    buffer: &mut [u8],
    prefix_length: usize,
    fences: Fences<'_>,
    item_runs: &[ItemRun<'_>],
) -> (usize, usize) {
    let geometry = shape.geometry();
    let start = geometry.block_start() + fences.write(&mut buffer[geometry.block_start()..]);
    let mut at = start;
    for item_run in item_runs {
        for item in item_run.items() {
            at += write_item(&mut buffer[at..], item_run.key(item), item, prefix_length);
        }
    }
    (at, cut(geometry, even_bytes(shape, at - start), buffer, start..at))
}

fn write_item(out: &mut [u8], key: KeyParts<'_>, item: Item<'_>, prefix_length: usize) -> usize {
    let suffix = key.skip(prefix_length);
    let suffix_bytes = suffix.iter().map(|part| part.len()).sum();
    item.header.without_log_flags().with_suffix_bytes(suffix_bytes).write(out);
    let mut at = HEADER_BYTES;
    for part in suffix.into_iter().chain([item.value()]) {
        out[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    at
}

/// Divides the items into segments of similar size, at least `even` bytes each, writes their shortcuts, and
/// returns their number.
fn cut(geometry: Geometry, even: usize, buffer: &mut [u8], items: Range<usize>) -> usize {
    let step = items.len().div_ceil((items.len() / even).max(1));
    let (mut at, mut goal, mut count) = (items.start, items.start, 0);
    while at < items.end {
        let item = ItemHeader::read(&buffer[at..]);
        if at >= goal {
            let head = head(&buffer[at + HEADER_BYTES..][..item.suffix_bytes()]);
            buffer[geometry.shortcut_offset(count)..][..8].copy_from_slice(&head.to_le_bytes());
            buffer[geometry.segment_field_offset(count)..][..2].copy_from_slice(&(at as u16).to_le_bytes());
            count += 1;
            goal = at + step;
        }
        at += item.item_bytes();
    }
    debug_assert!(count <= geometry.shortcut_capacity());
    count
}

/// Returns the size of each segment if items of `items_bytes` bytes are divided evenly.
pub(crate) fn even_bytes(shape: &Shape, items_bytes: usize) -> usize {
    let NodeLayout::Rows(rows) = shape.layout else { unreachable!("only nodes in rows have segments") };
    items_bytes.div_ceil(shape.geometry().shortcut_capacity()).max(rows.segment_bytes_min).max(1)
}

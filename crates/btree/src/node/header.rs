//! The header of a node in a private buffer.

use honeycomb_layout::node_header;
use honeycomb_memory::{Lid, LockAndSize};

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

/// Loads a word from a private buffer.
pub(crate) fn read_word(buffer: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(*buffer[offset..].first_chunk().expect("eight bytes"))
}

/// Stores a word in a private buffer.
pub(crate) fn write_word(buffer: &mut [u8], offset: usize, value: u64) {
    buffer[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

//! The fingerprint directory of a leaf: finds sorted items by the hash of their keys. With it, a get reads
//! one directory line and the item instead of shortcuts and a segment.
//!
//! ```text
//! | 21 fingerprints | count | 21 offsets |     one line, 64 bytes
//! ```
//! The hash covers the whole key, so a get knows the line before it reads the leaf. A line has a fixed number
//! of entries. Items beyond that number are found through the shortcuts, as in a leaf without a directory.

use std::ops::Range;

use honeycomb_layout::directory_line::{COUNT_OFFSET, OFFSETS_OFFSET, SIZE, TAGS_COUNT, TAGS_OFFSET};
use honeycomb_memory::{crc32c, crc32c_each};

use crate::node::equal_bytes::equal_bytes;
use crate::node::item::{HEADER_BYTES, ItemHeader};
use crate::node::key_hash::KeyHash;
use crate::node::shape::Geometry;

/// A line of a directory.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a>(&'a [u8; SIZE]);

/// The entries of a line that may have a key, one bit each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MatchingEntries(u32);

impl MatchingEntries {
    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl<'a> Line<'a> {
    /// Returns the line at the start of `bytes`.
    #[inline]
    pub(crate) fn read(bytes: &'a [u8]) -> Self {
        Self(bytes.first_chunk().expect("a whole line"))
    }

    /// Returns the number of items of the line, including those without an entry.
    #[inline]
    pub(crate) fn count(self) -> usize {
        usize::from(self.0[COUNT_OFFSET])
    }

    /// Returns whether all items of the line have entries.
    #[inline]
    pub(crate) fn is_whole(self) -> bool {
        self.count() <= TAGS_COUNT
    }

    /// Returns the entries with the fingerprint of this hash.
    #[inline]
    pub(crate) fn matching(self, hash: KeyHash) -> MatchingEntries {
        let word = |index| u64::from_le_bytes(self.0[TAGS_OFFSET..].as_chunks().0[index]);
        let equal = |index| equal_bytes(word(index), hash.tag());
        let equal = equal(0) | equal(1) << 8 | equal(2) << 16;
        MatchingEntries(equal & ((1 << self.count().min(TAGS_COUNT)) - 1))
    }

    /// Returns the offsets of the items of some entries.
    #[inline]
    pub(crate) fn offsets(self, matching: MatchingEntries) -> impl Iterator<Item = usize> + 'a {
        let mut left = matching.0;
        std::iter::from_fn(move || {
            let index = left.trailing_zeros() as usize;
            (left != 0).then(|| {
                left &= left - 1;
                self.offset(index)
            })
        })
    }

    #[inline]
    fn offset(self, index: usize) -> usize {
        usize::from(u16::from_le_bytes(self.0[OFFSETS_OFFSET..].as_chunks().0[index]))
    }
}

/// Writes the directory of a new leaf, whose sorted items are at `items` and lack `prefix`.
pub(crate) fn write(geometry: Geometry, buffer: &mut [u8], prefix: &[u8], items: Range<usize>) {
    let (before, block) = buffer[..items.end].split_at_mut(items.start);
    let lines = before[geometry.tag_directory()].as_chunks_mut::<SIZE>().0;
    lines.iter_mut().for_each(|line| line[COUNT_OFFSET] = 0);
    crc32c_each(crc32c(prefix), suffixes(block), |at, crc| {
        let hash = KeyHash::from_crc(crc);
        add(&mut lines[hash.line(lines.len())], hash, items.start + at);
    });
}

/// Returns the key suffixes of items with the offsets of the items.
#[inline]
fn suffixes(items: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut rest = items;
    std::iter::from_fn(move || {
        let at = items.len() - rest.len();
        (!rest.is_empty()).then(|| {
            let header = ItemHeader::read(rest);
            let suffix = &rest[HEADER_BYTES..][..header.suffix_bytes()];
            rest = &rest[header.item_bytes()..];
            (at, suffix)
        })
    })
}

#[inline]
fn add(line: &mut [u8; SIZE], hash: KeyHash, offset: usize) {
    let count = usize::from(line[COUNT_OFFSET]);
    if count < TAGS_COUNT {
        line[TAGS_OFFSET + count] = hash.tag();
        line[OFFSETS_OFFSET..].as_chunks_mut().0[count] = (offset as u16).to_le_bytes();
    }
    line[COUNT_OFFSET] = line[COUNT_OFFSET].saturating_add(1);
}

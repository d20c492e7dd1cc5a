//! Pairs as bytes: their encoding at the end of a buffer, and their decoding.
//!
//! ```text
//! | pair, 8 bytes | key | value | ...
//! ```

use honeycomb_btree::{Pair, PairRun, WrittenPairs};
use honeycomb_layout::completion_pair as layout;

use crate::buffer::Buffer;

const _: () = assert!(layout::SIZE == 8 && layout::VALUE_LENGTH_OFFSET == 0);

/// Room for bytes that a copy writes past the end of a pair.
const SPARE_BYTES: usize = 64;
/// Maximum number of bytes of one copied item run.
const ITEM_RUN_BYTES: usize = 4096;

/// Iterates over pairs: key and value.
#[derive(Debug, Clone, Default)]
pub struct PairsOf<'a> {
    rest: &'a [u8],
}

impl<'a> PairsOf<'a> {
    #[inline]
    pub(crate) fn new(pairs: &'a [u8]) -> Self {
        Self { rest: pairs }
    }

    /// The number of pairs; `None` if the bytes are not a sequence of complete pairs.
    pub(crate) fn count(pairs: &[u8]) -> Option<usize> {
        let mut pairs = PairsOf { rest: pairs };
        let count = pairs.by_ref().count();
        pairs.rest.is_empty().then_some(count)
    }
}

impl<'a> Iterator for PairsOf<'a> {
    type Item = (&'a [u8], &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (header, rest) = self.rest.split_first_chunk::<{ layout::SIZE }>()?;
        let word = u64::from_le_bytes(*header);
        let (key_length, value_length) = ((word >> 32) as u16 as usize, word as u32 as usize);
        let (pair, rest) = rest.split_at_checked(key_length + value_length)?;
        self.rest = rest;
        pair.split_at_checked(key_length)
    }
}

/// Encodes the header of a pair with a key and a value of these lengths.
#[inline]
pub(crate) fn pair_header(key: usize, value: usize) -> [u8; layout::SIZE] {
    let header = value as u64 | (key as u64) << (8 * layout::KEY_LENGTH_OFFSET);
    header.to_le_bytes()
}

/// Appends a pair.
#[inline]
pub(crate) fn push_pair(buffer: &mut Buffer, pair: &Pair<'_>) {
    let (key, value) = (pair.key_len(), pair.value_len());
    let room = buffer.room(layout::SIZE + key + value + SPARE_BYTES);
    pair.write_to(pair_header(key, value), room);
    buffer.advance(layout::SIZE + key + value);
}

/// Appends a pair with these bytes.
pub(crate) fn push_pair_bytes(buffer: &mut Buffer, key: &[u8], value: &[u8]) {
    let header = pair_header(key.len(), value.len());
    [&header[..], key, value].into_iter().for_each(|bytes| buffer.push(bytes));
}

/// Appends leading pairs of an item run by whole copies, within these limits. It can append fewer pairs than
/// the limits allow.
#[inline]
pub(crate) fn push_run(
    buffer: &mut Buffer,
    run: &mut PairRun<'_>,
    pairs: usize,
    bytes: usize,
) -> WrittenPairs {
    let room = buffer.room(ITEM_RUN_BYTES);
    let most = room.len().min(bytes).min(ITEM_RUN_BYTES);
    let written = run.write_to(&mut room[..most], pairs, pair_header);
    buffer.advance(written.bytes);
    written
}

//! A column with a byte of the hash of each key, requested with the header: a get goes from it to the items,
//! without samples and groups. Scans need samples and heads besides.

use honeycomb_memory::{LINE_BYTES, equal_bytes_of_two};
use honeycomb_workload::mix;

use super::form::{Form, Key, Leaf, PAIRS};
use super::items::{self, HEAD_BYTES};

/// After the fingerprints come the heads; the samples of scans have no effect on gets.
const HEADS_AT: usize = PAIRS;
/// Fingerprints that are compared at once.
const BLOCK: usize = 16;
/// Blocks of a mask of 64 bits.
const BLOCKS: usize = u64::BITS as usize / BLOCK;
const MASKS: usize = PAIRS / u64::BITS as usize;

/// A column of fingerprints.
pub(super) struct Fingerprints;

impl Form for Fingerprints {
    const LINES: &'static str = "4, 4.1 (heads and items of 1.75 pairs)";
    const FIRST_LINES: usize = 1 + HEADS_AT / LINE_BYTES;
    const STEPS: usize = 1;
    /// A bit for each pair with the fingerprint of the key.
    type Place = [u64; MASKS];

    fn build(keys: &[Key], body: &mut Vec<u8>) {
        body.extend(keys.iter().map(|key| fingerprint(*key)));
        items::append(keys, body);
    }

    #[inline(always)]
    fn step(leaf: Leaf<'_>, key: Key, _: usize, _: [u64; MASKS]) -> [u64; MASKS] {
        let fingerprint = fingerprint(key);
        let mut masks = [0; MASKS];
        for block in 0..PAIRS / BLOCK {
            let words = [leaf.word(block * BLOCK), leaf.word(block * BLOCK + 8)];
            let equal = u64::from(equal_bytes_of_two(words, fingerprint));
            masks[block / BLOCKS] |= equal << (block % BLOCKS * BLOCK);
        }
        for (number, mut mask) in masks.into_iter().enumerate() {
            while mask != 0 {
                let index = number * u64::BITS as usize + mask.trailing_zeros() as usize;
                leaf.prefetch(HEADS_AT + index * HEAD_BYTES, HEAD_BYTES);
                items::prefetch(leaf, HEADS_AT, index);
                mask &= mask - 1;
            }
        }
        masks
    }

    #[inline(always)]
    fn value(leaf: Leaf<'_>, key: Key, masks: [u64; MASKS]) -> Option<u64> {
        for (number, mut mask) in masks.into_iter().enumerate() {
            while mask != 0 {
                let index = number * u64::BITS as usize + mask.trailing_zeros() as usize;
                if leaf.word(HEADS_AT + index * HEAD_BYTES) == key.0 {
                    return items::value(leaf, key, HEADS_AT, index);
                }
                mask &= mask - 1;
            }
        }
        None
    }
}

#[inline(always)]
fn fingerprint(key: Key) -> u8 {
    mix(key.0 ^ key.1) as u8
}

//! Heads without samples: the place of a head among random ones is estimated from the first and the last one.

use honeycomb_memory::LINE_BYTES;

use super::form::{Form, Key, Leaf, PAIRS, count_not_greater};
use super::items::{self, HEAD_BYTES};

const HEADS_AT: usize = LINE_BYTES;
const HEADS_PER_LINE: usize = LINE_BYTES / HEAD_BYTES;
/// Heads that are compared around the estimated place: twice its standard deviation in the middle of a leaf.
const WINDOW: usize = 32;

/// The first head, and the slope from it to the last one.
pub(super) struct Interpolation;

impl Form for Interpolation {
    const LINES: &'static str = "2, 4, 1.4";
    const FIRST_LINES: usize = 1 + HEADS_AT / LINE_BYTES;
    const STEPS: usize = 2;
    type Place = usize;

    fn build(keys: &[Key], body: &mut Vec<u8>) {
        let (first, last) = (keys[0].0, keys[PAIRS - 1].0);
        let slope = (PAIRS - 1) as f64 / (last - first) as f64;
        body.extend(first.to_le_bytes());
        body.extend(slope.to_bits().to_le_bytes());
        body.resize(HEADS_AT, 0);
        items::append(keys, body);
    }

    #[inline(always)]
    fn step(leaf: Leaf<'_>, key: Key, step: usize, place: usize) -> usize {
        if step == 0 {
            let (first, slope) = (leaf.word(0), f64::from_bits(leaf.word(8)));
            let estimate = (key.0.saturating_sub(first) as f64 * slope) as usize;
            let start = estimate.saturating_sub(WINDOW / 2).min(PAIRS - WINDOW) & !(HEADS_PER_LINE - 1);
            leaf.prefetch(HEADS_AT + start * HEAD_BYTES, WINDOW * HEAD_BYTES);
            return start;
        }
        let rank =
            count_not_greater(leaf.numbers::<HEAD_BYTES>(HEADS_AT + place * HEAD_BYTES, WINDOW), key.0);
        let is_inside = (rank > 0 || place == 0) && (rank < WINDOW || place + WINDOW == PAIRS);
        let end = if is_inside { place + rank } else { rank_of_all(leaf, key.0) };
        let index = end.saturating_sub(1);
        items::prefetch(leaf, HEADS_AT, index);
        index
    }

    #[inline(always)]
    fn value(leaf: Leaf<'_>, key: Key, place: usize) -> Option<u64> {
        items::value(leaf, key, HEADS_AT, place)
    }
}

/// Returns the rank of a head that is outside of its window.
#[cold]
fn rank_of_all(leaf: Leaf<'_>, head: u64) -> usize {
    leaf.numbers::<HEAD_BYTES>(HEADS_AT, PAIRS).partition_point(|other| u64::from_le_bytes(*other) <= head)
}

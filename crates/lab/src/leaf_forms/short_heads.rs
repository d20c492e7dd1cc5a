//! Samples and heads of less than eight bytes: fewer lines, and more keys with equal heads.

use honeycomb_memory::LINE_BYTES;

use super::form::{Form, Key, Leaf, PAIRS, count_not_greater, number};
use super::items::{self, ITEM_BYTES};

const STRIDE: usize = 16;
const GROUPS: usize = PAIRS / STRIDE;

/// Heads of `BYTES` bytes, four or six, after the bytes that all keys of the leaf have in common.
pub(super) struct ShortHeads<const BYTES: usize>;

impl<const BYTES: usize> ShortHeads<BYTES> {
    /// Samples and the number of bits before the head take whole lines.
    const HEADS_AT: usize = (GROUPS * BYTES + 8).next_multiple_of(LINE_BYTES);
    const SHIFT_AT: usize = Self::HEADS_AT - 8;
    const ITEMS_AT: usize = Self::HEADS_AT + PAIRS * BYTES;
    /// The bytes between the head and the eighth byte of a key come first. They include those of the prefix.
    const ITEM_BYTES: usize = Self::REST_BYTES + ITEM_BYTES;
    const REST_BYTES: usize = 8 - BYTES;
    const REST_BITS: usize = 8 * Self::REST_BYTES;
    const REST_MASK: u64 = (1 << Self::REST_BITS) - 1;

    #[inline(always)]
    fn head(key: Key, shift: u64) -> u64 {
        (key.0 << shift) >> Self::REST_BITS
    }

    #[inline(always)]
    fn rest(key: Key, shift: u64) -> u64 {
        (key.0 << shift) & Self::REST_MASK
    }

    /// Whether the item of an index is that of the key.
    #[inline(always)]
    fn has_item(leaf: Leaf<'_>, index: usize, key: Key, shift: u64) -> bool {
        let item = Self::ITEMS_AT + index * Self::ITEM_BYTES;
        leaf.word(item) & Self::REST_MASK == Self::rest(key, shift)
            && leaf.word(item + Self::REST_BYTES) == key.1
    }
}

impl<const BYTES: usize> Form for ShortHeads<BYTES> {
    const LINES: &'static str = if BYTES == 4 { "2, 1, 1.4" } else { "3, 2.1, 1.4" };
    const FIRST_LINES: usize = 1 + Self::HEADS_AT / LINE_BYTES;
    const STEPS: usize = 2;
    type Place = usize;

    fn build(keys: &[Key], body: &mut Vec<u8>) {
        let common = (keys[0].0 ^ keys[PAIRS - 1].0).leading_zeros() & !7;
        let shift = u64::from(common).min(Self::REST_BITS as u64);
        let head = |key: &Key| Self::head(*key, shift).to_le_bytes().into_iter().take(BYTES);
        body.extend(keys.iter().step_by(STRIDE).flat_map(head));
        body.resize(Self::SHIFT_AT, 0);
        body.extend(shift.to_le_bytes());
        body.extend(keys.iter().flat_map(head));
        for key in keys {
            body.extend(&Self::rest(*key, shift).to_le_bytes()[..Self::REST_BYTES]);
            items::append_item(*key, body);
        }
    }

    #[inline(always)]
    fn step(leaf: Leaf<'_>, key: Key, step: usize, place: usize) -> usize {
        let head = Self::head(key, leaf.word(Self::SHIFT_AT));
        if step == 0 {
            let group = count_not_greater(leaf.numbers::<BYTES>(0, GROUPS), head).saturating_sub(1);
            leaf.prefetch(Self::HEADS_AT + group * STRIDE * BYTES, STRIDE * BYTES);
            return group;
        }
        let heads = leaf.numbers::<BYTES>(Self::HEADS_AT + place * STRIDE * BYTES, STRIDE);
        let index = (place * STRIDE + count_not_greater(heads, head)).saturating_sub(1);
        leaf.prefetch(Self::ITEMS_AT + index * Self::ITEM_BYTES, Self::ITEM_BYTES);
        index
    }

    #[inline(always)]
    fn value(leaf: Leaf<'_>, key: Key, place: usize) -> Option<u64> {
        let shift = leaf.word(Self::SHIFT_AT);
        let mut index = place;
        while !Self::has_item(leaf, index, key, shift) {
            // Another key with the same head.
            index = index.checked_sub(1)?;
            let before = number(leaf.numbers::<BYTES>(Self::HEADS_AT + index * BYTES, 1)[0]);
            if before != Self::head(key, shift) {
                return None;
            }
        }
        Some(leaf.word(Self::ITEMS_AT + index * Self::ITEM_BYTES + Self::REST_BYTES + 8))
    }
}

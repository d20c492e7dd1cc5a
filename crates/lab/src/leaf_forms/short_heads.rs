//! Samples and heads of four bytes: half of the lines, and more keys with equal heads.

use honeycomb_memory::LINE_BYTES;

use super::form::{Form, Key, Leaf, PAIRS, VALUE_BYTES};

const HEAD_BYTES: usize = 4;
const STRIDE: usize = 16;
const GROUPS: usize = PAIRS / STRIDE;
const HEADS_AT: usize = LINE_BYTES;
/// The offset of the number of bits before the head: after the samples, in the same line.
const SHIFT_AT: usize = HEADS_AT - 8;
const ITEMS_AT: usize = HEADS_AT + PAIRS * HEAD_BYTES;
/// The bytes of a key after its head, and its value. The four bytes include those of the prefix.
const ITEM_BYTES: usize = 4 + 8 + VALUE_BYTES;

/// Heads of four bytes, after the bytes that all keys of the leaf have in common.
pub(super) struct ShortHeads;

impl Form for ShortHeads {
    const LINES: &'static str = "2, 1, 1.4";
    const FIRST_LINES: usize = 1 + HEADS_AT / LINE_BYTES;
    const STEPS: usize = 2;
    type Place = usize;

    fn build(keys: &[Key], body: &mut Vec<u8>) {
        let common = (keys[0].0 ^ keys[PAIRS - 1].0).leading_zeros() & !7;
        let shift = u64::from(common.min(32));
        let head = |key: &Key| head(*key, shift).to_le_bytes();
        body.extend(keys.iter().step_by(STRIDE).flat_map(head));
        body.resize(SHIFT_AT, 0);
        body.extend(shift.to_le_bytes());
        body.extend(keys.iter().flat_map(head));
        for key in keys {
            body.extend(((key.0 << shift) as u32).to_le_bytes());
            body.extend(key.1.to_le_bytes());
            body.extend(key.value().iter().flat_map(|word| word.to_le_bytes()));
        }
    }

    #[inline(always)]
    fn step(leaf: Leaf<'_>, key: Key, step: usize, place: usize) -> usize {
        let head = head(key, leaf.word(SHIFT_AT));
        if step == 0 {
            let group = count_not_greater(heads(leaf, 0, GROUPS), head).saturating_sub(1);
            leaf.prefetch(HEADS_AT + group * STRIDE * HEAD_BYTES, STRIDE * HEAD_BYTES);
            return group;
        }
        let heads = heads(leaf, HEADS_AT + place * STRIDE * HEAD_BYTES, STRIDE);
        let index = (place * STRIDE + count_not_greater(heads, head)).saturating_sub(1);
        leaf.prefetch(ITEMS_AT + index * ITEM_BYTES, ITEM_BYTES);
        index
    }

    #[inline(always)]
    fn value(leaf: Leaf<'_>, key: Key, place: usize) -> Option<u64> {
        let shift = leaf.word(SHIFT_AT);
        let mut index = place;
        loop {
            let item = ITEMS_AT + index * ITEM_BYTES;
            if leaf.word(item) as u32 == (key.0 << shift) as u32 && leaf.word(item + 4) == key.1 {
                return Some(leaf.word(item + 12));
            }
            // Another key with the same head.
            index = index.checked_sub(1)?;
            let before = u32::from_le_bytes(heads(leaf, HEADS_AT + index * HEAD_BYTES, 1)[0]);
            if before != head(key, shift) {
                return None;
            }
        }
    }
}

#[inline(always)]
fn head(key: Key, shift: u64) -> u32 {
    ((key.0 << shift) >> 32) as u32
}

#[inline(always)]
fn heads(leaf: Leaf<'_>, at: usize, count: usize) -> &[[u8; HEAD_BYTES]] {
    leaf.body[at..at + HEAD_BYTES * count].as_chunks().0
}

/// Returns the number of heads that are not greater than `head`, as the function of the same name for heads
/// of eight bytes does.
#[inline(always)]
fn count_not_greater(heads: &[[u8; HEAD_BYTES]], head: u32) -> usize {
    let mut count = 0;
    for other in heads {
        count += u64::from(u32::from_le_bytes(*other)).wrapping_sub(u64::from(head) + 1) >> 63;
    }
    count as usize
}

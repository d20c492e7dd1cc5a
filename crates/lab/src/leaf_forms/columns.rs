//! Samples, heads of eight bytes, and items of one length: the layout, with other strides of the samples, and
//! with all heads requested together with the header.

use super::form::{Form, HEAD_BYTES, Key, Leaf, PAIRS, VALUE_BYTES, count_not_greater};

const WORD: usize = 8;
/// Bytes of a line, of which samples take whole ones.
const LINE: usize = 64;
/// The rest of the key and the value.
const ITEM_BYTES: usize = 8 + VALUE_BYTES;

/// Samples of every `STRIDE`th head.
pub(super) struct Columns<const STRIDE: usize>;

impl<const STRIDE: usize> Columns<STRIDE> {
    const SAMPLES: usize = (PAIRS / STRIDE).next_multiple_of(LINE / WORD);
    const HEADS_AT: usize = Self::SAMPLES * WORD;
    const ITEMS_AT: usize = Self::HEADS_AT + PAIRS * HEAD_BYTES;

    /// Returns the last group whose first head is not greater than `head`.
    #[inline(always)]
    fn group(leaf: Leaf<'_>, head: u64) -> usize {
        // The first group contains all lower heads, too.
        count_not_greater(leaf.words(0, Self::SAMPLES), head).saturating_sub(1)
    }

    /// Returns the index of the last head of a group that is not greater than `head`.
    #[inline(always)]
    fn index(leaf: Leaf<'_>, head: u64, group: usize) -> usize {
        let heads = leaf.words(Self::HEADS_AT + group * STRIDE * HEAD_BYTES, STRIDE);
        (group * STRIDE + count_not_greater(heads, head)).saturating_sub(1)
    }
}

impl<const STRIDE: usize> Form for Columns<STRIDE> {
    const LINES: &'static str = match STRIDE {
        8 => "4, 1, 1.4",
        16 => "3, 2, 1.4",
        _ => "2, 4, 1.4",
    };
    const FIRST_LINES: usize = 1 + Self::HEADS_AT / LINE;
    const STEPS: usize = 2;
    type Place = usize;

    fn build(keys: &[Key], body: &mut Vec<u8>) {
        body.extend(keys.iter().step_by(STRIDE).flat_map(|key| key.0.to_le_bytes()));
        // Samples of missing groups are the greatest number.
        let missing = Self::SAMPLES - PAIRS / STRIDE;
        body.extend([i64::MAX.to_le_bytes()].repeat(missing).concat());
        append_heads_and_items(keys, body);
    }

    #[inline(always)]
    fn step(leaf: Leaf<'_>, key: Key, step: usize, place: usize) -> usize {
        if step == 0 {
            let group = Self::group(leaf, key.0);
            leaf.prefetch(Self::HEADS_AT + group * STRIDE * HEAD_BYTES, STRIDE * HEAD_BYTES);
            return group;
        }
        let index = Self::index(leaf, key.0, place);
        leaf.prefetch(Self::ITEMS_AT + index * ITEM_BYTES, ITEM_BYTES);
        index
    }

    #[inline(always)]
    fn value(leaf: Leaf<'_>, key: Key, place: usize) -> Option<u64> {
        value_at(leaf, key, Self::ITEMS_AT + place * ITEM_BYTES)
    }
}

/// All heads are requested with the header: there is one step less. `SAMPLED` has samples and compares the
/// heads of a group; otherwise a get compares all heads.
pub(super) struct HeadsAtOnce<const SAMPLED: bool>;

impl<const SAMPLED: bool> HeadsAtOnce<SAMPLED> {
    const HEADS_AT: usize = if SAMPLED { Columns::<16>::HEADS_AT } else { 0 };
    const ITEMS_AT: usize = Self::HEADS_AT + PAIRS * HEAD_BYTES;
}

impl<const SAMPLED: bool> Form for HeadsAtOnce<SAMPLED> {
    const LINES: &'static str = if SAMPLED { "27, 1.4" } else { "25, 1.4" };
    const FIRST_LINES: usize = 1 + Self::ITEMS_AT / LINE;
    const STEPS: usize = 1;
    type Place = usize;

    fn build(keys: &[Key], body: &mut Vec<u8>) {
        if SAMPLED {
            return Columns::<16>::build(keys, body);
        }
        append_heads_and_items(keys, body);
    }

    #[inline(always)]
    fn step(leaf: Leaf<'_>, key: Key, _: usize, _: usize) -> usize {
        let index = match SAMPLED {
            true => Columns::<16>::index(leaf, key.0, Columns::<16>::group(leaf, key.0)),
            false => count_not_greater(leaf.words(0, PAIRS), key.0).saturating_sub(1),
        };
        leaf.prefetch(Self::ITEMS_AT + index * ITEM_BYTES, ITEM_BYTES);
        index
    }

    #[inline(always)]
    fn value(leaf: Leaf<'_>, key: Key, place: usize) -> Option<u64> {
        value_at(leaf, key, Self::ITEMS_AT + place * ITEM_BYTES)
    }
}

/// Appends the column of heads, and the items.
pub(super) fn append_heads_and_items(keys: &[Key], body: &mut Vec<u8>) {
    body.extend(keys.iter().flat_map(|key| key.0.to_le_bytes()));
    for key in keys {
        body.extend(key.1.to_le_bytes());
        body.extend(key.value().iter().flat_map(|word| word.to_le_bytes()));
    }
}

/// Returns the first word of the value of an item, if its rest is that of the key.
#[inline(always)]
pub(super) fn value_at(leaf: Leaf<'_>, key: Key, item: usize) -> Option<u64> {
    (leaf.word(item) == key.1).then(|| leaf.word(item + WORD))
}

/// Returns the offset of an item of [`append_heads_and_items`], whose heads are at `heads_at`.
#[inline(always)]
pub(super) fn item_at(heads_at: usize, index: usize) -> usize {
    heads_at + PAIRS * HEAD_BYTES + index * ITEM_BYTES
}

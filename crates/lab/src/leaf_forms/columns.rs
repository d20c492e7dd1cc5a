//! Samples, heads of eight bytes, and items of one length: the layout, with other strides of the samples, and
//! with all heads requested together with the header.

use honeycomb_memory::LINE_BYTES;

use super::form::{Form, Key, Leaf, PAIRS, count_not_greater};
use super::items::{self, HEAD_BYTES};

/// Samples of every `STRIDE`th head.
pub(super) struct Columns<const STRIDE: usize>;

impl<const STRIDE: usize> Columns<STRIDE> {
    /// Samples take whole lines.
    const SAMPLES: usize = (PAIRS / STRIDE).next_multiple_of(LINE_BYTES / HEAD_BYTES);
    const HEADS_AT: usize = Self::SAMPLES * HEAD_BYTES;

    /// Returns the last group whose first head is not greater than `head`.
    #[inline(always)]
    fn group(leaf: Leaf<'_>, head: u64) -> usize {
        // The first group contains all lower heads, too.
        count_not_greater(leaf.numbers::<HEAD_BYTES>(0, Self::SAMPLES), head).saturating_sub(1)
    }

    /// Returns the index of the last head of a group that is not greater than `head`.
    #[inline(always)]
    fn index(leaf: Leaf<'_>, head: u64, group: usize) -> usize {
        let heads = leaf.numbers::<HEAD_BYTES>(Self::HEADS_AT + group * STRIDE * HEAD_BYTES, STRIDE);
        (group * STRIDE + count_not_greater(heads, head)).saturating_sub(1)
    }
}

impl<const STRIDE: usize> Form for Columns<STRIDE> {
    const LINES: &'static str = match STRIDE {
        8 => "4, 1, 1.4",
        16 => "3, 2, 1.4",
        _ => "2, 4, 1.4",
    };
    const FIRST_LINES: usize = 1 + Self::HEADS_AT / LINE_BYTES;
    const STEPS: usize = 2;
    type Place = usize;

    fn build(keys: &[Key], body: &mut Vec<u8>) {
        body.extend(keys.iter().step_by(STRIDE).flat_map(|key| key.0.to_le_bytes()));
        // Samples of missing groups are the greatest number.
        let missing = Self::SAMPLES - PAIRS / STRIDE;
        body.extend([i64::MAX.to_le_bytes()].repeat(missing).concat());
        items::append(keys, body);
    }

    #[inline(always)]
    fn step(leaf: Leaf<'_>, key: Key, step: usize, place: usize) -> usize {
        if step == 0 {
            let group = Self::group(leaf, key.0);
            leaf.prefetch(Self::HEADS_AT + group * STRIDE * HEAD_BYTES, STRIDE * HEAD_BYTES);
            return group;
        }
        let index = Self::index(leaf, key.0, place);
        items::prefetch(leaf, Self::HEADS_AT, index);
        index
    }

    #[inline(always)]
    fn value(leaf: Leaf<'_>, key: Key, place: usize) -> Option<u64> {
        items::value(leaf, key, Self::HEADS_AT, place)
    }
}

/// All heads are requested with the header: there is one step less. `SAMPLED` has samples and compares the
/// heads of a group; otherwise a get compares all heads.
pub(super) struct HeadsAtOnce<const SAMPLED: bool>;

impl<const SAMPLED: bool> HeadsAtOnce<SAMPLED> {
    const HEADS_AT: usize = if SAMPLED { Columns::<16>::HEADS_AT } else { 0 };
}

impl<const SAMPLED: bool> Form for HeadsAtOnce<SAMPLED> {
    const LINES: &'static str = if SAMPLED { "27, 1.4" } else { "25, 1.4" };
    const FIRST_LINES: usize = 1 + (Self::HEADS_AT + PAIRS * HEAD_BYTES) / LINE_BYTES;
    const STEPS: usize = 1;
    type Place = usize;

    fn build(keys: &[Key], body: &mut Vec<u8>) {
        if SAMPLED {
            return Columns::<16>::build(keys, body);
        }
        items::append(keys, body);
    }

    #[inline(always)]
    fn step(leaf: Leaf<'_>, key: Key, _: usize, _: usize) -> usize {
        let index = match SAMPLED {
            true => Columns::<16>::index(leaf, key.0, Columns::<16>::group(leaf, key.0)),
            false => count_not_greater(leaf.numbers::<HEAD_BYTES>(0, PAIRS), key.0).saturating_sub(1),
        };
        items::prefetch(leaf, Self::HEADS_AT, index);
        index
    }

    #[inline(always)]
    fn value(leaf: Leaf<'_>, key: Key, place: usize) -> Option<u64> {
        items::value(leaf, key, Self::HEADS_AT, place)
    }
}

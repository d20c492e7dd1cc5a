//! The variants for AVX-512 and AVX2.

use std::arch::x86_64::*;

use super::{ForEachKind, GROUP, GROUP_BYTES, HEAD_BYTES, Portable, Vectorized, Vectors, plain};
use crate::sync::Computed;

/// The best instructions of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Plain = 1,
    Avx2 = 2,
    Avx512 = 3,
}

/// Returns the best instructions of this machine, with one load: searches call this several times.
#[inline]
pub(super) fn level() -> Level {
    static LEVEL: Computed = Computed::new();
    match LEVEL.get_or(|| detect() as u8) {
        3 => Level::Avx512,
        2 => Level::Avx2,
        _ => Level::Plain,
    }
}

fn detect() -> Level {
    match (has_avx512(), has_avx2()) {
        (true, _) => Level::Avx512,
        (_, true) => Level::Avx2,
        _ => Level::Plain,
    }
}

/// AVX-512. A value exists only on a machine that has it.
#[derive(Debug, Clone, Copy)]
struct Avx512(());

/// AVX2. A value exists only on a machine that has it.
#[derive(Debug, Clone, Copy)]
struct Avx2(());

impl Vectors for Avx512 {
    #[inline(always)]
    fn rank_in_group(self, group: &[u8; GROUP_BYTES], present: usize, head: u64) -> usize {
        // SAFETY: the machine has AVX-512, because `self` exists.
        unsafe { group_avx512(group, present, head) }
    }

    #[inline(always)]
    fn rank_in_two_groups(self, groups: &[u8; 2 * GROUP_BYTES], present: usize, head: u64) -> usize {
        // SAFETY: the machine has AVX-512, because `self` exists.
        unsafe { two_groups_avx512(groups, present, head) }
    }

    #[inline(always)]
    fn rank_of_next_head(self, columns: [&[u8; GROUP_BYTES]; 2], present: usize, key: [u64; 2]) -> usize {
        // SAFETY: the machine has AVX-512, because `self` exists.
        unsafe { next_head_avx512(columns, present, key) }
    }

    #[inline(always)]
    fn rank_after_first(self, group: &[u8; GROUP_BYTES], head: u64) -> usize {
        // SAFETY: the machine has AVX-512, because `self` exists.
        unsafe { others_avx512(group, head) }
    }
}

impl Vectors for Avx2 {
    #[inline(always)]
    fn rank_in_group(self, group: &[u8; GROUP_BYTES], present: usize, head: u64) -> usize {
        // SAFETY: the machine has AVX2, because `self` exists.
        unsafe { group_avx2(group, present, head) }
    }

    #[inline(always)]
    fn rank_in_two_groups(self, groups: &[u8; 2 * GROUP_BYTES], present: usize, head: u64) -> usize {
        // SAFETY: the machine has AVX2, because `self` exists.
        unsafe { two_groups_avx2(groups, present, head) }
    }

    #[inline(always)]
    fn rank_of_next_head(self, columns: [&[u8; GROUP_BYTES]; 2], present: usize, key: [u64; 2]) -> usize {
        // SAFETY: the machine has AVX2, because `self` exists.
        unsafe { next_head_avx2(columns, present, key) }
    }

    #[inline(always)]
    fn rank_after_first(self, group: &[u8; GROUP_BYTES], head: u64) -> usize {
        // SAFETY: the machine has AVX2, because `self` exists.
        unsafe { others_avx2(group, head) }
    }
}

/// Runs code with the best instructions of this machine.
#[inline]
pub(super) fn vectorized<C: Vectorized>(code: C) -> C::Output {
    match level() {
        // SAFETY: the machine has these instructions.
        Level::Avx512 => unsafe { run_avx512(code) },
        // SAFETY: as above.
        Level::Avx2 => unsafe { run_avx2(code) },
        Level::Plain => code.run(Portable),
    }
}

#[target_feature(enable = "avx512f,popcnt,bmi1,bmi2,lzcnt")]
fn run_avx512<C: Vectorized>(code: C) -> C::Output {
    code.run(Avx512(()))
}

#[target_feature(enable = "avx2,popcnt,bmi1,bmi2,lzcnt")]
fn run_avx2<C: Vectorized>(code: C) -> C::Output {
    code.run(Avx2(()))
}

pub(super) fn for_each_kind(check: &mut impl ForEachKind) {
    if has_avx2() {
        check.check("AVX2", Avx2(()));
    }
    if has_avx512() {
        check.check("AVX-512", Avx512(()));
    }
}

#[inline]
pub(super) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f") && has_bits()
}

#[inline]
pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && has_bits()
}

/// Whether the machine has the instructions for bits of a word, as all with AVX2 do.
#[inline]
fn has_bits() -> bool {
    is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
}

/// Compares eight heads at a time. The machine must have AVX-512.
#[inline]
pub(super) fn avx512(heads: &[u8], head: u64) -> usize {
    debug_assert!(has_avx512());
    // SAFETY: the callers have checked `has_avx512`.
    unsafe { count_avx512(heads, head) }
}

/// Compares four heads at a time. The machine must have AVX2.
#[inline]
pub(super) fn avx2(heads: &[u8], head: u64) -> usize {
    debug_assert!(has_avx2());
    // SAFETY: the callers have checked `has_avx2`.
    unsafe { count_avx2(heads, head) }
}

#[target_feature(enable = "avx512f,popcnt")]
fn count_avx512(heads: &[u8], head: u64) -> usize {
    const LANES: usize = 8;
    let bound = _mm512_set1_epi64(head.cast_signed());
    let (groups, rest) = heads.as_chunks::<{ LANES * HEAD_BYTES }>();
    let present = ((1_u32 << (rest.len() / HEAD_BYTES)) - 1) as __mmask8;
    // SAFETY: the load reads only the lanes in the rest; loads need no alignment.
    let others = unsafe { _mm512_maskz_loadu_epi64(present, rest.as_ptr().cast()) };
    let mut not_greater = _mm512_mask_cmple_epu64_mask(present, others, bound).count_ones();
    for group in groups {
        // SAFETY: the group has eight lanes; loads need no alignment.
        let others = unsafe { _mm512_loadu_epi64(group.as_ptr().cast()) };
        not_greater += _mm512_cmple_epu64_mask(others, bound).count_ones();
    }
    not_greater as usize
}

#[target_feature(enable = "avx2")]
fn count_avx2(heads: &[u8], head: u64) -> usize {
    const LANES: usize = 4;
    // Comparisons are signed: inverting the top bit converts the unsigned order to the signed one.
    let flip = _mm256_set1_epi64x(i64::MIN);
    let bound = _mm256_xor_si256(_mm256_set1_epi64x(head.cast_signed()), flip);
    // A true comparison yields -1, so adding the results to the number of groups counts the false ones.
    let (groups, rest) = heads.as_chunks::<{ LANES * HEAD_BYTES }>();
    let mut counts = _mm256_set1_epi64x(groups.len().cast_signed() as i64);
    for group in groups {
        // SAFETY: the group has four lanes; loads need no alignment.
        let others = unsafe { _mm256_loadu_si256(group.as_ptr().cast()) };
        let greater = _mm256_cmpgt_epi64(_mm256_xor_si256(others, flip), bound);
        counts = _mm256_add_epi64(counts, greater);
    }
    sum(counts) + plain(rest, head)
}

#[target_feature(enable = "avx2")]
fn sum(counts: __m256i) -> usize {
    let halves = _mm_add_epi64(_mm256_castsi256_si128(counts), _mm256_extracti128_si256::<1>(counts));
    let total = _mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves));
    _mm_cvtsi128_si64(total) as usize
}

#[inline]
#[target_feature(enable = "avx512f,popcnt")]
fn group_avx512(group: &[u8; GROUP_BYTES], present: usize, head: u64) -> usize {
    (!not_greater_avx512(group, head)).trailing_zeros().min(present as u32) as usize
}

#[inline]
#[target_feature(enable = "avx512f,popcnt")]
fn two_groups_avx512(groups: &[u8; 2 * GROUP_BYTES], present: usize, head: u64) -> usize {
    let (groups, _) = groups.as_chunks();
    let [first, second] = [&groups[0], &groups[1]];
    let not_greater = not_greater_avx512(first, head) | not_greater_avx512(second, head) << GROUP;
    (!not_greater).trailing_zeros().min(present as u32) as usize
}

#[inline]
#[target_feature(enable = "avx512f,popcnt")]
fn next_head_avx512(
    [heads, next_heads]: [&[u8; GROUP_BYTES]; 2],
    present: usize,
    [head, next]: [u64; 2],
) -> usize {
    let before = !equal_avx512(heads, head) | not_greater_avx512(next_heads, next);
    (!before).trailing_zeros().min(present as u32) as usize
}

#[inline]
#[target_feature(enable = "avx512f,popcnt")]
fn others_avx512(group: &[u8; GROUP_BYTES], head: u64) -> usize {
    (not_greater_avx512(group, head) >> 1).count_ones() as usize
}

/// Returns one bit for each head of a group that is not greater than a bound.
#[inline]
#[target_feature(enable = "avx512f")]
fn not_greater_avx512(group: &[u8; GROUP_BYTES], head: u64) -> u32 {
    let bound = _mm512_set1_epi64(head.cast_signed());
    let start = group.as_ptr().cast::<i64>();
    // SAFETY: both loads are in the group; they need no alignment.
    let [low, high] = unsafe { [_mm512_loadu_epi64(start), _mm512_loadu_epi64(start.add(8))] };
    let low = _mm512_cmple_epu64_mask(low, bound);
    let high = _mm512_cmple_epu64_mask(high, bound);
    u32::from(low) | u32::from(high) << 8
}

/// Returns one bit for each head of a group that equals another one.
#[inline]
#[target_feature(enable = "avx512f")]
fn equal_avx512(group: &[u8; GROUP_BYTES], head: u64) -> u32 {
    let other = _mm512_set1_epi64(head.cast_signed());
    let start = group.as_ptr().cast::<i64>();
    // SAFETY: both loads are in the group; they need no alignment.
    let [low, high] = unsafe { [_mm512_loadu_epi64(start), _mm512_loadu_epi64(start.add(8))] };
    u32::from(_mm512_cmpeq_epi64_mask(low, other)) | u32::from(_mm512_cmpeq_epi64_mask(high, other)) << 8
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn group_avx2(group: &[u8; GROUP_BYTES], present: usize, head: u64) -> usize {
    (greater_avx2(group, head) | 1 << GROUP).trailing_zeros().min(present as u32) as usize
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn two_groups_avx2(groups: &[u8; 2 * GROUP_BYTES], present: usize, head: u64) -> usize {
    let (groups, _) = groups.as_chunks();
    let greater = greater_avx2(&groups[0], head) | greater_avx2(&groups[1], head) << GROUP;
    greater.trailing_zeros().min(present as u32) as usize
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn next_head_avx2(
    [heads, next_heads]: [&[u8; GROUP_BYTES]; 2],
    present: usize,
    [head, next]: [u64; 2],
) -> usize {
    let after = equal_avx2(heads, head) & greater_avx2(next_heads, next);
    after.trailing_zeros().min(present as u32) as usize
}

#[inline]
#[target_feature(enable = "avx2,popcnt")]
fn others_avx2(group: &[u8; GROUP_BYTES], head: u64) -> usize {
    (!greater_avx2(group, head) & 0xfffe).count_ones() as usize
}

/// Returns one bit for each head of a group that is greater than a bound.
#[inline]
#[target_feature(enable = "avx2")]
fn greater_avx2(group: &[u8; GROUP_BYTES], head: u64) -> u32 {
    // Comparisons are signed: inverting the top bit converts the unsigned order to the signed one.
    let flip = _mm256_set1_epi64x(i64::MIN);
    let bound = _mm256_xor_si256(_mm256_set1_epi64x(head.cast_signed()), flip);
    let mut greater = 0;
    for lane in 0..4 {
        // SAFETY: the load is in the group; it needs no alignment.
        let heads = unsafe { _mm256_loadu_si256(group.as_ptr().cast::<__m256i>().add(lane)) };
        let is_greater = _mm256_cmpgt_epi64(_mm256_xor_si256(heads, flip), bound);
        greater |= (_mm256_movemask_pd(_mm256_castsi256_pd(is_greater)) as u32) << (4 * lane);
    }
    greater
}

/// Returns one bit for each head of a group that equals another one.
#[inline]
#[target_feature(enable = "avx2")]
fn equal_avx2(group: &[u8; GROUP_BYTES], head: u64) -> u32 {
    let other = _mm256_set1_epi64x(head.cast_signed());
    let mut equal = 0;
    for lane in 0..4 {
        // SAFETY: the load is in the group; it needs no alignment.
        let heads = unsafe { _mm256_loadu_si256(group.as_ptr().cast::<__m256i>().add(lane)) };
        let is_equal = _mm256_castsi256_pd(_mm256_cmpeq_epi64(heads, other));
        equal |= (_mm256_movemask_pd(is_equal) as u32) << (4 * lane);
    }
    equal
}

//! The variants for AVX-512 and AVX2.

use std::arch::x86_64::*;

use super::{HEAD_BYTES, plain};

#[inline]
pub(super) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt")
}

#[inline]
pub(super) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
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

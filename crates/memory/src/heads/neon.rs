//! The variant for NEON, which every 64-bit ARM machine has.

use std::arch::aarch64::*;

use super::{HEAD_BYTES, plain};

/// Compares two heads at a time.
#[inline]
pub(super) fn neon(heads: &[u8], head: u64) -> usize {
    const LANES: usize = 2;
    let (groups, rest) = heads.as_chunks::<{ LANES * HEAD_BYTES }>();
    // SAFETY: NEON is part of the base instruction set of aarch64; a group has two lanes, and loads of bytes
    // need no alignment.
    let not_greater = unsafe {
        let bound = vdupq_n_u64(head);
        // A true comparison yields -1 (all ones), so subtracting the results counts them.
        let mut counts = vdupq_n_u64(0);
        for group in groups {
            let others = vreinterpretq_u64_u8(vld1q_u8(group.as_ptr()));
            counts = vsubq_u64(counts, vcgeq_u64(bound, others));
        }
        vaddvq_u64(counts) as usize
    };
    not_greater + plain(rest, head)
}

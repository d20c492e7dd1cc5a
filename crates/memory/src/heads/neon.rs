//! NEON, which every 64-bit ARM machine has.

use std::arch::aarch64::*;

use super::{HEAD_BYTES, plain};

/// Two at a time.
#[inline]
pub(super) fn neon(heads: &[u8], head: u64) -> usize {
    const LANES: usize = 2;
    let (groups, rest) = heads.as_chunks::<{ LANES * HEAD_BYTES }>();
    // SAFETY: NEON is part of the base of aarch64; a group has two lanes, and loads of bytes need no
    // alignment.
    let not_greater = unsafe {
        let wanted = vdupq_n_u64(head);
        // A comparison gives all ones where it holds, which is -1, so that subtracting it counts.
        let mut counts = vdupq_n_u64(0);
        for group in groups {
            let others = vreinterpretq_u64_u8(vld1q_u8(group.as_ptr()));
            counts = vsubq_u64(counts, vcgeq_u64(wanted, others));
        }
        vaddvq_u64(counts) as usize
    };
    not_greater + plain(rest, head)
}

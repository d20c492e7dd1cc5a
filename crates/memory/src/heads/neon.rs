//! NEON, which every 64-bit ARM machine has.

use std::arch::aarch64::*;

use super::{Count, HEAD_BYTES, plain};

/// Two at a time.
#[inline]
pub(super) fn neon(heads: &[u8], head: u64) -> Count {
    const LANES: usize = 2;
    let (groups, rest) = heads.as_chunks::<{ LANES * HEAD_BYTES }>();
    let in_rest = plain(rest, head);
    // SAFETY: NEON is part of the base of aarch64; a group has two lanes, and loads of bytes need no
    // alignment.
    let (less, equal) = unsafe {
        let wanted = vdupq_n_u64(head);
        // A comparison gives all ones where it holds, which is -1, so that subtracting it counts.
        let (mut less, mut equal) = (vdupq_n_u64(0), vdupq_n_u64(0));
        for group in groups {
            let others = vreinterpretq_u64_u8(vld1q_u8(group.as_ptr()));
            less = vsubq_u64(less, vcgtq_u64(wanted, others));
            equal = vsubq_u64(equal, vceqq_u64(wanted, others));
        }
        (vaddvq_u64(less) as usize, vaddvq_u64(equal) as usize)
    };
    Count { less: less + in_rest.less, less_or_equal: less + equal + in_rest.less_or_equal }
}

//! Prefetches of cache lines.

/// Prefetches a cache line into the second-level cache. The address need not be valid.
// Not into the first level: it has far fewer buffers for lines on their way, so it limits the prefetches of many
// operations together to half of the rate (docs/results/2026-11-25/prefetch.md).
#[inline]
pub(crate) fn prefetch_line(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64; a prefetch affects only the caches.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(line.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch affects only the caches.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{line}]", line = in(reg) line,
            options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
}

//! Prefetches of cache lines.

/// Prefetches a cache line. The address need not be valid.
#[inline]
pub(crate) fn prefetch_line(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64; a prefetch affects only the caches.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(line.cast());
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

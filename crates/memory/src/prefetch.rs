//! Prefetches of cache lines. The address of a line need not be valid.

/// Prefetches a line into the first-level cache, for operations that each wait for few lines.
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

/// Prefetches one of many lines that operations together wait for: into the second-level cache. The first
/// level has few buffers for lines on their way, which would limit the rate (decision 88).
#[inline]
pub(crate) fn prefetch_one_of_many(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64; a prefetch affects only the caches.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(line.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    prefetch_line(line);
}

//! The heap of the process, beside the arena: giving back to the system what was freed.

/// Gives freed memory of the heap back to the system, as far as its allocator can. It takes about a
/// millisecond for each 10 MiB that go back.
///
/// The allocator of the GNU C library keeps freed blocks of up to 32 MiB once it has seen one of them freed,
/// so a process whose buffers were large for a moment would stay large for ever.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes the locks of the allocator, as every allocation does, and touches no block that is in
    // use.
    unsafe {
        libc::malloc_trim(0);
    }
}

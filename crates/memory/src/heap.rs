//! The heap of the process, which is separate from the arena: settings that return freed memory to the
//! system.
//!
//! The allocator of the GNU C library maps each long block separately. But whenever the process frees such a
//! block, it raises the length from which it does so, up to 32 MiB. Long buffers are then among short ones,
//! and their memory stays with the process after they are freed. With other allocators these functions do
//! nothing.

/// Minimum length of a block that is mapped separately. The memory of such a block returns to the system when
/// it is freed, and a growing block is not copied.
#[cfg(target_env = "gnu")]
const MAPPED_BYTES: libc::c_int = 256 << 10;

/// Makes the allocator map all long blocks separately, so that their memory returns to the system as soon as
/// they are freed. Affects the whole process.
pub fn map_long_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call sets a parameter of the allocator, under the allocator's lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
    }
}

/// Returns the memory of freed short blocks to the system, as far as whole pages are free. It takes about a
/// millisecond for each 10 MiB that it returns.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: like every allocation, the call acquires the locks of the allocator, and it changes no block in
    // use.
    unsafe {
        libc::malloc_trim(0);
    }
}

//! The heap of the process, beside the arena: having freed memory go back to the system.
//!
//! The allocator of the GNU C library raises the size from which blocks are mapped each by itself, up to
//! 32 MiB, whenever it sees such a block freed. From then on long buffers lie among short ones, and what they
//! leave stays with the process. Other allocators need none of this, and get none.

/// Bytes from which on a block is mapped by itself: it goes back when it is freed, and growing moves nothing.
#[cfg(target_env = "gnu")]
const MAPPED_BYTES: libc::c_int = 256 << 10;

/// Has long blocks go back to the system as soon as they are freed. It holds for the whole process.
pub fn map_long_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it sets a parameter of the allocator, under the allocator's lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_BYTES);
    }
}

/// Gives the freed short blocks back, too, as far as whole pages of them are free. It takes about a
/// millisecond for each 10 MiB that go back.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes the locks of the allocator, as every allocation does, and touches no block that is in
    // use.
    unsafe {
        libc::malloc_trim(0);
    }
}

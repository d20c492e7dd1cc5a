//! Memory from the system: the arena, and the arrays beside it. All of it is reserved once and committed on
//! touch.
//!
//! loom knows nothing of mapped memory: the words in it are the machine's atomics always. The protocol of the
//! lock-and-size word is written over the [`Word`] trait, so that a model can run it.

use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::slice;

use crate::error::MemoryError;
use crate::sync::Ordering;

/// A word in mapped memory.
pub(crate) type MappedWord = core::sync::atomic::AtomicU64;
/// A byte in mapped memory.
pub(crate) type MappedByte = core::sync::atomic::AtomicU8;

/// An atomic word, in mapped memory or in a model.
pub(crate) trait Word {
    fn load(&self, order: Ordering) -> u64;
    fn store(&self, value: u64, order: Ordering);
    fn compare_exchange(
        &self,
        current: u64,
        new: u64,
        success: Ordering,
        failure: Ordering,
    ) -> Result<u64, u64>;
}

macro_rules! word {
    ($atomic:ty) => {
        impl Word for $atomic {
            #[inline]
            fn load(&self, order: Ordering) -> u64 {
                self.load(order)
            }

            #[inline]
            fn store(&self, value: u64, order: Ordering) {
                self.store(value, order);
            }

            #[inline]
            fn compare_exchange(
                &self,
                current: u64,
                new: u64,
                success: Ordering,
                failure: Ordering,
            ) -> Result<u64, u64> {
                self.compare_exchange(current, new, success, failure)
            }
        }
    };
}

word!(MappedWord);
#[cfg(loom)]
word!(crate::sync::AtomicU64);

/// What mapped memory begins at a multiple of: a huge page, and so any node size.
const ALIGNMENT: usize = 2 << 20;

/// What is wished for memory. Where the system does not grant it, all works as well without.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wishes {
    pub(crate) huge_pages: bool,
    /// Pages on all NUMA nodes in turn.
    pub(crate) interleave: bool,
}

/// Zeroed memory from the system, given back on drop.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// The first aligned byte of what the system gave.
    start: NonNull<u8>,
    bytes: usize,
    reserved: NonNull<u8>,
    reserved_bytes: usize,
}

// SAFETY: a mapping is plain memory that no thread is tied to; who may touch which bytes is the matter of its
// users.
unsafe impl Send for Mapping {}
// SAFETY: as above; the mapping itself does not change.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Reserves `bytes` of address space; pages are zero and are committed on touch.
    pub(crate) fn new(bytes: usize, wishes: Wishes) -> Result<Self, MemoryError> {
        let failed = || MemoryError::Reserve { bytes, source: io::Error::last_os_error() };
        let whole = bytes.checked_next_multiple_of(ALIGNMENT).and_then(|bytes| bytes.checked_add(ALIGNMENT));
        let reserved_bytes = whole.ok_or_else(failed)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new anonymous mapping at an address that the system chooses touches no memory in use.
        let reserved = unsafe { libc::mmap(ptr::null_mut(), reserved_bytes, protection, flags, -1, 0) };
        if reserved == libc::MAP_FAILED {
            return Err(failed());
        }
        let reserved = NonNull::new(reserved.cast::<u8>()).ok_or_else(failed)?;
        // SAFETY: the result is less than ALIGNMENT bytes into the mapping, which is longer.
        let start = unsafe { reserved.add(reserved.align_offset(ALIGNMENT)) };
        let mapping = Self { start, bytes, reserved, reserved_bytes };
        if wishes.huge_pages {
            mapping.ask_for_huge_pages();
        }
        #[cfg(target_os = "linux")]
        if wishes.interleave {
            crate::numa::interleave(mapping.start, bytes);
        }
        Ok(mapping)
    }

    fn ask_for_huge_pages(&self) {
        #[cfg(target_os = "linux")]
        // SAFETY: the range is within this mapping, and the advice does not change what it holds.
        unsafe {
            let whole = self.bytes.next_multiple_of(ALIGNMENT);
            libc::madvise(self.start.as_ptr().cast(), whole, libc::MADV_HUGEPAGE);
        }
    }

    /// The first byte. All bytes are initialised.
    #[inline]
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: these are the address and the length that mmap was called with, and no borrow outlives
        // `self`.
        unsafe { libc::munmap(self.reserved.as_ptr().cast(), self.reserved_bytes) };
    }
}

/// What is valid when all its bytes are zero.
///
/// # Safety
/// So it must be, and it must not need to be dropped.
pub(crate) unsafe trait Zero {}

// SAFETY: a number.
unsafe impl Zero for u64 {}
// SAFETY: has the representation of a number.
unsafe impl Zero for MappedByte {}
// SAFETY: has the representation of a number.
unsafe impl Zero for MappedWord {}
#[cfg(not(loom))]
// SAFETY: has the representation of a number.
unsafe impl Zero for crate::sync::AtomicU32 {}

/// An array that begins as zeroes.
#[derive(Debug)]
pub(crate) struct MappedSlice<T> {
    mapping: Mapping,
    count: usize,
    element: PhantomData<T>,
}

impl<T: Zero> MappedSlice<T> {
    pub(crate) fn new(count: usize, wishes: Wishes) -> Result<Self, MemoryError> {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        let mapping = Mapping::new(count * size_of::<T>(), wishes)?;
        Ok(Self { mapping, count, element: PhantomData })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.count * size_of::<T>()
    }
}

impl<T: Zero> Deref for MappedSlice<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the mapping is aligned and long enough, its bytes were zero and then what safe code made of
        // them, and it is touched through `self` alone.
        unsafe { slice::from_raw_parts(self.mapping.start.cast().as_ptr(), self.count) }
    }
}

impl<T: Zero> DerefMut for MappedSlice<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.mapping.start.cast().as_ptr(), self.count) }
    }
}

//! Memory from the system: the arena and other large arrays. Address space is reserved once, and pages are
//! committed when they are first accessed.
//!
//! loom cannot model mapped memory, so words in mapped memory are always atomics of the machine. The protocol
//! of the lock-and-size word uses the trait [`Word`], so that loom can check it.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::{io, slice};

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

/// Alignment of mapped memory: a huge page, which is a multiple of any node size.
const ALIGNMENT: usize = 2 << 20;

/// Requests to the system about mapped memory. The system may ignore them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MappingHints {
    pub(crate) huge_pages: bool,
    /// Interleave pages over all NUMA nodes.
    pub(crate) interleave: bool,
}

/// Zeroed memory from the system. Dropping it returns the memory.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// The first aligned byte of the reserved range.
    start: NonNull<u8>,
    bytes: usize,
    reserved: NonNull<u8>,
    reserved_bytes: usize,
}

// SAFETY: a mapping is plain memory that does not belong to a thread. Its users control the access to its
// bytes.
unsafe impl Send for Mapping {}
// SAFETY: as above; the mapping itself does not change.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Reserves `bytes` of address space. Pages are zero and are committed when they are first accessed.
    pub(crate) fn new(bytes: usize, hints: MappingHints) -> Result<Self, MemoryError> {
        let failed = || MemoryError::Reserve { bytes, source: io::Error::last_os_error() };
        let whole = bytes.checked_next_multiple_of(ALIGNMENT).and_then(|bytes| bytes.checked_add(ALIGNMENT));
        let reserved_bytes = whole.ok_or_else(failed)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new anonymous mapping at an address that the system chooses affects no memory in use.
        let reserved = unsafe { libc::mmap(ptr::null_mut(), reserved_bytes, protection, flags, -1, 0) };
        if reserved == libc::MAP_FAILED {
            return Err(failed());
        }
        let reserved = NonNull::new(reserved.cast::<u8>()).ok_or_else(failed)?;
        // SAFETY: the result is less than ALIGNMENT bytes into the mapping, which is longer.
        let start = unsafe { reserved.add(reserved.align_offset(ALIGNMENT)) };
        let mapping = Self { start, bytes, reserved, reserved_bytes };
        if hints.huge_pages {
            mapping.advise_huge_pages();
        }
        #[cfg(target_os = "linux")]
        if hints.interleave {
            crate::numa::interleave(mapping.start, bytes);
        }
        Ok(mapping)
    }

    fn advise_huge_pages(&self) {
        #[cfg(target_os = "linux")]
        // SAFETY: the range is within this mapping, and the advice does not change its contents.
        unsafe {
            let whole = self.bytes.next_multiple_of(ALIGNMENT);
            libc::madvise(self.start.as_ptr().cast(), whole, libc::MADV_HUGEPAGE);
        }
    }

    /// Commits the page that contains a byte, which other threads may use meanwhile: it changes no byte. Does
    /// nothing on processors for which this is not implemented.
    pub(crate) fn commit_page(&self, offset: usize) {
        assert!(offset < self.bytes, "byte {offset} of {}", self.bytes);
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: the byte is within this mapping. For the language this does nothing, as a prefetch: no byte
        // changes, and none is returned. For the processor it is an atomic write, so it loses no other write.
        unsafe {
            std::arch::asm!("lock or byte ptr [{byte}], 0", byte = in(reg) self.start.add(offset).as_ptr(),
                options(nostack));
        }
    }

    /// Returns the number of bytes of a range whose pages are committed. It begins and ends with a page.
    #[cfg(all(test, target_os = "linux"))]
    pub(crate) fn resident(&self, range: std::ops::Range<usize>) -> usize {
        const PAGE: usize = 4096;
        assert!(range.end <= self.bytes, "{range:?} of {} bytes", self.bytes);
        let mut pages = vec![0_u8; range.len() / PAGE];
        // SAFETY: the range is within this mapping, and there is a byte for each of its pages.
        let result = unsafe {
            libc::mincore(self.start.add(range.start).as_ptr().cast(), range.len(), pages.as_mut_ptr())
        };
        assert_eq!(result, 0, "{}", io::Error::last_os_error());
        pages.iter().filter(|page| **page & 1 == 1).count() * PAGE
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
        // SAFETY: mmap returned this address for this length, and no borrow outlives `self`.
        unsafe { libc::munmap(self.reserved.as_ptr().cast(), self.reserved_bytes) };
    }
}

/// A type for which zeroed bytes are a valid value.
///
/// # Safety
/// Zeroed bytes must be a valid value of the type, and the type must not need to be dropped.
pub(crate) unsafe trait Zero {}

// SAFETY: it is a number.
unsafe impl Zero for u64 {}
// SAFETY: it has the representation of a number.
unsafe impl Zero for MappedByte {}
// SAFETY: it has the representation of a number.
unsafe impl Zero for MappedWord {}
#[cfg(not(loom))]
// SAFETY: it has the representation of a number.
unsafe impl Zero for crate::sync::AtomicU32 {}

/// An array of zeros in mapped memory.
#[derive(Debug)]
pub(crate) struct MappedSlice<T> {
    mapping: Mapping,
    count: usize,
    element: PhantomData<T>,
}

impl<T: Zero> MappedSlice<T> {
    pub(crate) fn new(count: usize, hints: MappingHints) -> Result<Self, MemoryError> {
        const { assert!(align_of::<T>() <= ALIGNMENT) };
        let mapping = Mapping::new(count * size_of::<T>(), hints)?;
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
        // SAFETY: the mapping is aligned and long enough. Its bytes were zero, and only safe code changes
        // them, only through `self`.
        unsafe { slice::from_raw_parts(self.mapping.start.cast().as_ptr(), self.count) }
    }
}

impl<T: Zero> DerefMut for MappedSlice<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.mapping.start.cast().as_ptr(), self.count) }
    }
}

//! Loads and stores of eight bytes at any offset of atomic words, little-endian.
//!
//! On x86-64 each is one instruction, instead of two accesses to words and shifts. Rust has no such atomic
//! access, so it is written in assembly. As with two words, the bytes may be of several moments, so that the
//! caller needs a sequence lock.

pub(crate) use access::{load, store};

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod access {
    use std::arch::asm;

    use crate::arena::MappedWord;

    /// Loads eight bytes.
    ///
    /// # Safety
    /// They are within the words, to which there are only atomic accesses.
    #[inline(always)]
    pub(crate) unsafe fn load(words: &[MappedWord], offset: usize) -> u64 {
        let bytes: u64;
        // SAFETY: the bytes are within the words. The compiler does not move the load over an acquire
        // operation, because it reads memory.
        unsafe {
            asm!("mov {bytes}, qword ptr [{words} + {offset}]", bytes = lateout(reg) bytes,
                words = in(reg) words.as_ptr(), offset = in(reg) offset,
                options(pure, readonly, nostack, preserves_flags));
        }
        bytes
    }

    /// Stores eight bytes.
    ///
    /// # Safety
    /// They are within the words, to which there are only atomic accesses.
    #[inline(always)]
    pub(crate) unsafe fn store(words: &[MappedWord], offset: usize, bytes: u64) {
        // SAFETY: the bytes are within the words, which may change.
        unsafe {
            asm!("mov qword ptr [{words} + {offset}], {bytes}", bytes = in(reg) bytes,
                words = in(reg) words.as_ptr(), offset = in(reg) offset, options(nostack, preserves_flags));
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod access {
    use crate::arena::MappedWord;
    use crate::sync::Ordering;

    const WORD: usize = size_of::<u64>();

    /// Loads eight bytes.
    ///
    /// # Safety
    /// They are within the words.
    #[inline(always)]
    pub(crate) unsafe fn load(words: &[MappedWord], offset: usize) -> u64 {
        let word = |index: usize| words.get(index).map_or(0, |word| word.load(Ordering::Relaxed));
        let both = u128::from(word(offset / WORD)) | u128::from(word(offset / WORD + 1)) << u64::BITS;
        (both >> (offset % WORD * 8)) as u64
    }

    /// Stores eight bytes.
    ///
    /// # Safety
    /// They are within the words.
    #[inline(always)]
    pub(crate) unsafe fn store(words: &[MappedWord], offset: usize, bytes: u64) {
        let shift = offset % WORD * 8;
        let (bits, mask) = (u128::from(bytes) << shift, u128::from(u64::MAX) << shift);
        for (index, shift) in [(offset / WORD, 0), (offset / WORD + 1, u64::BITS)] {
            let (bits, mask) = ((bits >> shift) as u64, (mask >> shift) as u64);
            if let Some(word) = words.get(index).filter(|_| mask != 0) {
                word.store(word.load(Ordering::Relaxed) & !mask | bits, Ordering::Relaxed);
            }
        }
    }
}

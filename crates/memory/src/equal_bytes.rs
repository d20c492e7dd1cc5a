//! Compares all bytes of a cache line with one byte: with vectors of sixteen bytes on x86-64, where each
//! machine has them, and word by word elsewhere. The bytes may be of several moments.

use crate::arena::MappedWord;
use crate::line_words::LINE_WORDS;

/// Returns a bit for each byte of a line, which is set if they are equal.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn equal_bytes(line: &[MappedWord; LINE_WORDS], byte: u8) -> u64 {
    use std::arch::asm;
    use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set1_epi8};

    #[inline(always)]
    fn load<const OFFSET: usize>(line: &[MappedWord; LINE_WORDS]) -> __m128i {
        const { assert!(OFFSET + size_of::<__m128i>() <= LINE_WORDS * size_of::<u64>()) };
        let bytes;
        // SAFETY: the bytes are within the words, to which there are only atomic accesses. The compiler does
        // not move the load over an acquire operation, because it reads memory.
        unsafe {
            asm!("movdqu {bytes}, xmmword ptr [{line} + {offset}]", bytes = lateout(xmm_reg) bytes,
                line = in(reg) line.as_ptr(), offset = const OFFSET,
                options(pure, readonly, nostack, preserves_flags));
        }
        bytes
    }
    // SAFETY: SSE2 is part of x86-64.
    let wanted = unsafe { _mm_set1_epi8(byte.cast_signed()) };
    // SAFETY: as above.
    let mask = |bytes| unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted)) };
    let equal = |bytes| u64::from(mask(bytes).cast_unsigned());
    let low = equal(load::<0>(line)) | equal(load::<16>(line)) << 16;
    let high = equal(load::<32>(line)) | equal(load::<48>(line)) << 16;
    low | high << 32
}

/// As above.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline]
pub(crate) fn equal_bytes(line: &[MappedWord; LINE_WORDS], byte: u8) -> u64 {
    use crate::sync::Ordering;
    equal_bytes_of(std::array::from_fn(|index| line[index].load(Ordering::Relaxed)), byte)
}

/// Returns a bit for each byte of eight words, little-endian, which is set if it equals `byte`.
#[must_use]
pub fn equal_bytes_of(words: [u64; LINE_WORDS], byte: u8) -> u64 {
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    const LOW: u64 = u64::from_ne_bytes([1; 8]);
    words.into_iter().rev().fold(0, |bits, word| {
        let difference = word ^ (LOW * u64::from(byte));
        // The highest bit of each byte that is not zero.
        let differs = (((difference & !HIGH) + !HIGH) | difference) & HIGH;
        // The product moves the bit of each byte to its place in the highest byte.
        bits << 8 | (!differs & HIGH).wrapping_mul(0x0002_0408_1020_4081) >> 56
    })
}

//! Compares all bytes of a cache line with one byte: with vectors of sixteen bytes on x86-64, where each
//! machine has them, and word by word elsewhere. The bytes may be of several moments.

use crate::arena::MappedWord;
use crate::line_words::LINE_WORDS;

/// Loads the bytes of a line with an instruction.
#[cfg(all(target_arch = "x86_64", not(miri)))]
macro_rules! load_with {
    ($instruction:literal, $line:ident) => {{
        const { assert!(LINE_WORDS * size_of::<u64>() == 64) };
        let (first, second, third, fourth);
        // SAFETY: the machine has the instruction. The bytes are within the words, to which there are only
        // atomic accesses. The compiler does not move the loads over an acquire operation, because they read
        // memory.
        unsafe {
            std::arch::asm!(
                concat!($instruction, " {first}, xmmword ptr [{line}]"),
                concat!($instruction, " {second}, xmmword ptr [{line} + 16]"),
                concat!($instruction, " {third}, xmmword ptr [{line} + 32]"),
                concat!($instruction, " {fourth}, xmmword ptr [{line} + 48]"),
                first = out(xmm_reg) first, second = out(xmm_reg) second, third = out(xmm_reg) third,
                fourth = lateout(xmm_reg) fourth, line = in(reg) $line.as_ptr(),
                options(pure, readonly, nostack, preserves_flags));
        }
        [first, second, third, fourth]
    }};
}

/// Returns a bit for each byte of a line, which is set if they are equal.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(crate) fn equal_bytes(line: &[MappedWord; LINE_WORDS], byte: u8) -> u64 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set1_epi8};

    let [first, second, third, fourth] = load(line);
    // SAFETY: SSE2 is part of x86-64.
    let wanted = unsafe { _mm_set1_epi8(byte.cast_signed()) };
    // SAFETY: as above.
    let mask = |bytes| unsafe { _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted)) };
    let equal = |bytes| u64::from(mask(bytes).cast_unsigned());
    let low = equal(first) | equal(second) << 16;
    let high = equal(third) | equal(fourth) << 16;
    low | high << 32
}

/// As above.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline]
pub(crate) fn equal_bytes(line: &[MappedWord; LINE_WORDS], byte: u8) -> u64 {
    use crate::sync::Ordering;
    equal_bytes_of::<LINE_WORDS>(std::array::from_fn(|index| line[index].load(Ordering::Relaxed)), byte)
}

/// Loads a line, sixteen bytes at a time.
///
/// The caller may be code that [`vectorized`](crate::heads::vectorized) runs with AVX. If such code has used
/// the upper halves of registers, each change between instructions of SSE and of AVX costs tens of cycles. So
/// the load is an instruction of AVX where the machine has it.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn load(line: &[MappedWord; LINE_WORDS]) -> [std::arch::x86_64::__m128i; 4] {
    if crate::heads::has_vectors() { load_with!("vmovdqu", line) } else { load_with!("movdqu", line) }
}

/// Returns a bit for each byte of two words, little-endian, which is set if it equals `byte`.
#[must_use]
#[inline(always)]
pub fn equal_bytes_of_two(words: [u64; 2], byte: u8) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_movemask_epi8, _mm_set_epi64x, _mm_set1_epi8};

        let [low, high] = words.map(u64::cast_signed);
        // SAFETY: SSE2 is part of x86-64.
        let mask = unsafe {
            _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_set_epi64x(high, low), _mm_set1_epi8(byte.cast_signed())))
        };
        mask.cast_unsigned()
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        equal_bytes_of(words, byte) as u32
    }
}

/// Returns a bit for each byte of up to eight words, little-endian, which is set if it equals `byte`.
#[must_use]
pub fn equal_bytes_of<const WORDS: usize>(words: [u64; WORDS], byte: u8) -> u64 {
    const { assert!(WORDS <= u64::BITS as usize / 8) };
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_found_at_every_position() {
        for places in 0..=u16::MAX {
            for (byte, other) in [(0, 1), (1, 0), (0x80, 0), (0, 0x80), (0xff, 0x7f), (0x7f, 0x80)] {
                let bytes = |from: usize| {
                    let byte_at = |index| if places >> (from + index) & 1 == 1 { byte } else { other };
                    u64::from_le_bytes(std::array::from_fn(byte_at))
                };
                let words = [bytes(0), bytes(8)];
                assert_eq!(equal_bytes_of_two(words, byte), u32::from(places), "{words:x?}");
                assert_eq!(equal_bytes_of(words, byte), u64::from(places), "{words:x?}");
            }
        }
    }
}

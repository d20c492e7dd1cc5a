//! CRC-32C of short byte strings: the machine's instruction for it, where there is one. Libraries are made
//! for long strings; for a key suffix they take ten times the instructions.

/// The CRC-32C of `bytes`.
#[must_use]
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") {
        // SAFETY: the machine has the instructions.
        return unsafe { by_sse42(bytes) };
    }
    crc32c::crc32c(bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn by_sse42(bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};
    let (words, rest) = bytes.as_chunks::<8>();
    let crc =
        words.iter().fold(u64::from(u32::MAX), |crc, word| _mm_crc32_u64(crc, u64::from_le_bytes(*word)));
    !rest.iter().fold(crc as u32, |crc, &byte| _mm_crc32_u8(crc, byte))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn all_lengths_have_the_crc_of_the_library() {
        let bytes: Vec<u8> = (0..460_u32).map(|index| (index * 37 % 251) as u8).collect();
        for length in 0..=bytes.len() {
            assert_eq!(crc32c(&bytes[..length]), crc32c::crc32c(&bytes[..length]), "{length} bytes");
        }
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}

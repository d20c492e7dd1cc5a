//! CRC-32C of short byte strings, with the instruction of the machine if it has one. Libraries are optimized
//! for long strings; for a key suffix they execute ten times the instructions.

/// Returns the CRC-32C of `bytes`.
#[must_use]
#[inline(always)]
pub fn crc32c(bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if crate::heads::has_vectors() || is_x86_feature_detected!("sse4.2") {
        // SAFETY: the machine has the instructions, as each with AVX does, which takes one load to see.
        return unsafe { by_sse42(0, bytes) };
    }
    crc32c::crc32c(bytes)
}

/// Extends a prefix with the CRC-32C `crc` by each of many strings. Passes the CRC-32C of each result to
/// `consume`, with the payload of the string. It executes a fraction of the instructions of one call for each
/// string.
#[inline]
pub fn crc32c_each<'a, T>(
    crc: u32,
    strings: impl Iterator<Item = (T, &'a [u8])>,
    mut consume: impl FnMut(T, u32),
) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") {
        // SAFETY: the machine has the instructions.
        return unsafe { each_by_sse42(crc, strings, consume) };
    }
    strings.for_each(|(payload, bytes)| consume(payload, crc32c::crc32c_append(crc, bytes)));
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn each_by_sse42<'a, T>(
    crc: u32,
    strings: impl Iterator<Item = (T, &'a [u8])>,
    mut consume: impl FnMut(T, u32),
) {
    strings.for_each(|(payload, bytes)| consume(payload, by_sse42(crc, bytes)));
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "sse4.2")]
fn by_sse42(crc: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u16, _mm_crc32_u32, _mm_crc32_u64};
    let (mut crc, mut rest) = (!crc, bytes);
    while let Some((word, after)) = rest.split_first_chunk() {
        (crc, rest) = (_mm_crc32_u64(u64::from(crc), u64::from_le_bytes(*word)) as u32, after);
    }
    if let Some((four, after)) = rest.split_first_chunk() {
        (crc, rest) = (_mm_crc32_u32(crc, u32::from_le_bytes(*four)), after);
    }
    if let Some((two, after)) = rest.split_first_chunk() {
        (crc, rest) = (_mm_crc32_u16(crc, u16::from_le_bytes(*two)), after);
    }
    !rest.first().map_or(crc, |&one| _mm_crc32_u8(crc, one))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn all_lengths_have_the_same_crc_as_in_the_library() {
        let bytes: Vec<u8> = (0..460_u32).map(|index| (index * 37 % 251) as u8).collect();
        for length in 0..=bytes.len() {
            let expected = crc32c::crc32c(&bytes[..length]);
            assert_eq!(crc32c(&bytes[..length]), expected, "{length} bytes");
            let (first, second) = bytes[..length].split_at(length / 3);
            crc32c_each(crc32c(first), [(length, second)].into_iter(), |payload, crc| {
                assert_eq!((payload, crc), (length, expected), "{length} bytes in two parts");
            });
        }
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}

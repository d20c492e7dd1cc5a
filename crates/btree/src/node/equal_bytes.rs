//! Compares all bytes of a word with one value, without a loop or a branch.

/// Returns one bit for each byte of a word, set if the byte equals `byte`. The lowest byte has the lowest
/// bit.
#[inline]
pub(crate) fn equal_bytes(word: u64, byte: u8) -> u32 {
    const LOW: u64 = u64::MAX / 0xff;
    const HIGH: u64 = LOW << 7;
    let difference = word ^ (LOW * u64::from(byte));
    // Sets the high bit of each byte that is not zero. No addition carries into the next byte.
    let differs = ((difference & !HIGH) + !HIGH) | difference;
    // Collects the eight high bits in the top byte.
    (((!differs & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_found_at_every_position() {
        for places in 0..=u8::MAX {
            for (byte, other) in [(0, 1), (1, 0), (0x80, 0), (0, 0x80), (0xff, 0x7f), (0x7f, 0x80)] {
                let bytes = std::array::from_fn(|index| if places >> index & 1 == 1 { byte } else { other });
                assert_eq!(equal_bytes(u64::from_le_bytes(bytes), byte), u32::from(places), "{bytes:?}");
            }
        }
    }
}

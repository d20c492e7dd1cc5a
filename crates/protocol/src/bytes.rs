//! Little-endian numbers at an offset.

/// Returns the number of `N` bytes at `offset`. The caller has checked the offset.
#[inline]
pub(crate) fn number<const N: usize>(bytes: &[u8], offset: usize) -> u64 {
    let mut number = [0; 8];
    number[..N].copy_from_slice(&bytes[offset..offset + N]);
    u64::from_le_bytes(number)
}

/// Writes the low `N` bytes of a number at `offset`. The caller has checked the offset.
#[inline]
pub(crate) fn set_number<const N: usize>(bytes: &mut [u8], offset: usize, number: u64) {
    bytes[offset..offset + N].copy_from_slice(&number.to_le_bytes()[..N]);
}

//! Little-endian numbers in byte strings.

/// The largest number of a file or version that is valid, so that a valid one has successors.
pub(crate) const NUMBER_MAX: u64 = u64::MAX >> 1;

/// Returns the number of four bytes at `offset`, which must be inside of `bytes`.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    (u64_of(&bytes[offset..offset + 4])) as u32
}

/// Returns the number of eight bytes at `offset`, which must be inside of `bytes`.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64_of(&bytes[offset..offset + 8])
}

/// Stores a number of four bytes at `offset`.
pub(crate) fn put_u32(bytes: &mut [u8], offset: usize, number: u32) {
    bytes[offset..offset + 4].copy_from_slice(&number.to_le_bytes());
}

/// Stores a number of eight bytes at `offset`.
pub(crate) fn put_u64(bytes: &mut [u8], offset: usize, number: u64) {
    bytes[offset..offset + 8].copy_from_slice(&number.to_le_bytes());
}

/// Removes the first `count` bytes; `None` if there are fewer.
pub(crate) fn take<'b>(bytes: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn u64_of(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

//! Keys for what measures.

pub(crate) type Key = [u8; 16];

/// Key of a number: 16 bytes, in no order.
pub(crate) fn key(number: u64) -> Key {
    let high = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let high = (high ^ high >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(high ^ high >> 32).to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

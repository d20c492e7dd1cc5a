//! The hash of a key: 64 bits, of which the lowest choose the bucket and the highest are the second hash.
//!
//! Two multiplications of 64 by 64 bits for a key of up to 16 bytes, and one for each further 16 bytes. The
//! seed is secret and differs between tables, so that a client cannot choose keys that collide.

use honeycomb_layout::bucket_slot;

const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xd6e8_feb8_6659_fd93;

/// A key with what a search for it needs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HashedKey<'k> {
    pub(crate) bytes: &'k [u8],
    pub(crate) hash: u64,
    /// The first eight bytes, little-endian, with zeros after a shorter key.
    pub(crate) head: u64,
}

impl<'k> HashedKey<'k> {
    #[inline]
    pub(crate) fn new(seed: u64, bytes: &'k [u8]) -> Self {
        Self::with_hash(hash(seed, bytes), bytes)
    }

    #[inline]
    pub(crate) fn with_hash(hash: u64, bytes: &'k [u8]) -> Self {
        Self { bytes, hash, head: word_at(bytes, 0) }
    }

    /// Whether the keys are equal. Both have been hashed with the same seed.
    #[inline]
    pub(crate) fn equals(&self, other: &HashedKey<'_>) -> bool {
        let length = self.bytes.len();
        self.hash == other.hash
            && self.head == other.head
            && length == other.bytes.len()
            && (length <= 8 || self.bytes == other.bytes)
    }

    /// The second hash, which a slot contains.
    #[inline]
    pub(crate) fn second(&self) -> u64 {
        second_hash(self.hash)
    }
}

/// The second hash of a hash.
#[inline]
pub(crate) fn second_hash(hash: u64) -> u64 {
    hash >> (u64::BITS - bucket_slot::SECOND_HASH_BITS)
}

/// The hash of a key. The commonest lengths need no branches but those for the length.
#[inline(always)]
pub(crate) fn hash(seed: u64, key: &[u8]) -> u64 {
    if let Ok(eight) = <&[u8; 8]>::try_from(key) {
        return hash_of(seed, eight);
    }
    if let Ok(sixteen) = <&[u8; 16]>::try_from(key) {
        return hash_of(seed, sixteen);
    }
    hash_of(seed, key)
}

#[inline(always)]
fn hash_of(seed: u64, key: &[u8]) -> u64 {
    let mut state = seed ^ FIRST;
    let mut rest = key;
    while let Some((sixteen, after)) = rest.split_first_chunk::<16>()
        && !after.is_empty()
    {
        let word = u128::from_le_bytes(*sixteen);
        state = fold(word as u64 ^ SECOND, (word >> 64) as u64 ^ state);
        rest = after;
    }
    // The last 1 to 16 bytes as two words, which may overlap.
    let (low, high) = match rest.len() {
        8.. => (word_at(rest, 0), word_at(rest, rest.len() - 8)),
        _ => (word_at(rest, 0), 0),
    };
    let mixed = fold(low ^ SECOND, high ^ state);
    fold(mixed ^ key.len() as u64, FIRST)
}

/// The eight bytes at an offset, little-endian, with zeros after the end.
#[inline]
pub(crate) fn word_at(bytes: &[u8], offset: usize) -> u64 {
    let rest = &bytes[offset..];
    match rest.first_chunk() {
        Some(eight) => u64::from_le_bytes(*eight),
        None => short_word(rest),
    }
}

/// Up to seven bytes, with zeros after them, without a loop.
#[inline]
fn short_word(bytes: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        let shift = (bytes.len() - 4) * 8;
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << shift;
    }
    let Some(&first) = bytes.first() else { return 0 };
    let (middle, last) = (bytes[bytes.len() / 2], bytes[bytes.len() - 1]);
    let shift = |index: usize| index * 8;
    u64::from(first) | u64::from(middle) << shift(bytes.len() / 2) | u64::from(last) << shift(bytes.len() - 1)
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_word_has_the_bytes_of_a_short_key_and_zeros() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        for length in 0..=8 {
            let mut padded = [0; 8];
            padded[..length].copy_from_slice(&bytes[..length]);
            assert_eq!(word_at(&bytes[..length], 0), u64::from_le_bytes(padded), "{length} bytes");
        }
        assert_eq!(word_at(&bytes, 1), u64::from_le_bytes([2, 3, 4, 5, 6, 7, 8, 9]));
    }

    #[test]
    fn every_byte_the_length_and_the_seed_change_the_hash() {
        for length in [1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 460] {
            let key = vec![0; length];
            let mut hashes = HashSet::from([hash(1, &key), hash(2, &key), hash(1, &vec![0; length + 1])]);
            for at in 0..length {
                let mut other = key.clone();
                other[at] = 1;
                hashes.insert(hash(1, &other));
            }
            assert_eq!(hashes.len(), length + 3, "{length} bytes");
        }
    }

    /// Consecutive numbers, the commonest keys, fill buckets as random numbers do.
    #[test]
    fn consecutive_keys_spread_evenly() {
        const BUCKETS: usize = 1024;
        const PER_BUCKET: usize = 64;
        for shift in [0, 16, 32] {
            let (mut counts, mut seconds) = ([0_usize; BUCKETS], [0_usize; 512]);
            for number in 0..(BUCKETS * PER_BUCKET) as u64 {
                let hash = hash(7, &(number << shift).to_be_bytes());
                counts[hash as usize % BUCKETS] += 1;
                seconds[second_hash(hash) as usize] += 1;
            }
            // Seven standard deviations.
            let far = |count: &usize, mean: usize| count.abs_diff(mean).pow(2) > 49 * mean;
            assert!(!counts.iter().any(|count| far(count, PER_BUCKET)), "{shift}");
            assert!(!seconds.iter().any(|count| far(count, 2 * PER_BUCKET)), "{shift}");
        }
    }
}

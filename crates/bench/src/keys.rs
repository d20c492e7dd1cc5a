//! The pairs of the benchmark, made from their index, so that no table of them is kept beside the maps.

/// Bytes of a key.
pub const KEY_BYTES: usize = 16;
/// Bytes of a value.
pub const VALUE_BYTES: usize = 16;

/// A key.
pub type Key = [u8; KEY_BYTES];
/// A value.
pub type Value = [u8; VALUE_BYTES];

const _: () = assert!(KEY_BYTES >= 8, "the first eight bytes of a key tell it from all others");

/// The key of the pair number `index`: bytes that look random, all keys distinct in their first eight.
pub fn key(index: u64) -> Key {
    fill(mix(index))
}

/// The value of the pair number `index` after its change number `change`; 0 is what is loaded.
pub fn value(index: u64, change: u64) -> Value {
    fill(mix(mix(index) ^ !change))
}

/// A permutation of the 64-bit numbers whose results look random: the finalizer of splitmix64 behind its
/// increment.
pub fn mix(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// `first` and what [`mix`] makes of it, again and again, as big-endian words.
fn fill<const BYTES: usize>(first: u64) -> [u8; BYTES] {
    let (mut bytes, mut word) = ([0; BYTES], first);
    for chunk in bytes.chunks_mut(8) {
        chunk.copy_from_slice(&word.to_be_bytes()[..chunk.len()]);
        word = mix(word);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn keys_are_distinct_in_their_first_eight_bytes() {
        let heads: BTreeSet<Vec<u8>> = (0..1_000_000).map(|index| key(index)[..8].to_vec()).collect();
        assert_eq!(heads.len(), 1_000_000);
    }

    #[test]
    fn bytes_of_keys_and_values_are_even() {
        let mut counts = vec![[0_u32; 256]; KEY_BYTES + VALUE_BYTES];
        for index in 0..256_000 {
            let pair = key(index).into_iter().chain(value(index, 3));
            pair.zip(&mut counts).for_each(|(byte, counts)| counts[usize::from(byte)] += 1);
        }
        // A thousand expected of each: seven standard deviations are 221.
        assert!(counts.iter().flatten().all(|count| count.abs_diff(1_000) < 221));
    }

    #[test]
    fn a_change_changes_the_value() {
        assert_ne!(value(1, 0), value(1, 1));
        assert_ne!(value(1, 0), value(2, 0));
        assert_eq!(value(7, 9), value(7, 9));
    }
}

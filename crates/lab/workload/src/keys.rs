//! The pairs of the benchmark, generated from their index, so that no table of pairs occupies memory.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::key_kind::KeyKind;
use crate::{Failure, serde_by_name};

/// Allowed lengths of keys, and of keys and values of mixed lengths.
pub const BYTES: RangeInclusive<usize> = 8..=460;
/// Allowed lengths of values that all have the same one.
const VALUE_BYTES: RangeInclusive<usize> = 8..=16_384;

/// Sizes of keys and values: `16+16`, `paths+16`, or `mixed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Sizes {
    /// All keys have the same size, and all values have the same size.
    Fixed {
        /// Bytes of a key.
        key: usize,
        /// Bytes of a value.
        value: usize,
    },
    /// Keys as people have them, and values of the same size.
    Kind {
        /// The kind of the keys.
        keys: KeyKind,
        /// Bytes of a value.
        value: usize,
    },
    /// All sizes in [`BYTES`]. Each range from one power of two to the next is equally frequent.
    Mixed,
}

impl Sizes {
    /// The default, which all performance targets use.
    pub const DEFAULT: Sizes = Sizes::Fixed { key: 16, value: 16 };

    /// Appends the key of a pair. Unless keys are of a kind, it consists of pseudo-random bytes, of which the
    /// first eight are unique.
    pub fn key(self, index: u64, bytes: &mut Vec<u8>) {
        let first = mix(index);
        match self {
            Sizes::Fixed { key, .. } => fill(first, key, bytes),
            Sizes::Kind { keys, .. } => keys.append(index, bytes),
            Sizes::Mixed => fill(first, mixed(first), bytes),
        }
    }

    /// Appends the value of a pair after change number `change`. Change 0 is the loaded value.
    pub fn value(self, index: u64, change: u64, bytes: &mut Vec<u8>) {
        let first = mix(mix(index) ^ !change);
        let count = match self {
            Sizes::Fixed { value, .. } | Sizes::Kind { value, .. } => value,
            Sizes::Mixed => mixed(first),
        };
        fill(first, count, bytes);
    }

    /// Returns the average bytes of a pair.
    pub fn pair_bytes(self) -> u64 {
        match self {
            Sizes::Fixed { key, value } => (key + value) as u64,
            Sizes::Kind { keys, value } => keys.mean_bytes() + value as u64,
            Sizes::Mixed => 2 * MIXED_BYTES_MEAN,
        }
    }

    /// Returns the bytes of the longest key and of the longest value.
    pub fn longest(self) -> (usize, usize) {
        match self {
            Sizes::Fixed { key, value } => (key, value),
            Sizes::Kind { value, .. } => (KeyKind::BYTES_MAX, value),
            Sizes::Mixed => (*BYTES.end(), *BYTES.end()),
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sizes::Fixed { key, value } => write!(formatter, "{key}+{value}"),
            Sizes::Kind { keys, value } => write!(formatter, "{}+{value}", keys.name()),
            Sizes::Mixed => formatter.write_str("mixed"),
        }
    }
}

impl FromStr for Sizes {
    type Err = Failure;

    fn from_str(name: &str) -> Result<Sizes, Failure> {
        if name == "mixed" {
            return Ok(Sizes::Mixed);
        }
        let sizes = name.split_once('+').and_then(|(key, value)| {
            let value = bytes(value, &VALUE_BYTES)?;
            match KeyKind::of_name(key) {
                Some(keys) => Some(Sizes::Kind { keys, value }),
                None => Some(Sizes::Fixed { key: bytes(key, &BYTES)?, value }),
            }
        });
        sizes.ok_or_else(|| {
            let kinds = KeyKind::names();
            let expected = "expected KEY+VALUE with bytes of the value from 8 to 16384 and as KEY either \
                            bytes from 8 to 460, such as 16+16, or one of";
            format!("invalid sizes {name}; {expected} {kinds}, such as paths+16; or mixed").into()
        })
    }
}

serde_by_name!(Sizes);

fn bytes(text: &str, allowed: &RangeInclusive<usize>) -> Option<usize> {
    text.parse().ok().filter(|bytes| allowed.contains(bytes))
}

/// The mean of [`mixed`].
const MIXED_BYTES_MEAN: u64 = 124;

/// Returns the length of a key or value that starts with `first`. The ranges 8 to 15, 16 to 31 and so on up
/// to 460 are equally frequent.
fn mixed(first: u64) -> usize {
    let low = 8 << (((first & 0xFFFF) * 6) >> 16);
    (low + ((first >> 16) & 0xFFFF) as usize * low / 0x1_0000).min(*BYTES.end())
}

/// A pseudo-random permutation of 64-bit numbers: increment and finalizer of splitmix64.
pub fn mix(number: u64) -> u64 {
    let mixed = number.wrapping_add(1).wrapping_mul(GOLDEN);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Appends `count` bytes: `first` and further pseudo-random numbers, as big-endian words. Each word follows
/// from `first` by a few instructions, so that long keys cost little compared with the map.
fn fill(first: u64, count: usize, bytes: &mut Vec<u8>) {
    let end = bytes.len() + count;
    bytes.extend_from_slice(&first.to_be_bytes());
    let mut word = first;
    while bytes.len() < end {
        word = word.wrapping_add(GOLDEN);
        let scrambled = (word ^ (word >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        bytes.extend_from_slice(&(scrambled ^ (scrambled >> 32)).to_be_bytes());
    }
    bytes.truncate(end);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn key(sizes: Sizes, index: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        sizes.key(index, &mut bytes);
        bytes
    }

    fn value(sizes: Sizes, index: u64, change: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        sizes.value(index, change, &mut bytes);
        bytes
    }

    #[test]
    fn keys_are_distinct_in_their_first_eight_bytes() {
        let heads: BTreeSet<Vec<u8>> =
            (0..1_000_000).map(|index| key(Sizes::Mixed, index)[..8].to_vec()).collect();
        assert_eq!(heads.len(), 1_000_000);
    }

    #[test]
    fn bytes_of_keys_and_values_are_uniform() {
        let sizes = Sizes::Fixed { key: 20, value: 30 };
        let mut counts = vec![[0_u32; 256]; 50];
        for index in 0..256_000 {
            let pair = key(sizes, index).into_iter().chain(value(sizes, index, 3));
            pair.zip(&mut counts).for_each(|(byte, counts)| counts[usize::from(byte)] += 1);
        }
        // The expected count is 1,000. Seven standard deviations are 221.
        assert!(counts.iter().flatten().all(|count| count.abs_diff(1_000) < 221));
    }

    #[test]
    fn a_change_changes_the_value() {
        let value = |index, change| value(Sizes::DEFAULT, index, change);
        assert_ne!(value(1, 0), value(1, 1));
        assert_ne!(value(1, 0), value(2, 0));
        assert_eq!(value(7, 9), value(7, 9));
    }

    #[test]
    fn mixed_lengths_cover_the_range_and_have_the_mean() {
        let lengths: Vec<usize> = (0..200_000).map(|index| key(Sizes::Mixed, index).len()).collect();
        assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(BYTES.start()), Some(BYTES.end())));
        let mean = lengths.iter().sum::<usize>() / lengths.len();
        assert!(mean.abs_diff(MIXED_BYTES_MEAN as usize) <= 1, "{mean}");
    }

    #[test]
    fn sizes_have_names() -> Result<(), Failure> {
        for name in ["16+16", "8+8", "460+16384", "paths+16", "mixed"] {
            assert_eq!(name.parse::<Sizes>()?.to_string(), name);
        }
        for wrong in ["16", "7+16", "461+16", "16+7", "16+16385", "paths", "paths+7", "a+b", ""] {
            assert!(wrong.parse::<Sizes>().is_err(), "{wrong}");
        }
        Ok(())
    }
}

//! A set of small numbers with a fast search for the smallest member.

use crate::arena::{MappedSlice, MappingHints};
use crate::error::MemoryError;

/// Level 0 has a bit for each number. Level n + 1 has a bit for each word of level n, which is set if the
/// word is not zero. The last level is one word.
#[derive(Debug)]
pub(crate) struct Bitmap {
    words: MappedSlice<u64>,
    /// The offset of each level in `words`.
    levels: Vec<usize>,
    bits: usize,
}

const WORD_BITS: usize = u64::BITS as usize;

impl Bitmap {
    /// Creates an empty set for numbers below `bits`.
    pub(crate) fn new(bits: usize) -> Result<Self, MemoryError> {
        let (mut levels, mut end, mut count) = (Vec::new(), 0, bits.max(1));
        loop {
            levels.push(end);
            count = count.div_ceil(WORD_BITS);
            end += count;
            if count == 1 {
                return Ok(Self { words: MappedSlice::new(end, MappingHints::default())?, levels, bits });
            }
        }
    }

    /// Whether `bit` is a member. False if it is out of range.
    pub(crate) fn contains(&self, bit: usize) -> bool {
        bit < self.bits && self.words[bit / WORD_BITS] >> (bit % WORD_BITS) & 1 == 1
    }

    pub(crate) fn insert(&mut self, mut bit: usize) {
        debug_assert!(bit < self.bits);
        for level in &self.levels {
            let word = &mut self.words[level + bit / WORD_BITS];
            let was_empty = *word == 0;
            *word |= 1 << (bit % WORD_BITS);
            if !was_empty {
                return;
            }
            bit /= WORD_BITS;
        }
    }

    pub(crate) fn remove(&mut self, mut bit: usize) {
        debug_assert!(bit < self.bits);
        for level in &self.levels {
            let word = &mut self.words[level + bit / WORD_BITS];
            *word &= !(1 << (bit % WORD_BITS));
            if *word != 0 {
                return;
            }
            bit /= WORD_BITS;
        }
    }

    /// Returns the smallest member.
    pub(crate) fn first(&self) -> Option<usize> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = self.words[level + at];
            if word == 0 {
                return None;
            }
            at = at * WORD_BITS + word.trailing_zeros() as usize;
        }
        Some(at)
    }

    /// Bytes of the words.
    pub(crate) fn bytes(&self) -> usize {
        self.words.bytes()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_member_is_the_smallest_on_every_level() {
        for bits in [1, 64, 65, 4096, 4097, 300_000] {
            let mut bitmap = Bitmap::new(bits).unwrap();
            assert_eq!(bitmap.first(), None);
            let members = [bits - 1, bits / 2, bits / 3, 0];
            for member in members {
                bitmap.insert(member);
                assert_eq!(bitmap.first(), Some(member));
                assert!(bitmap.contains(member));
            }
            for member in [0, bits / 3, bits / 2] {
                bitmap.remove(member);
            }
            assert_eq!(bitmap.first(), (bits > 1).then_some(bits - 1));
            assert!(!bitmap.contains(bits + 64));
        }
    }
}

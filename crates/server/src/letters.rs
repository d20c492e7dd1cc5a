//! Short words in upper or lower case: the names of commands and of their options.

/// Maximum length of a word in bytes.
pub(crate) const LETTERS_MAX: usize = 16;

/// The bytes of a word, padded with zeros.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Letters(u128);

impl Letters {
    /// Returns `None` if the word is too long.
    // Two overlapping loads, of the first bytes and of the last ones. Copying the word to a cleared buffer
    // and loading the buffer would wait for the copy.
    #[inline]
    pub(crate) fn of(word: &[u8]) -> Option<Self> {
        let behind = |bytes: usize| 8 * (word.len() - bytes);
        if let (Some(first), Some(last)) = (word.first_chunk::<8>(), word.last_chunk::<8>()) {
            let [first, last] = [first, last].map(|eight| u128::from(u64::from_le_bytes(*eight)));
            return (word.len() <= LETTERS_MAX).then(|| Self(first | last << behind(8)));
        }
        let letters = if let (Some(first), Some(last)) = (word.first_chunk::<4>(), word.last_chunk::<4>()) {
            let [first, last] = [first, last].map(|four| u64::from(u32::from_le_bytes(*four)));
            first | last << behind(4)
        } else if let (Some(first), Some(last)) = (word.first_chunk::<2>(), word.last_chunk::<2>()) {
            let [first, last] = [first, last].map(|two| u64::from(u16::from_le_bytes(*two)));
            first | last << behind(2)
        } else {
            word.first().map_or(0, |&byte| u64::from(byte))
        };
        Some(Self(u128::from(letters)))
    }

    #[inline]
    pub(crate) fn in_lower_case(self) -> [u8; LETTERS_MAX] {
        (self.0 | self.between(b'A', b'Z') >> 2).to_le_bytes()
    }

    /// Returns the word without the bit that distinguishes a letter from its capital. Two words without this
    /// bit are equal if they are the same letters in upper or lower case, and no other byte becomes a
    /// capital.
    #[inline]
    pub(crate) fn without_case(self) -> [u8; LETTERS_MAX] {
        (self.0 & !all(b'a' ^ b'A')).to_le_bytes()
    }

    /// Returns a word whose bytes have the top bit set where a byte is between `first` and `last`, both below
    /// 128.
    #[inline]
    fn between(self, first: u8, last: u8) -> u128 {
        const TOP: u128 = all(0x80);
        let low_bits = self.0 & !TOP;
        // Each sum is of two numbers below 128, so the top bit of each byte is the result of the comparison
        // and no carry leaves a byte.
        (low_bits + all(0x80 - first)) & !(low_bits + all(0x7f - last)) & !self.0 & TOP
    }
}

#[inline]
const fn all(byte: u8) -> u128 {
    u128::from_le_bytes([byte; LETTERS_MAX])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_letters_change_their_case() {
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        let padded = |word: Vec<u8>| std::array::from_fn(|at| word.get(at).copied().unwrap_or(0));
        for word in (1..=LETTERS_MAX).flat_map(|length| bytes.windows(length)) {
            let letters = Letters::of(word).unwrap();
            assert_eq!(letters.in_lower_case(), padded(word.to_ascii_lowercase()), "{word:?}");
        }
        assert_eq!(Letters::of(b"").unwrap().in_lower_case(), [0; LETTERS_MAX]);
        assert!(Letters::of(&bytes[..=LETTERS_MAX]).is_none());
    }

    #[test]
    fn only_letters_become_capitals() {
        for byte in 0..=u8::MAX {
            let word = Letters::of(&[byte; 5]).unwrap().without_case();
            let is_capital = word[0].is_ascii_uppercase();
            assert_eq!(is_capital, byte.is_ascii_alphabetic(), "{byte}");
            assert!(!is_capital || word[..5] == [byte.to_ascii_uppercase(); 5], "{byte}");
            assert_eq!(word[5..], [0; LETTERS_MAX - 5]);
        }
    }
}

//! Which log entries may be of a key: those with its tag, and those whose tags are not there or not looked
//! at.

use honeycomb_layout::node_header::TAGS_COUNT;

use crate::key::{Wanted, tag};
use crate::view::View;

/// A set of log entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidates {
    /// A bit for each of the first entries.
    tagged: u32,
    /// Whether the entries after those are in the set.
    untagged: bool,
}

impl Candidates {
    /// All entries.
    pub(crate) const ALL: Self = Self { tagged: u32::MAX, untagged: true };
    const NONE: Self = Self { tagged: 0, untagged: false };

    /// The entries of a leaf that may be of a key, by so many tags: at most all.
    #[inline]
    pub(crate) fn of(leaf: View<'_>, wanted: &Wanted<'_>, tags: usize) -> Self {
        let count = leaf.log_count();
        if count == 0 {
            return Self::NONE;
        }
        let [first, second] = leaf.tag_words();
        let tag = tag(wanted.suffix);
        let equal = equal_bytes(first, tag) | (equal_bytes(second, tag) << 8);
        let looked_at = (1 << count.min(tags)) - 1;
        if count > tags {
            return Self { tagged: equal & looked_at | u32::MAX << tags, untagged: true };
        }
        Self { tagged: equal & looked_at, untagged: false }
    }

    #[inline]
    pub(crate) fn is_empty(self) -> bool {
        self.tagged == 0 && !self.untagged
    }

    #[inline]
    pub(crate) fn contain(self, index: usize) -> bool {
        if index < TAGS_COUNT { self.tagged >> index & 1 == 1 } else { self.untagged }
    }
}

/// A bit for each byte of a word that has a value, that of the lowest byte first.
#[inline]
pub(crate) fn equal_bytes(word: u64, byte: u8) -> u32 {
    const LOW: u64 = u64::MAX / 0xff;
    const HIGH: u64 = LOW << 7;
    let difference = word ^ (LOW * u64::from(byte));
    // The high bit of each byte that is not zero, and no carry from one to the next.
    let differs = ((difference & !HIGH) + !HIGH) | difference;
    // Brings the eight high bits together in the top byte.
    (((!differs & HIGH) >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_found_wherever_they_are() {
        for places in 0..=u8::MAX {
            for (byte, other) in [(0, 1), (1, 0), (0x80, 0), (0, 0x80), (0xff, 0x7f), (0x7f, 0x80)] {
                let bytes = std::array::from_fn(|index| if places >> index & 1 == 1 { byte } else { other });
                assert_eq!(equal_bytes(u64::from_le_bytes(bytes), byte), u32::from(places), "{bytes:?}");
            }
        }
    }
}

//! The comparison of a pair in a slab with a key, and the copy of its value, without a copy of the slab.
//!
//! The words may be of two moments, so every function returns some result for any words.

use honeycomb_layout::{SLAB_UNIT_BYTES, slab_header};
use honeycomb_memory::PageWords;

use crate::form::{Form, HEADER};
use crate::hash::{HashedKey, word_at};
use crate::operation::Span;
use crate::record::slab_value_length;

/// The words of a slab.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlabWords<'p> {
    pub(crate) words: PageWords<'p>,
    pub(crate) form: Form,
}

/// What a slab has for a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Match {
    /// Another key.
    Other,
    /// The key, with a value in the slab.
    Value { offset: usize, length: usize },
    /// The key, with an overflow value.
    Overflow,
}

impl SlabWords<'_> {
    /// Compares the key of the slab. `None` if the words are of two moments.
    #[inline(always)]
    pub(crate) fn compare(&self, key: &HashedKey<'_>) -> Option<Match> {
        if self.form.key_length() > 0 {
            return Some(self.compare_whole(key));
        }
        let key_length = key.bytes.len();
        let header = self.words.load(0) & ((1 << slab_header::BITS) - 1);
        if slab_header::pair_key_length(header) as usize != key_length {
            return Some(Match::Other);
        }
        let is_equal = self.difference(HEADER, key) == 0;
        if !is_equal {
            return Some(Match::Other);
        }
        if slab_header::pair_overflow(header) != 0 {
            return Some(Match::Overflow);
        }
        let last_byte = (self.words.load(self.words.len() - 1) >> 56) as usize;
        let length = slab_value_length(header, self.words.len() * 8, last_byte)?;
        Some(Match::Value { offset: HEADER + key_length, length })
    }

    /// As [`compare`](Self::compare), in a slab without a header, where the value ends with the slab.
    #[inline(always)]
    fn compare_whole(&self, key: &HashedKey<'_>) -> Match {
        let offset = self.form.key_length();
        if offset != key.bytes.len() || self.difference(0, key) != 0 {
            return Match::Other;
        }
        Match::Value { offset, length: SLAB_UNIT_BYTES - offset }
    }

    /// Zero if the slab has the bytes of a key at `start`.
    #[inline(always)]
    fn difference(&self, start: usize, key: &HashedKey<'_>) -> u64 {
        let length = key.bytes.len();
        let first = self.word_difference(start, key, 0);
        if length <= 8 {
            return first & u64::MAX >> (64 - 8 * length);
        }
        // The last eight bytes may overlap the ones before them.
        let ends = first | self.word_difference(start, key, length - 8);
        if length <= 16 { ends } else { self.middle_difference(start, key, ends) }
    }

    /// Zero if the slab also has the bytes between the first and the last eight of a key.
    fn middle_difference(&self, start: usize, key: &HashedKey<'_>, ends: u64) -> u64 {
        let middle = (8..key.bytes.len() - 8).step_by(8);
        middle.fold(ends, |all, at| all | self.word_difference(start, key, at))
    }

    #[inline(always)]
    fn word_difference(&self, start: usize, key: &HashedKey<'_>, at: usize) -> u64 {
        self.word_at(start + at) ^ word_at(key.bytes, at)
    }

    /// Appends a value. Its offset and its length are those of a [`Match`], so the value ends within the
    /// slab, also if the words are of two moments.
    #[inline(always)]
    pub(crate) fn append_value(&self, offset: usize, length: usize, out: &mut Vec<u8>) -> Span {
        let span = Span { start: out.len(), end: out.len() + length };
        self.words.append_to(out, offset, length);
        span
    }

    /// The eight bytes at an offset, with zeros after the end of the slab.
    #[inline(always)]
    pub(crate) fn word_at(&self, offset: usize) -> u64 {
        self.words.load_at(offset)
    }
}

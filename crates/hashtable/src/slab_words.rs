//! The comparison of a pair in a slab with a key, and the copy of its value, without a copy of the slab.
//!
//! The words may be of two moments, so every function returns some result for any words.

use honeycomb_layout::slab_header;
use honeycomb_memory::PageWords;

use crate::hash::{HashedKey, word_at};
use crate::operation::Span;
use crate::record::{HEADER, slab_value_length};

/// The words of a slab.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlabWords<'p>(pub(crate) PageWords<'p>);

/// What a slab has for a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Match {
    /// Another key.
    Other,
    /// The key, with a value of this length in the slab.
    Value(usize),
    /// The key, with an overflow value.
    Overflow,
}

impl SlabWords<'_> {
    /// Compares the key of the slab. `None` if the words are of two moments.
    #[inline(always)]
    pub(crate) fn compare(&self, key: &HashedKey<'_>) -> Option<Match> {
        let (first, length) = (self.0.load(0), key.bytes.len());
        let header = first & ((1 << slab_header::BITS) - 1);
        if slab_header::pair_key_length(header) as usize != length {
            return Some(Match::Other);
        }
        let is_equal = self.difference(key) == 0;
        if !is_equal {
            return Some(Match::Other);
        }
        if slab_header::pair_overflow(header) != 0 {
            return Some(Match::Overflow);
        }
        let last_byte = (self.0.load(self.0.len() - 1) >> 56) as usize;
        slab_value_length(header, self.0.len() * 8, last_byte).map(Match::Value)
    }

    /// Zero if the slab begins with the bytes of a key.
    #[inline(always)]
    fn difference(&self, key: &HashedKey<'_>) -> u64 {
        let length = key.bytes.len();
        let of = |at: usize| self.word_at(HEADER + at) ^ word_at(key.bytes, at);
        if length < 8 {
            return of(0) & !(u64::MAX << (8 * length));
        }
        let ends = of(0) | of(length - 8);
        if length <= 16 { ends } else { (8..length - 8).step_by(8).fold(ends, |all, at| all | of(at)) }
    }

    /// Appends a value of `length` bytes, which follows a key of `key_length` bytes. Both lengths are those
    /// of a [`Match`] of the key, so the value ends within the slab, also if the words are of two moments.
    #[inline(always)]
    pub(crate) fn append_value(&self, key_length: usize, length: usize, out: &mut Vec<u8>) -> Span {
        let span = Span { start: out.len(), end: out.len() + length };
        self.0.append_to(out, HEADER + key_length, length);
        span
    }

    /// The eight bytes at an offset, with zeros after the end of the slab.
    #[inline(always)]
    pub(crate) fn word_at(&self, offset: usize) -> u64 {
        self.0.load_at(offset)
    }
}

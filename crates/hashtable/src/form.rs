//! How a slab contains a pair.
//!
//! A pair that fills the smallest slab has no header there: the marks of its slot have the length of its key,
//! and its value ends with the slab. Other pairs have a header, and take the smallest slab that has room.

use honeycomb_layout::{
    KEY_BYTES_MAX, KEY_BYTES_MIN, SLAB_BYTES_MAX, SLAB_CLASSES, SLAB_UNIT_BYTES, WHOLE_SLAB_KEY_BYTES_MAX,
    slab_header, value_reference,
};

/// Bytes of the header.
pub(crate) const HEADER: usize = slab_header::BITS as usize / 8;

/// Bytes of a slab of a class.
#[inline]
pub(crate) const fn class_bytes(class: usize) -> usize {
    SLAB_UNIT_BYTES << class
}

const _: () = assert!(class_bytes(SLAB_CLASSES - 1) == SLAB_BYTES_MAX);
const _: () = assert!(HEADER + KEY_BYTES_MAX + value_reference::SIZE <= SLAB_BYTES_MAX);

/// The class of a slab, and above it the length of the key if the slab has no header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Form(u32);

/// The bit after those of the class.
const AFTER_CLASS: u32 = 8;

impl Form {
    /// A slab of a class. If `key_length` is not 0, it has no header.
    #[inline(always)]
    pub(crate) fn new(class: usize, key_length: usize) -> Self {
        Self((class | key_length << AFTER_CLASS) as u32)
    }

    /// The form with a code.
    #[inline(always)]
    pub(crate) fn from_code(code: u32) -> Self {
        Self(code)
    }

    /// A number for the form, less than 2^16.
    #[inline(always)]
    pub(crate) fn code(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub(crate) fn class(self) -> usize {
        self.0 as usize % (1 << AFTER_CLASS)
    }

    /// The length of the key if the slab has no header. Otherwise 0.
    #[inline(always)]
    pub(crate) fn key_length(self) -> usize {
        (self.0 >> AFTER_CLASS) as usize
    }

    /// Bytes before the key.
    #[inline(always)]
    pub(crate) fn header_bytes(self) -> usize {
        if self.key_length() == 0 { HEADER } else { 0 }
    }

    /// The form of the smallest slab that has room for a pair. `None` if the value needs a buffer of its own.
    #[inline]
    pub(crate) fn of(key_length: usize, value_length: usize) -> Option<Self> {
        let is_whole = key_length + value_length == SLAB_UNIT_BYTES;
        if is_whole && (KEY_BYTES_MIN..=WHOLE_SLAB_KEY_BYTES_MAX).contains(&key_length) {
            return Some(Self::new(0, key_length));
        }
        Self::with_header(key_length + value_length)
    }

    /// As [`of`](Self::of), for a pair whose value may have a buffer of its own.
    #[inline]
    pub(crate) fn of_any(key_length: usize, value_length: usize) -> Self {
        let of_reference = || Self::of_reference(key_length);
        Self::of(key_length, value_length).or_else(of_reference).expect("a slab has room for every key")
    }

    /// The form of the slab of a pair whose value has a buffer of its own: it needs the flag in the header.
    pub(crate) fn of_reference(key_length: usize) -> Option<Self> {
        Self::with_header(key_length + value_reference::SIZE)
    }

    /// The smallest slab that has room for a header and some bytes.
    fn with_header(bytes: usize) -> Option<Self> {
        let bytes = HEADER + bytes;
        let class = || bytes.div_ceil(SLAB_UNIT_BYTES).next_power_of_two().ilog2() as usize;
        (bytes <= SLAB_BYTES_MAX).then(|| Self::new(class(), 0))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_32_bytes_have_no_header_unless_the_key_is_too_long() {
        for key_length in 1..=31 {
            assert_eq!(Form::of(key_length, 32 - key_length), Some(Form::new(0, key_length)));
            assert_eq!(Form::of(key_length, 31 - key_length), Some(Form::new(1, 0)));
        }
        assert_eq!(Form::of(32, 0), Some(Form::new(1, 0)));
    }
}

//! A value of up to 32 bytes on its way to the caller: on the stack, without a call.

use crate::operation::Span;

/// Maximum length.
pub(crate) const SHORT: usize = 32;

/// A short value.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ShortValue {
    bytes: [u8; SHORT],
    length: usize,
}

impl ShortValue {
    /// Loads a value, eight bytes at once; those after its end are any bytes. Returns whether it is short.
    #[inline(always)]
    pub(crate) fn load(&mut self, length: usize, word_at: impl Fn(usize) -> u64) -> bool {
        let [first, second, third, fourth] = self.bytes.as_chunks_mut().0 else { return false };
        *first = word_at(0).to_le_bytes();
        if length > 8 {
            *second = word_at(8).to_le_bytes();
        }
        if length > 16 {
            (*third, *fourth) = (word_at(16).to_le_bytes(), word_at(24).to_le_bytes());
        }
        self.length = length;
        length <= SHORT
    }

    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length.min(SHORT)]
    }

    /// Appends the value.
    #[inline(always)]
    pub(crate) fn append(&self, out: &mut Vec<u8>) -> Span {
        let span = Span { start: out.len(), end: out.len() + self.length };
        out.extend_from_slice(&self.bytes);
        out.truncate(span.end);
        span
    }
}

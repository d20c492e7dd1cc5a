//! A pair that a scan emits.

use crate::node::in_node::InNode;
use crate::node::item::Item;

/// A pair that a scan emits.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    pub(crate) prefix: InNode<'a>,
    pub(crate) item: Item<'a>,
    /// The value if it is not in the item: an overflow value, or an empty one if the scan emits only keys.
    pub(crate) separate_value: Option<&'a [u8]>,
}

impl<'a> Pair<'a> {
    /// Returns the length of the key in bytes.
    #[must_use]
    #[inline]
    pub fn key_len(&self) -> usize {
        self.prefix.len() + self.item.header.suffix_bytes()
    }

    /// Returns the length of the value in bytes.
    #[must_use]
    #[inline]
    pub fn value_len(&self) -> usize {
        self.separate_value.map_or(self.item.header.value_bytes(), <[u8]>::len)
    }

    /// Returns the value; empty if the scan emits only keys.
    #[must_use]
    #[inline]
    pub fn value(&self) -> &'a [u8] {
        self.separate_value.unwrap_or_else(|| self.item.value())
    }

    /// Returns a copy of the key.
    #[must_use]
    pub fn key(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.key_len());
        self.copy_key_into(&mut key);
        key
    }

    /// Appends the key to `out`.
    pub fn copy_key_into(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix.bytes());
        self.item.suffix().copy_into(out);
    }

    /// Writes `before`, the key and the value to the start of `out`. May overwrite bytes after them.
    ///
    /// # Panics
    /// If `out` is too short.
    #[inline]
    pub fn write_to(&self, before: [u8; 8], out: &mut [u8]) {
        let (start, rest) = out.split_first_chunk_mut().expect("`out` has space for `before`");
        *start = before;
        self.prefix.write_to(rest);
        let mut at = self.prefix.len();
        let suffix = self.item.suffix();
        for part in suffix.parts().into_iter().chain([self.value()]) {
            rest[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
    }
}

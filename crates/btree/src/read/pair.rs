//! A pair that a scan emits.

use crate::node::in_node::InNode;
use crate::node::item::{HEADER_BYTES, Item};

/// A pair that a scan found.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    pub(crate) prefix: InNode<'a>,
    pub(crate) item: Item<'a>,
    /// The value, unless it is the item's: one that is out of line, or an empty one if only keys were asked
    /// for.
    pub(crate) separate_value: Option<&'a [u8]>,
}

impl<'a> Pair<'a> {
    /// Bytes of the key.
    #[must_use]
    #[inline]
    pub fn key_len(&self) -> usize {
        self.prefix.len() + self.item.header.suffix_bytes()
    }

    /// Bytes of the value.
    #[must_use]
    #[inline]
    pub fn value_len(&self) -> usize {
        self.separate_value.map_or(self.item.header.value_bytes(), <[u8]>::len)
    }

    /// The value; empty if only keys were asked for.
    #[must_use]
    #[inline]
    pub fn value(&self) -> &'a [u8] {
        self.separate_value.unwrap_or_else(|| self.item.value())
    }

    /// Appends the key.
    pub fn copy_key_into(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.prefix.bytes());
        out.extend_from_slice(self.item.suffix());
    }

    /// Writes `before`, the key and then the value to the start of `out`. If there is more room, what is
    /// there may change.
    ///
    /// # Panics
    /// If there is less.
    #[inline]
    pub fn write_to(&self, before: [u8; 8], out: &mut [u8]) {
        let (start, rest) = out.split_first_chunk_mut().expect("room for what stands before the pair");
        *start = before;
        self.prefix.write_to(rest);
        let rest = &mut rest[self.prefix.len()..];
        match self.separate_value {
            // Suffix and value stand together.
            None => self.item.after_header(self.item.bytes.len() - HEADER_BYTES).write_to(rest),
            Some(value) => {
                let (suffix, rest) = rest.split_at_mut(self.item.header.suffix_bytes());
                suffix.copy_from_slice(self.item.suffix());
                rest[..value.len()].copy_from_slice(value);
            }
        }
    }
}

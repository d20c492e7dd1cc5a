//! The values of adjacent pairs of a leaf with a stride, where they are. A reduction over many pairs reads
//! only these, without a visit of each pair.

use crate::node::suffix::HEAD_BYTES;
use crate::read::run::PairRun;

/// Values of one length at equal distances, in the order of their keys.
#[derive(Debug, Clone, Copy)]
pub struct ValueRun<'a> {
    /// From the first value up to the end of the last one.
    bytes: &'a [u8],
    stride_bytes: usize,
    value_bytes: usize,
    count: usize,
}

impl<'a> ValueRun<'a> {
    /// Returns the number of values, at least one.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a run is never empty")]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Iterates over the values.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let Self { bytes, stride_bytes, value_bytes, count } = *self;
        (0..count).map(move |index| &bytes[index * stride_bytes..][..value_bytes])
    }
}

impl<'a> PairRun<'a> {
    /// Consumes at most `pairs` pairs and returns their values. `None`, and consumes nothing, if the leaf has
    /// no stride, or there is no pair to consume.
    #[inline]
    pub fn take_values(&mut self, pairs: usize) -> Option<ValueRun<'a>> {
        let (columns, items) = self.next_items(pairs);
        let count = items.len();
        if count == 0 {
            return None;
        }
        let (header, stride_bytes, bytes) = columns.equal_items(items)?.into_parts();
        let start = header.suffix_bytes().saturating_sub(HEAD_BYTES);
        let end = start + (count - 1) * stride_bytes + header.value_bytes();
        self.consume(count);
        Some(ValueRun { bytes: &bytes[start..end], stride_bytes, value_bytes: header.value_bytes(), count })
    }
}

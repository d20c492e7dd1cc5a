//! The values of adjacent pairs of a leaf with a stride, where they are. A reduction over many pairs reads
//! only these, without a visit of each pair.

use crate::node::suffix::bytes_after_head;
use crate::read::run::PairRun;

/// Values of one length at equal distances, in the order of their keys.
#[derive(Debug, Clone, Copy)]
pub struct ValueRun<'a> {
    /// From the first value up to the end of the last one.
    pub bytes: &'a [u8],
    /// The distance from the beginning of a value to that of the next one.
    pub stride_bytes: usize,
    /// The length of each value in bytes.
    pub value_bytes: usize,
    /// Number of values, at least one.
    pub count: usize,
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
        let start = bytes_after_head(header.suffix_bytes());
        let end = start + (count - 1) * stride_bytes + header.value_bytes();
        self.consume(count);
        Some(ValueRun { bytes: &bytes[start..end], stride_bytes, value_bytes: header.value_bytes(), count })
    }
}

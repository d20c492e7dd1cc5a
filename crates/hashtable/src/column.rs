//! Values of one length at equal distances, as a leaf with a stride has them. Functions on a field of all of
//! them are loops without other work between two values.

/// Values of one length at equal distances, in the order of their keys.
#[derive(Debug, Clone, Copy)]
pub struct ValueColumn<'v> {
    /// From the first value up to the end of the last one.
    bytes: &'v [u8],
    stride_bytes: usize,
    value_bytes: usize,
    count: usize,
}

/// Values of a column that a condition compares at once: one bit for each.
const SELECTION: usize = u64::BITS as usize;

impl<'v> ValueColumn<'v> {
    /// Returns the column of `count` values of `value_bytes` bytes each: the first one is at the beginning of
    /// `bytes`, and each other one `stride_bytes` bytes after the previous one. The last one is at the end.
    ///
    /// # Panics
    /// If there is no value or no stride, values overlap, or `bytes` has another length.
    #[must_use]
    #[inline]
    pub fn new(bytes: &'v [u8], stride_bytes: usize, value_bytes: usize, count: usize) -> Self {
        assert!(count > 0 && stride_bytes > 0 && stride_bytes >= value_bytes);
        assert_eq!(bytes.len(), (count - 1) * stride_bytes + value_bytes);
        Self { bytes, stride_bytes, value_bytes, count }
    }

    /// Returns the number of values, at least one.
    #[must_use]
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a column is never empty")]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Iterates over the values.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &'v [u8]> + use<'v> {
        let column = *self;
        (0..column.count).map(move |index| column.value(index))
    }

    /// Returns the values without their first bytes. `None` if they are shorter.
    #[must_use]
    #[inline]
    pub fn from(&self, offset: usize) -> Option<Self> {
        let value_bytes = self.value_bytes.checked_sub(offset)?;
        Some(Self { bytes: &self.bytes[offset..], value_bytes, ..*self })
    }

    /// Returns whether all values have at least `BYTES` bytes, and the first ones satisfy a predicate.
    #[inline]
    pub fn all_begin<const BYTES: usize>(&self, predicate: impl Fn(&[u8; BYTES]) -> bool) -> bool {
        let satisfies = |field: &[u8]| field.first_chunk().is_some_and(&predicate);
        self.value_bytes >= BYTES && self.fields(0, BYTES).all(satisfies)
    }

    /// Iterates over the bytes of each value from an offset on, followed by any bytes. Empty if the values
    /// have no `field_bytes` bytes there, of which there is at least one.
    #[inline(always)]
    pub(crate) fn fields(
        &self,
        offset: usize,
        field_bytes: usize,
    ) -> impl Iterator<Item = &'v [u8]> + use<'v> {
        let is_field = offset.checked_add(field_bytes).is_some_and(|end| end <= self.value_bytes);
        let bytes = if is_field { &self.bytes[offset..] } else { &[] };
        // The last field may have fewer bytes after it.
        let fields = bytes.chunks_exact(self.stride_bytes);
        let last = fields.remainder();
        fields.chain((!last.is_empty()).then_some(last))
    }

    /// Divides the column into columns of as many values as a selection has bits.
    #[inline]
    pub fn parts(&self) -> impl Iterator<Item = Self> + use<'v> {
        let column = *self;
        (0..column.count).step_by(SELECTION).map(move |start| {
            let count = SELECTION.min(column.count - start);
            let start = start * column.stride_bytes;
            let end = start + (count - 1) * column.stride_bytes + column.value_bytes;
            Self { bytes: &column.bytes[start..end], count, ..column }
        })
    }

    /// Iterates over the values whose bits are set in a selection.
    #[inline]
    pub fn selected(&self, mut selection: u64) -> impl Iterator<Item = &'v [u8]> + use<'v> {
        let column = *self;
        std::iter::from_fn(move || {
            let index = selection.trailing_zeros() as usize;
            selection &= selection.wrapping_sub(1);
            (index < column.count).then(|| column.value(index))
        })
    }

    #[inline]
    fn value(&self, index: usize) -> &'v [u8] {
        &self.bytes[index * self.stride_bytes..][..self.value_bytes]
    }
}

//! The values that the gets of a batch of reads have found, within their limits.

use honeycomb_memory::short_bytes;

/// The concatenated values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Values {
    bytes: Vec<u8>,
    limits: Limits,
}

/// The bytes that values may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Bytes of all results together, but the first one may be longer.
    bytes_max: usize,
    value_bytes_max: usize,
}

/// The result of a get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Absent,
    /// The value, as a range of the values.
    At {
        start: usize,
        end: usize,
    },
    NoRoom,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes_max: usize::MAX, value_bytes_max: usize::MAX }
    }
}

impl Values {
    pub(crate) fn with_limits(bytes_max: usize, value_bytes_max: usize) -> Self {
        Self { bytes: Vec::new(), limits: Limits { bytes_max, value_bytes_max } }
    }

    /// Bytes of the values.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of memory that the values occupy.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    #[inline]
    pub(crate) fn value(&self, start: usize, end: usize) -> &[u8] {
        &self.bytes[start..end]
    }

    /// Removes the values. Keeps the buffer, unless a long value has made it larger than their limit.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        if self.bytes.capacity() > self.limits.bytes_max {
            self.bytes = Vec::new();
        }
    }

    /// The buffer and the limits.
    pub(crate) fn parts(&mut self) -> (&mut Vec<u8>, Limits) {
        (&mut self.bytes, self.limits)
    }

    /// Appends a value if there is room for it beside `used` bytes of other results.
    #[inline]
    pub(crate) fn keep(&mut self, value: &[u8], used: usize) -> Found {
        self.limits.keep(value, &mut self.bytes, used)
    }
}

impl Limits {
    /// Appends a value if there is room for it beside `used` bytes of other results.
    #[inline]
    pub(crate) fn keep(&self, value: &[u8], values: &mut Vec<u8>, used: usize) -> Found {
        let (start, end) = (values.len(), values.len() + value.len());
        if !self.allow(start, end, used) {
            return Found::NoRoom;
        }
        short_bytes::append_with(value, values, |values| self.grow(values, end));
        Found::At { start, end }
    }

    /// Keeps a value that is already at the end of the values, from `start` on, or removes it if there is no
    /// room for it.
    #[inline]
    pub(crate) fn keep_last(&self, start: usize, values: &mut Vec<u8>, used: usize) -> Found {
        let end = values.len();
        if !self.allow(start, end, used) {
            values.truncate(start);
            return Found::NoRoom;
        }
        Found::At { start, end }
    }

    /// Whether a value may be at this place, beside `used` bytes of other results.
    #[inline]
    fn allow(&self, start: usize, end: usize, used: usize) -> bool {
        (used + end <= self.bytes_max || used + start == 0) && end - start <= self.value_bytes_max
    }

    /// Doubles the capacity up to the limit.
    #[cold]
    fn grow(&self, values: &mut Vec<u8>, needed: usize) {
        let doubled = (2 * values.capacity()).min(self.bytes_max);
        values.reserve_exact(doubled.max(needed) - values.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_room_up_to_their_limits() {
        let mut values = Values::with_limits(100, 60);
        assert_eq!(values.keep(&[1; 61], 0), Found::NoRoom, "too long alone");
        assert_eq!(values.keep(&[1; 60], 0), Found::At { start: 0, end: 60 });
        assert_eq!(values.keep(&[1; 41], 0), Found::NoRoom, "too long together");
        assert_eq!(values.keep(&[1; 40], 0), Found::At { start: 60, end: 100 });
        assert_eq!(values.keep(&[], 0), Found::At { start: 100, end: 100 });
        assert_eq!(values.memory_bytes(), 100);
    }

    #[test]
    fn appended_values_are_removed_beyond_the_limits() {
        let mut values = Values::with_limits(100, 60);
        for (length, kept) in [(61, false), (60, true), (41, false), (40, true), (1, false)] {
            let start = values.bytes();
            let (bytes, limits) = values.parts();
            bytes.resize(start + length, 1);
            let found = if kept { Found::At { start, end: start + length } } else { Found::NoRoom };
            assert_eq!(limits.keep_last(start, bytes, 0), found);
            assert_eq!(values.bytes(), if kept { start + length } else { start });
        }
    }

    #[test]
    fn the_first_value_may_exceed_the_total() {
        let mut values = Values::with_limits(100, 1000);
        assert_eq!(values.keep(&[1; 101], 0), Found::At { start: 0, end: 101 });
        assert_eq!(values.keep(&[1; 1], 0), Found::NoRoom);
    }

    #[test]
    fn other_results_count_towards_the_total() {
        let mut values = Values::with_limits(100, 1000);
        assert_eq!(values.keep(&[1; 61], 40), Found::NoRoom, "it is not the first result");
        assert_eq!(values.keep(&[1; 60], 40), Found::At { start: 0, end: 60 });
    }
}

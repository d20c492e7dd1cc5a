//! Gets of a batch of reads from ordered tables, of the newest version.

use honeycomb_accelerator::{DirectReader, Get};

use crate::error::Error;
use crate::lanes::check;

/// Gets in the order of their addition, and their values.
#[derive(Debug, Clone, Default)]
pub(crate) struct OrderedGets {
    gets: Vec<OrderedGet>,
    /// The concatenated keys.
    keys: Vec<u8>,
    /// The concatenated values.
    values: Vec<u8>,
    limits: Limits,
}

#[derive(Debug, Clone, Copy)]
struct OrderedGet {
    /// The position of the read in its batch.
    read: usize,
    /// The number of the table.
    table: u16,
    key_start: usize,
    key_end: usize,
}

/// The bytes that values may have.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Bytes of all values together, but the first one may be longer.
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

impl OrderedGets {
    pub(crate) fn with_limits(bytes_max: usize, value_bytes_max: usize) -> Self {
        Self { limits: Limits { bytes_max, value_bytes_max }, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.gets.is_empty()
    }

    /// Bytes of the values.
    pub(crate) fn bytes(&self) -> usize {
        self.values.len()
    }

    /// Bytes of memory that the values occupy.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.values.capacity()
    }

    #[inline]
    pub(crate) fn value(&self, start: usize, end: usize) -> &[u8] {
        &self.values[start..end]
    }

    /// Removes all gets and keeps the buffers.
    pub(crate) fn clear(&mut self) {
        self.gets.clear();
        self.keys.clear();
    }

    /// Removes the values. Keeps the buffer, unless a long value has made it larger than their limit.
    pub(crate) fn clear_values(&mut self) {
        self.values.clear();
        if self.values.capacity() > self.limits.bytes_max {
            self.values = Vec::new();
        }
    }

    /// Adds a get for the read at a position. The key has a valid length.
    #[inline]
    pub(crate) fn push(&mut self, table: u16, read: usize, key: &[u8]) {
        let key_start = self.keys.len();
        self.keys.extend_from_slice(key);
        self.gets.push(OrderedGet { read, table, key_start, key_end: self.keys.len() });
    }

    /// Iterates over the gets, each with its position in the batch.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, Get<'_>)> {
        self.gets.iter().map(|get| (get.read, get.of(&self.keys)))
    }

    /// Executes all gets, and passes each read with its result to `done`. Other results occupy `used` bytes
    /// of their limit.
    pub(crate) fn run(
        &mut self,
        reader: &DirectReader<'_>,
        used: usize,
        mut done: impl FnMut(usize, Found),
    ) -> Result<(), Error> {
        let Self { gets, keys, values, limits } = self;
        let keep = |index: usize, found: Option<(&[u8], _)>| {
            let found = found.map_or(Found::Absent, |(value, _)| limits.keep(value, values, used));
            done(gets[index].read, found);
        };
        reader.get_each(gets.iter().map(|get| get.of(keys)), keep).or_else(check)
    }
}

impl OrderedGet {
    #[inline]
    fn of<'k>(&self, keys: &'k [u8]) -> Get<'k> {
        Get { table: self.table, key: &keys[self.key_start..self.key_end] }
    }
}

impl Limits {
    /// Appends a value if there is room for it beside `used` bytes of other results.
    #[inline]
    fn keep(&self, value: &[u8], values: &mut Vec<u8>, used: usize) -> Found {
        let (start, end) = (values.len(), values.len() + value.len());
        let is_first = used + start == 0;
        if used + end > self.bytes_max && !is_first || value.len() > self.value_bytes_max {
            return Found::NoRoom;
        }
        if end > values.capacity() {
            self.grow(values, end);
        }
        values.extend_from_slice(value);
        Found::At { start, end }
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
        let limits = Limits { bytes_max: 100, value_bytes_max: 60 };
        let mut values = Vec::new();
        assert_eq!(limits.keep(&[1; 61], &mut values, 0), Found::NoRoom, "too long alone");
        assert_eq!(limits.keep(&[1; 60], &mut values, 0), Found::At { start: 0, end: 60 });
        assert_eq!(limits.keep(&[1; 41], &mut values, 0), Found::NoRoom, "too long together");
        assert_eq!(limits.keep(&[1; 40], &mut values, 0), Found::At { start: 60, end: 100 });
        assert_eq!(limits.keep(&[], &mut values, 0), Found::At { start: 100, end: 100 });
        assert_eq!(values.capacity(), 100);
    }

    #[test]
    fn the_first_value_may_exceed_the_total() {
        let limits = Limits { bytes_max: 100, value_bytes_max: 1000 };
        let mut values = Vec::new();
        assert_eq!(limits.keep(&[1; 101], &mut values, 0), Found::At { start: 0, end: 101 });
        assert_eq!(limits.keep(&[1; 1], &mut values, 0), Found::NoRoom);
    }

    #[test]
    fn other_results_count_towards_the_total() {
        let limits = Limits { bytes_max: 100, value_bytes_max: 1000 };
        let mut values = Vec::new();
        assert_eq!(limits.keep(&[1; 61], &mut values, 40), Found::NoRoom, "it is not the first result");
        assert_eq!(limits.keep(&[1; 60], &mut values, 40), Found::At { start: 0, end: 60 });
    }
}

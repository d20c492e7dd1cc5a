//! Gets of a batch of reads from ordered tables, of the newest version.

use honeycomb_accelerator::{DirectGets, Get};

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
pub(crate) struct OrderedGet {
    /// The position of the read in its batch.
    pub(crate) read: usize,
    /// The number of the table.
    pub(crate) table: u16,
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

    /// Removes all gets, and passes each to `take` with its key.
    pub(crate) fn drain(
        &mut self,
        mut take: impl FnMut(OrderedGet, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Self { gets, keys, .. } = self;
        gets.drain(..).try_for_each(|get| take(get, &keys[get.key_start..get.key_end]))?;
        keys.clear();
        Ok(())
    }

    /// Executes all gets at one version, and passes each read with its result to `done`.
    pub(crate) fn run(
        &mut self,
        executor: &dyn DirectGets,
        mut done: impl FnMut(usize, Found),
    ) -> Result<(), Error> {
        let Self { gets, keys, values, limits } = self;
        let get_of = |get: &OrderedGet| Get { table: get.table, key: &keys[get.key_start..get.key_end] };
        let mut keep = |index: usize, found: Option<(&[u8], _)>| {
            let found = found.map_or(Found::Absent, |(value, _)| limits.keep(value, values));
            done(gets[index].read, found);
        };
        executor.get_each(&mut gets.iter().map(get_of), &mut keep).or_else(check)
    }
}

impl Limits {
    /// Appends a value if there is room for it.
    #[inline]
    fn keep(&self, value: &[u8], values: &mut Vec<u8>) -> Found {
        let (start, end) = (values.len(), values.len() + value.len());
        if end > self.bytes_max && start > 0 || value.len() > self.value_bytes_max {
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
        assert_eq!(limits.keep(&[1; 61], &mut values), Found::NoRoom, "too long alone");
        assert_eq!(limits.keep(&[1; 60], &mut values), Found::At { start: 0, end: 60 });
        assert_eq!(limits.keep(&[1; 41], &mut values), Found::NoRoom, "too long together");
        assert_eq!(limits.keep(&[1; 40], &mut values), Found::At { start: 60, end: 100 });
        assert_eq!(limits.keep(&[], &mut values), Found::At { start: 100, end: 100 });
        assert_eq!(values.capacity(), 100);
    }

    #[test]
    fn the_first_value_may_exceed_the_total() {
        let limits = Limits { bytes_max: 100, value_bytes_max: 1000 };
        let mut values = Vec::new();
        assert_eq!(limits.keep(&[1; 101], &mut values), Found::At { start: 0, end: 101 });
        assert_eq!(limits.keep(&[1; 1], &mut values), Found::NoRoom);
    }
}

//! Gets of a batch of reads from ordered tables, of the newest version.

use honeycomb_accelerator::{DirectGets, Get};

use crate::error::Error;
use crate::lanes::check;

/// Gets that execute in one call.
const TOGETHER: usize = 64;

/// Gets in the order of their addition, and their values.
#[derive(Debug, Clone, Default)]
pub(crate) struct OrderedGets {
    gets: Vec<OrderedGet>,
    /// The concatenated keys.
    keys: Vec<u8>,
    /// The concatenated values.
    values: Vec<u8>,
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

/// The bytes that the values of some gets may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueLimits {
    /// Bytes of all values together, but the first of a batch may be longer.
    pub(crate) bytes_max: usize,
    pub(crate) value_bytes_max: usize,
    /// Whether the batch has no other results.
    pub(crate) may_exceed: bool,
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

impl Default for ValueLimits {
    fn default() -> Self {
        Self { bytes_max: usize::MAX, value_bytes_max: usize::MAX, may_exceed: true }
    }
}

impl OrderedGets {
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

    /// Removes the values. Keeps the buffer, unless a long value has made it larger than `bytes_max`.
    pub(crate) fn clear_values(&mut self, bytes_max: usize) {
        self.values.clear();
        if self.values.capacity() > bytes_max {
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

    /// Executes all gets, and passes each read with its result to `done`.
    pub(crate) fn run(
        &mut self,
        executor: &dyn DirectGets,
        limits: ValueLimits,
        mut done: impl FnMut(usize, Found),
    ) -> Result<(), Error> {
        let Self { gets, keys, values } = self;
        for gets in gets.chunks(TOGETHER) {
            let mut requested = [Get { table: 0, key: &[] }; TOGETHER];
            for (requested, get) in requested.iter_mut().zip(gets) {
                *requested = Get { table: get.table, key: &keys[get.key_start..get.key_end] };
            }
            let mut keep = |index: usize, found: Option<(&[u8], _)>| {
                let found = found.map_or(Found::Absent, |(value, _)| limits.keep(value, values));
                done(gets[index].read, found);
            };
            executor.get_each(&requested[..gets.len()], &mut keep).or_else(check)?;
        }
        Ok(())
    }
}

impl ValueLimits {
    /// Appends a value if there is room for it.
    #[inline]
    fn keep(&self, value: &[u8], values: &mut Vec<u8>) -> Found {
        let (start, end) = (values.len(), values.len() + value.len());
        let is_first = start == 0 && self.may_exceed;
        if end > self.bytes_max && !is_first || value.len() > self.value_bytes_max {
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

    const LIMITS: ValueLimits = ValueLimits { bytes_max: 100, value_bytes_max: 60, may_exceed: true };

    #[test]
    fn values_have_room_up_to_their_limits() {
        let mut values = Vec::new();
        assert_eq!(LIMITS.keep(&[1; 61], &mut values), Found::NoRoom, "too long alone");
        assert_eq!(LIMITS.keep(&[1; 60], &mut values), Found::At { start: 0, end: 60 });
        assert_eq!(LIMITS.keep(&[1; 41], &mut values), Found::NoRoom, "too long together");
        assert_eq!(LIMITS.keep(&[1; 40], &mut values), Found::At { start: 60, end: 100 });
        assert_eq!(LIMITS.keep(&[], &mut values), Found::At { start: 100, end: 100 });
        assert_eq!(values.capacity(), 100);
    }

    #[test]
    fn the_first_value_of_a_batch_may_exceed_the_total() {
        let limits = ValueLimits { value_bytes_max: 1000, ..LIMITS };
        let alone = ValueLimits { may_exceed: false, ..limits };
        assert_eq!(alone.keep(&[1; 101], &mut Vec::new()), Found::NoRoom);
        let mut values = Vec::new();
        assert_eq!(limits.keep(&[1; 101], &mut values), Found::At { start: 0, end: 101 });
        assert_eq!(limits.keep(&[1; 1], &mut values), Found::NoRoom);
    }
}

//! The gets of a batch of reads from unordered tables.

use honeycomb_hashtable::Value;

use super::table::UnorderedTable;
use crate::gets::Gets;
use crate::values::{Found, Values};

/// Gets in the order of their addition.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnorderedGets {
    /// The tables of the gets, each with the index after its last get.
    tables: Vec<(UnorderedTable, usize)>,
    gets: Gets<()>,
}

impl UnorderedGets {
    pub(crate) fn is_empty(&self) -> bool {
        self.gets.is_empty()
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &UnorderedTable> {
        self.tables.iter().map(|(table, _)| table)
    }

    /// Removes all gets and keeps the buffers.
    pub(crate) fn clear(&mut self) {
        self.tables.clear();
        self.gets.clear();
    }

    /// Adds a get for the read at a position. The key has a valid length.
    #[inline(always)]
    pub(crate) fn push(&mut self, table: &UnorderedTable, read: usize, key: &[u8]) {
        self.gets.push((), read, key);
        let end = self.gets.len();
        match self.tables.last_mut() {
            Some((last, last_end)) if last.is_same_as(table) => *last_end = end,
            _ => self.tables.push((table.clone(), end)),
        }
    }

    /// Executes all gets, and passes each read with its result to `done`. Other results occupy `used` bytes
    /// of their limit.
    pub(crate) fn run(&self, values: &mut Values, used: usize, mut done: impl FnMut(usize, Found)) {
        let (bytes, limits) = values.parts();
        let mut first = 0;
        for (table, end) in &self.tables {
            let keys = self.gets.part(first, *end).map(|((), key)| key);
            let keep = |bytes: &mut Vec<u8>, index: usize, value: Option<Value<'_>>| {
                let found = match value {
                    None => Found::Absent,
                    Some(Value::Appended(span)) => limits.keep_last(span.start, bytes, used),
                    Some(Value::Overflow(value)) => limits.keep(value, bytes, used),
                };
                done(self.gets.read(first + index), found);
            };
            table.entry().table.get_each(keys, bytes, keep);
            first = *end;
        }
    }
}

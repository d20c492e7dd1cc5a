//! Gets of a batch of reads from unordered tables.

use honeycomb_hashtable::{Answers, Operation, Outcome, Request};

use super::table::UnorderedTable;
use crate::ordered_gets::Found;

/// Gets that execute together if the values of a batch are limited: their values may exceed the limit.
const LIMITED_GETS: usize = 64;

/// Gets in the order of their addition, and their values.
#[derive(Debug)]
pub(crate) struct UnorderedGets {
    /// The tables of the gets, each with the position after its last get.
    tables: Vec<(UnorderedTable, usize)>,
    gets: Vec<Get>,
    /// The concatenated keys.
    keys: Vec<u8>,
    /// The concatenated values.
    values: Vec<u8>,
    answers: Answers,
    bytes_max: usize,
    value_bytes_max: usize,
}

#[derive(Debug, Clone, Copy)]
struct Get {
    /// The position of the read in its batch.
    read: usize,
    key_end: usize,
}

impl Default for UnorderedGets {
    fn default() -> Self {
        Self::with_limits(usize::MAX, usize::MAX)
    }
}

impl Clone for UnorderedGets {
    fn clone(&self) -> Self {
        let Self { tables, gets, keys, values, answers: _, bytes_max, value_bytes_max } = self;
        Self {
            tables: tables.clone(),
            gets: gets.clone(),
            keys: keys.clone(),
            values: values.clone(),
            ..Self::with_limits(*bytes_max, *value_bytes_max)
        }
    }
}

impl UnorderedGets {
    pub(crate) fn with_limits(bytes_max: usize, value_bytes_max: usize) -> Self {
        Self {
            tables: Vec::new(),
            gets: Vec::new(),
            keys: Vec::new(),
            values: Vec::new(),
            answers: Answers::default(),
            bytes_max,
            value_bytes_max,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.gets.len()
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = &UnorderedTable> {
        self.tables.iter().map(|(table, _)| table)
    }

    /// Bytes of the values.
    pub(crate) fn bytes(&self) -> usize {
        self.values.len()
    }

    /// Bytes of memory that the values occupy.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.values.capacity() + self.answers.capacity()
    }

    pub(crate) fn value(&self, start: usize, end: usize) -> &[u8] {
        &self.values[start..end]
    }

    /// Removes all gets and keeps the buffers.
    pub(crate) fn clear(&mut self) {
        self.tables.clear();
        self.gets.clear();
        self.keys.clear();
        self.values.clear();
    }

    /// Adds a get for the read at a position.
    #[inline]
    pub(crate) fn push(&mut self, table: &UnorderedTable, read: usize, key: &[u8]) {
        self.keys.extend_from_slice(key);
        self.gets.push(Get { read, key_end: self.keys.len() });
        let end = self.gets.len();
        match self.tables.last_mut() {
            Some((last, last_end)) if last.is_same_as(table) => *last_end = end,
            _ => self.tables.push((table.clone(), end)),
        }
    }

    /// Executes all gets, and passes each read with its result to `done`.
    pub(crate) fn run(&mut self, mut done: impl FnMut(usize, Found)) {
        let Self { tables, gets, keys, values, answers, bytes_max, value_bytes_max } = self;
        values.clear();
        // A single get always succeeds.
        let value_bytes_max = if gets.len() == 1 { usize::MAX } else { *value_bytes_max };
        let at_once = if value_bytes_max == usize::MAX { usize::MAX } else { LIMITED_GETS };
        let (mut key_start, mut first) = (0, 0);
        for (table, end) in tables {
            for gets in gets[first..*end].chunks(at_once) {
                if values.len() > *bytes_max {
                    gets.iter().for_each(|get| done(get.read, Found::NoRoom));
                    continue;
                }
                let request = |get: &Get| {
                    let key = &keys[std::mem::replace(&mut key_start, get.key_end)..get.key_end];
                    Request { key, operation: Operation::Get }
                };
                let requests: Vec<_> = gets.iter().map(request).collect();
                // One more byte shows that a value is too long.
                table.get_beginnings(&requests, value_bytes_max.saturating_add(1), answers);
                let start = values.len();
                values.extend_from_slice(answers.bytes());
                for (at, get) in gets.iter().enumerate() {
                    // The key is valid, so the get has not failed.
                    done(
                        get.read,
                        match answers.outcome(at).unwrap_or(Outcome::Absent) {
                            Outcome::Found(span) if span.end - span.start > value_bytes_max => Found::NoRoom,
                            Outcome::Found(span) => {
                                Found::At { start: start + span.start, end: start + span.end }
                            }
                            _ => Found::Absent,
                        },
                    );
                }
            }
            first = *end;
        }
    }
}

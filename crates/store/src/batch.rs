//! Batches: writes to any tables of a store that take effect together or not at all.

use std::ops::Range;

use honeycomb_btree::{BatchOperation, Operation, Version};

use crate::table::Table;

/// Writes to be applied together by [`Store::apply`](crate::Store::apply), at most 65,536.
///
/// Operations on the same key see those before them. One that is refused (an insert of a key that exists, an
/// update of one that is absent, a swap that finds something else, an add to what is no counter) refuses the
/// batch; deleting what is absent does not.
///
/// ```
/// use honeycomb_store::{Batch, BatchOutcome, Config, Store};
///
/// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
/// let (accounts, journal) = (store.table("accounts")?, store.table("journal")?);
/// accounts.put(b"ada", b"7 coins")?;
/// let mut batch = Batch::default();
/// batch.compare_and_swap(&accounts, b"ada", b"7 coins", b"5 coins");
/// batch.insert(&accounts, b"bob", b"2 coins");
/// batch.put(&journal, b"1", b"ada gives bob 2 coins");
/// assert!(matches!(store.apply(&batch)?, BatchOutcome::Applied { .. }));
/// assert!(matches!(store.apply(&batch)?, BatchOutcome::Refused { index: 0, .. }));
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The tables, each once.
    tables: Vec<Table>,
    /// Keys and values, one after the other.
    bytes: Vec<u8>,
    writes: Vec<Write>,
}

#[derive(Debug, Clone)]
struct Write {
    /// The table, by its place in `tables`.
    table: usize,
    key: Range<usize>,
    change: Change,
}

/// An [`Operation`] whose bytes are in the batch.
#[derive(Debug, Clone)]
enum Change {
    Insert(Range<usize>),
    Update(Range<usize>),
    Put(Range<usize>),
    Delete,
    CompareAndSwap { expected: Range<usize>, value: Range<usize> },
    CompareAndDelete { expected: Range<usize> },
    CompareVersionAndSwap { version: Version, value: Range<usize> },
    Add(i64),
}

impl Batch {
    /// Adds a pair; refused if the key exists.
    pub fn insert(&mut self, table: &Table, key: &[u8], value: &[u8]) -> &mut Self {
        let value = self.keep(value);
        self.write(table, key, Change::Insert(value))
    }

    /// Changes a value; refused if the key is absent.
    pub fn update(&mut self, table: &Table, key: &[u8], value: &[u8]) -> &mut Self {
        let value = self.keep(value);
        self.write(table, key, Change::Update(value))
    }

    /// Adds a pair or changes its value.
    pub fn put(&mut self, table: &Table, key: &[u8], value: &[u8]) -> &mut Self {
        let value = self.keep(value);
        self.write(table, key, Change::Put(value))
    }

    /// Removes a pair, if it is there.
    pub fn delete(&mut self, table: &Table, key: &[u8]) -> &mut Self {
        self.write(table, key, Change::Delete)
    }

    /// Changes a value that equals `expected`; refused otherwise.
    pub fn compare_and_swap(
        &mut self,
        table: &Table,
        key: &[u8],
        expected: &[u8],
        value: &[u8],
    ) -> &mut Self {
        let (expected, value) = (self.keep(expected), self.keep(value));
        self.write(table, key, Change::CompareAndSwap { expected, value })
    }

    /// Removes a pair whose value equals `expected`; refused otherwise.
    pub fn compare_and_delete(&mut self, table: &Table, key: &[u8], expected: &[u8]) -> &mut Self {
        let expected = self.keep(expected);
        self.write(table, key, Change::CompareAndDelete { expected })
    }

    /// Changes a value as [`Table::compare_version_and_swap`] does; refused if that is.
    pub fn compare_version_and_swap(
        &mut self,
        table: &Table,
        key: &[u8],
        version: Version,
        value: &[u8],
    ) -> &mut Self {
        let value = self.keep(value);
        self.write(table, key, Change::CompareVersionAndSwap { version, value })
    }

    /// Adds to a counter as [`Table::add`] does; refused if the value is no counter.
    pub fn add(&mut self, table: &Table, key: &[u8], delta: i64) -> &mut Self {
        self.write(table, key, Change::Add(delta))
    }

    /// How many writes it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }

    /// Bytes of their keys and values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Removes all writes, and the handles on their tables.
    pub fn clear(&mut self) {
        self.tables.clear();
        self.bytes.clear();
        self.writes.clear();
    }

    /// The tables that are written to.
    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The table of the write at `index`.
    pub(crate) fn table(&self, index: usize) -> &Table {
        &self.tables[self.writes[index].table]
    }

    /// The writes as trees take them.
    pub(crate) fn operations(&self) -> Vec<BatchOperation<'_>> {
        let operation = |write: &Write| BatchOperation {
            root: self.tables[write.table].root(),
            key: &self.bytes[write.key.clone()],
            operation: self.operation(&write.change),
        };
        self.writes.iter().map(operation).collect()
    }

    fn operation(&self, change: &Change) -> Operation<'_> {
        let bytes = |range: &Range<usize>| &self.bytes[range.clone()];
        match change {
            Change::Insert(value) => Operation::Insert(bytes(value)),
            Change::Update(value) => Operation::Update(bytes(value)),
            Change::Put(value) => Operation::Put(bytes(value)),
            Change::Delete => Operation::Delete,
            Change::CompareAndSwap { expected, value } => {
                Operation::CompareAndSwap { expected: bytes(expected), value: bytes(value) }
            }
            Change::CompareAndDelete { expected } => {
                Operation::CompareAndDelete { expected: bytes(expected) }
            }
            Change::CompareVersionAndSwap { version, value } => {
                Operation::CompareVersionAndSwap { version: *version, value: bytes(value) }
            }
            Change::Add(delta) => Operation::Add(*delta),
        }
    }

    fn write(&mut self, table: &Table, key: &[u8], change: Change) -> &mut Self {
        let known = self.tables.iter().position(|known| known.is_same_as(table));
        let table = known.unwrap_or_else(|| {
            self.tables.push(table.clone());
            self.tables.len() - 1
        });
        let key = self.keep(key);
        self.writes.push(Write { table, key, change });
        self
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }
}

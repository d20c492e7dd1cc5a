//! Batches: writes to any tables of a store that take effect together or not at all.

use std::ops::{Bound, Range, RangeBounds};

use honeycomb_btree::{BatchEntry, BatchOperation, Operation, TreeRange, Version};

use crate::error::Error;
use crate::range::{self, Bounds};
use crate::table::Table;

/// Writes to be applied together by [`Store::apply`](crate::Store::apply), and conditions on ranges that must
/// hold then: at most 1,048,576 entries.
///
/// Operations on the same key see those before them. One that is refused (an insert of a key that exists, an
/// update of one that is absent, a swap that finds something else, an add to what is no counter) refuses the
/// batch, and so does a range that is not [unchanged](Batch::unchanged); deleting what is absent does not.
///
/// What a batch costs grows with its length and no faster: each operation takes about the time of a
/// single write. Until it is applied it takes up to 500 bytes of memory for each entry, beside the keys
/// and values, and in the arena a second buffer for each leaf whose log it fills. It holds the locks of
/// all leaves that it writes to, so writes of others to these leaves wait for the end of it: up to
/// seconds if it has a million entries. Reads do not wait.
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
    entries: Vec<Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    /// The table, by its place in `tables`.
    table: usize,
    part: Part,
}

/// A [`BatchEntry`] whose bytes are in the batch.
#[derive(Debug, Clone)]
enum Part {
    Write { key: Range<usize>, change: Change },
    Unchanged { keys: KeyRange, since: Version },
    DeleteRange(KeyRange),
}

/// Bounds whose bytes are in the batch.
type KeyRange = (Bound<Range<usize>>, Bound<Range<usize>>);

/// A range that no key can be in.
const NO_KEY: Bounds<'static> = (Bound::Excluded(&[]), Bound::Excluded(&[]));

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

    /// Refuses the batch unless no pair with a key in the range was inserted, updated or deleted after
    /// version `since`, as [`Snapshot::version`](crate::Snapshot::version) tells it. What was read of the
    /// range at that version is then what is there when the batch is applied, pairs that are absent included:
    /// "read a range, then write" becomes one atomic step. The writes of the batch itself do not count.
    ///
    /// A batch may be refused although nothing in the range was written, if what was written beside it has
    /// rebuilt a leaf of the range: read again and try again. It is never applied after a change. All leaves
    /// of the range are locked until the batch is applied, so writes to them wait.
    ///
    /// ```
    /// use honeycomb_store::{Batch, BatchOutcome, Config, Outcome, Store};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let guests = store.table("guests")?;
    /// guests.put(b"table 7: ada", b"")?;
    ///
    /// // At most two guests at a table.
    /// let snapshot = store.snapshot()?;
    /// assert!(snapshot.iter(&guests, "table 7".."table 8")?.count() < 2);
    /// let mut batch = Batch::default();
    /// batch.unchanged(&guests, "table 7".."table 8", snapshot.version());
    /// batch.put(&guests, b"table 7: cyd", b"");
    ///
    /// guests.put(b"table 7: bob", b"")?;
    /// let refused = store.apply(&batch)?;
    /// assert!(matches!(refused, BatchOutcome::Refused { index: 0, outcome: Outcome::Changed { .. } }));
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    pub fn unchanged<'k, K: AsRef<[u8]> + ?Sized + 'k>(
        &mut self,
        table: &Table,
        range: impl RangeBounds<&'k K>,
        since: Version,
    ) -> &mut Self {
        let keys = self.keep_range(table, range::bounds(&range));
        self.push(table, Part::Unchanged { keys, since })
    }

    /// Removes every pair with a key in the range, those that the batch has written before included.
    ///
    /// ```
    /// use honeycomb_store::{Batch, BatchOutcome, Config, Outcome, Store};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let days = store.table("days")?;
    /// days.put(b"2024-12-31", b"old")?;
    /// let mut batch = Batch::default();
    /// batch.delete_range(&days, .."2025").put(&days, b"2024", b"gone");
    /// let BatchOutcome::Applied { outcomes, .. } = store.apply(&batch)? else { panic!() };
    /// assert_eq!(outcomes, [Outcome::RangeDeleted { pairs: 1 }, Outcome::Inserted]);
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    pub fn delete_range<'k, K: AsRef<[u8]> + ?Sized + 'k>(
        &mut self,
        table: &Table,
        range: impl RangeBounds<&'k K>,
    ) -> &mut Self {
        let keys = self.keep_range(table, range::bounds(&range));
        self.push(table, Part::DeleteRange(keys))
    }

    /// How many entries it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of their keys and values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Removes all entries, and the handles on their tables.
    pub fn clear(&mut self) {
        self.tables.clear();
        self.bytes.clear();
        self.entries.clear();
    }

    /// The tables that it concerns.
    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The table of the entry at `index`.
    pub(crate) fn table(&self, index: usize) -> &Table {
        &self.tables[self.entries[index].table]
    }

    /// Whether it removes pairs and writes none, so that it makes room.
    pub(crate) fn only_removes(&self) -> bool {
        let writes = |part: &Part| match part {
            Part::Write { change, .. } => !matches!(change, Change::Delete | Change::CompareAndDelete { .. }),
            Part::Unchanged { .. } | Part::DeleteRange(_) => false,
        };
        !self.entries.iter().any(|entry| writes(&entry.part))
    }

    /// The entries as trees take them.
    pub(crate) fn entries(&self) -> Vec<BatchEntry<'_>> {
        self.entries.iter().map(|entry| self.entry(entry)).collect()
    }

    /// The entries, if all are writes to single keys.
    pub(crate) fn operations(&self) -> Result<Vec<BatchOperation<'_>>, Error> {
        let mut operations = Vec::with_capacity(self.entries.len());
        for (index, Entry { table, part }) in self.entries.iter().enumerate() {
            let Part::Write { key, change } = part else { return Err(Error::NotOneWrite { entry: index }) };
            operations.push(self.single(*table, key, change));
        }
        Ok(operations)
    }

    #[inline]
    fn single(&self, table: usize, key: &Range<usize>, change: &Change) -> BatchOperation<'_> {
        let (root, key) = (self.tables[table].root(), &self.bytes[key.clone()]);
        BatchOperation { root, key, operation: self.operation(change) }
    }

    fn entry(&self, Entry { table, part }: &Entry) -> BatchEntry<'_> {
        let root = self.tables[*table].root();
        let bound = |bound: &Bound<Range<usize>>| bound.as_ref().map(|key| &self.bytes[key.clone()]);
        let range = |(lower, upper): &KeyRange| TreeRange { root, lower: bound(lower), upper: bound(upper) };
        match part {
            Part::Write { key, change } => BatchEntry::Write(self.single(*table, key, change)),
            Part::Unchanged { keys, since } => BatchEntry::Unchanged { range: range(keys), since: *since },
            Part::DeleteRange(keys) => BatchEntry::DeleteRange(range(keys)),
        }
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
        let key = self.keep(key);
        self.push(table, Part::Write { key, change })
    }

    // Inlined, as a part is many words.
    #[inline(always)]
    fn push(&mut self, table: &Table, part: Part) -> &mut Self {
        let known = self.tables.iter().position(|known| known.is_same_as(table));
        let table = known.unwrap_or_else(|| {
            self.tables.push(table.clone());
            self.tables.len() - 1
        });
        self.entries.push(Entry { table, part });
        self
    }

    fn keep_range(&mut self, table: &Table, bounds: Bounds<'_>) -> KeyRange {
        let (lower, upper) = range::allowed(bounds, false, table.key_bytes_max()).unwrap_or(NO_KEY);
        (lower.map(|key| self.keep(key)), upper.map(|key| self.keep(key)))
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }
}

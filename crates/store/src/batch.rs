//! Batches: writes to any tables of a store that take effect together or not at all.

use std::ops::{Bound, Range, RangeBounds};

use honeycomb_btree::{BatchEntry, BatchOperation, Operation, Outcome, TreeRange, Version};
use honeycomb_memory::short_bytes;

use crate::error::Error;
use crate::range::{self, Bounds};
use crate::table::Table;
use crate::table_handle::{TableHandle, TableRef};
use crate::table_list::TableList;
use crate::unordered::table::UnorderedTable;
use crate::value_update::{FunctionForm, ValueUpdate};

/// Writes that [`Store::apply`](crate::Store::apply) applies atomically, and conditions on ranges that it
/// checks at the same moment: at most 1,048,576 entries.
///
/// An operation sees the effects of the operations before it in the batch. An operation that is rejected
/// causes the whole batch to be rejected: an insert of an existing key, an update of an absent key, a swap
/// that finds another value, an add to a value that is not a counter. So does a range that is not
/// [unchanged](Batch::unchanged). A delete of an absent key is not rejected.
///
/// The cost of a batch is linear in its length: each operation takes about the time of a single write. Until
/// the batch is applied it occupies up to 500 bytes per entry in addition to the keys and values. While it is
/// applied it needs a second buffer in the arena for each leaf whose log block overflows. It locks all leaves
/// that it writes to until its end, so other writes to these leaves wait: up to seconds for a million
/// entries. Reads of ordered tables do not wait.
///
/// Entries may be for unordered tables as well, if they are inserts, updates, puts, deletes, additions or
/// depend on the value, or updates with functions. Until the batch is applied, other operations on the keys
/// of its stripes of these tables wait, gets included.
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
/// assert!(matches!(store.apply(&batch)?, BatchOutcome::Rejected { index: 0, .. }));
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The tables of the entries.
    tables: TableList,
    /// The concatenated keys and values.
    bytes: Vec<u8>,
    entries: Vec<StoredEntry>,
    functions: Vec<ValueUpdate>,
}

#[derive(Debug, Clone)]
struct StoredEntry {
    /// Its place in `tables`.
    table: usize,
    action: StoredAction,
}

/// A [`BatchEntry`] whose bytes are in `Batch::bytes`.
#[derive(Debug, Clone)]
enum StoredAction {
    Write { key: Range<usize>, operation: StoredOperation },
    Unchanged { keys: KeyRange, since: Version },
    DeleteRange(KeyRange),
}

/// Bounds whose bytes are in `Batch::bytes`.
type KeyRange = (Bound<Range<usize>>, Bound<Range<usize>>);

/// An empty range.
const NO_KEY: Bounds<'static> = (Bound::Excluded(&[]), Bound::Excluded(&[]));

/// An [`Operation`] whose bytes are in `Batch::bytes`.
#[derive(Debug, Clone)]
enum StoredOperation {
    Insert(Range<usize>),
    Update(Range<usize>),
    Put(Range<usize>),
    Delete,
    CompareAndSwap {
        expected: Range<usize>,
        value: Range<usize>,
    },
    CompareAndDelete {
        expected: Range<usize>,
    },
    CompareVersionAndSwap {
        version: Version,
        value: Range<usize>,
    },
    Add(i64),
    /// Index into `Batch::functions`.
    Function(usize),
}

/// A write to an unordered table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum UnorderedWrite<'b> {
    /// An operation that ordered tables have as well.
    Plain(Operation<'b>),
    /// An update with a function.
    Function(&'b ValueUpdate),
}

impl Batch {
    /// Inserts a pair. Rejected if the key exists.
    pub fn insert<'t>(&mut self, table: impl Into<TableRef<'t>>, key: &[u8], value: &[u8]) -> &mut Self {
        let value = self.append(value);
        self.write(table, key, StoredOperation::Insert(value))
    }

    /// Replaces a value. Rejected if the key is absent.
    pub fn update<'t>(&mut self, table: impl Into<TableRef<'t>>, key: &[u8], value: &[u8]) -> &mut Self {
        let value = self.append(value);
        self.write(table, key, StoredOperation::Update(value))
    }

    /// Inserts a pair or replaces its value.
    pub fn put<'t>(&mut self, table: impl Into<TableRef<'t>>, key: &[u8], value: &[u8]) -> &mut Self {
        self.put_parts(table, key, [value])
    }

    /// Like [`Batch::put`], with a value in parts that the batch concatenates.
    pub fn put_parts<'t, const N: usize>(
        &mut self,
        table: impl Into<TableRef<'t>>,
        key: &[u8],
        value: [&[u8]; N],
    ) -> &mut Self {
        let start = self.bytes.len();
        value.iter().for_each(|part| short_bytes::append(part, &mut self.bytes));
        self.write(table, key, StoredOperation::Put(start..self.bytes.len()))
    }

    /// Deletes a pair, if the key exists.
    pub fn delete<'t>(&mut self, table: impl Into<TableRef<'t>>, key: &[u8]) -> &mut Self {
        self.write(table, key, StoredOperation::Delete)
    }

    /// Replaces a value that equals `expected`. Rejected otherwise.
    pub fn compare_and_swap<'t>(
        &mut self,
        table: impl Into<TableRef<'t>>,
        key: &[u8],
        expected: &[u8],
        value: &[u8],
    ) -> &mut Self {
        let (expected, value) = (self.append(expected), self.append(value));
        self.write(table, key, StoredOperation::CompareAndSwap { expected, value })
    }

    /// Deletes a pair whose value equals `expected`. Rejected otherwise.
    pub fn compare_and_delete<'t>(
        &mut self,
        table: impl Into<TableRef<'t>>,
        key: &[u8],
        expected: &[u8],
    ) -> &mut Self {
        let expected = self.append(expected);
        self.write(table, key, StoredOperation::CompareAndDelete { expected })
    }

    /// Replaces a value as [`Table::compare_version_and_swap`] does. Rejected on a mismatch. The batch fails
    /// with [`Error::MvccOff`](crate::Error::MvccOff) if the store has no versions.
    pub fn compare_version_and_swap(
        &mut self,
        table: &Table,
        key: &[u8],
        version: Version,
        value: &[u8],
    ) -> &mut Self {
        let value = self.append(value);
        self.write(table, key, StoredOperation::CompareVersionAndSwap { version, value })
    }

    /// Adds to a counter as [`Table::add`] does. Rejected if the value is not a counter.
    pub fn add<'t>(&mut self, table: impl Into<TableRef<'t>>, key: &[u8], delta: i64) -> &mut Self {
        self.write(table, key, StoredOperation::Add(delta))
    }

    /// Applies a function as [`Table::update_scalar`] does. The outcome is [`Outcome::Original`]. Rejected if
    /// the key is absent or the value is not one element.
    pub fn update_scalar<'t>(
        &mut self,
        table: impl Into<TableRef<'t>>,
        key: &[u8],
        function: u32,
        operands: &[u8],
    ) -> &mut Self {
        self.apply(table.into(), key, (FunctionForm::Scalar, function), operands)
    }

    /// Applies a function as [`Table::update_vector_with_scalar`] does. The outcome is [`Outcome::Original`].
    /// Rejected if the key is absent or the value does not consist of elements.
    pub fn update_vector_with_scalar<'t>(
        &mut self,
        table: impl Into<TableRef<'t>>,
        key: &[u8],
        function: u32,
        operands: &[u8],
    ) -> &mut Self {
        self.apply(table.into(), key, (FunctionForm::VectorWithScalar, function), operands)
    }

    /// Applies a function as [`Table::update_vector_with_vector`] does. The outcome is [`Outcome::Original`].
    /// Rejected if the key is absent or the value has another length than the vector.
    pub fn update_vector_with_vector<'t>(
        &mut self,
        table: impl Into<TableRef<'t>>,
        key: &[u8],
        function: u32,
        vector: &[u8],
    ) -> &mut Self {
        self.apply(table.into(), key, (FunctionForm::VectorWithVector, function), vector)
    }

    fn apply(
        &mut self,
        table: TableRef<'_>,
        key: &[u8],
        (form, function): (FunctionForm, u32),
        operands: &[u8],
    ) -> &mut Self {
        let functions = table.state().functions().clone();
        self.functions.push(ValueUpdate { functions, form, function, operands: operands.to_vec() });
        self.write(table, key, StoredOperation::Function(self.functions.len() - 1))
    }

    /// Rejects the batch if a pair with a key in the range was inserted, updated or deleted after version
    /// `since`, which is a [`Snapshot::version`](crate::Snapshot::version). If the batch is applied,
    /// everything that the caller read from the range at that version, including the absence of keys, is
    /// still current. This turns "read a range, then write" into one atomic step. The writes of the batch
    /// itself do not count.
    ///
    /// A batch may be rejected without a write in the range, if other writes rebuilt a leaf of the range:
    /// read and try again. It is never applied after a change. All leaves of the range are locked until the
    /// batch is applied, so writes to them wait.
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
    /// let rejected = store.apply(&batch)?;
    /// assert!(matches!(rejected, BatchOutcome::Rejected { index: 0, outcome: Outcome::Changed { .. } }));
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    pub fn unchanged<'k, K: AsRef<[u8]> + ?Sized + 'k>(
        &mut self,
        table: &Table,
        range: impl RangeBounds<&'k K>,
        since: Version,
    ) -> &mut Self {
        let keys = self.append_range(table, range::bounds(&range));
        self.push(table.into(), StoredAction::Unchanged { keys, since })
    }

    /// Deletes every pair with a key in the range, including pairs that earlier entries of the batch wrote.
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
        let keys = self.append_range(table, range::bounds(&range));
        self.push(table.into(), StoredAction::DeleteRange(keys))
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the total length of the keys, values and operands in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len() + self.functions.iter().map(|update| update.operands.len()).sum::<usize>()
    }

    /// Removes all entries and drops the handles to their tables.
    pub fn clear(&mut self) {
        self.tables.clear();
        self.bytes.clear();
        self.entries.clear();
        self.functions.clear();
    }

    /// The tables that the batch writes to or has conditions on.
    pub(crate) fn tables(&self) -> &[TableHandle] {
        self.tables.handles()
    }

    /// The table of the entry at `index`.
    pub(crate) fn table(&self, index: usize) -> &TableHandle {
        &self.tables.handles()[self.entries[index].table]
    }

    /// Updates the number of pairs of an ordered table after the write at `index`. Unordered tables count
    /// their pairs themselves.
    #[inline]
    pub(crate) fn record(&self, index: usize, outcome: &Outcome) {
        // Without a look at the table of an update, which changes no number.
        if !matches!(outcome, Outcome::Updated)
            && let TableHandle::Ordered(table) = self.table(index)
        {
            table.record(outcome);
        }
    }

    /// Whether an entry is for an unordered table.
    pub(crate) fn has_unordered(&self) -> bool {
        self.tables.handles().iter().any(|table| table.unordered().is_some())
    }

    /// The unordered table, the key and the write of the entry at `index`, if its table is unordered.
    // Inlined into the loop of a batch.
    #[inline(always)]
    pub(crate) fn unordered_write(
        &self,
        index: usize,
    ) -> Option<(&UnorderedTable, &[u8], UnorderedWrite<'_>)> {
        let StoredEntry { table, action } = &self.entries[index];
        let (table, StoredAction::Write { key, operation }) =
            (self.tables.handles()[*table].unordered()?, action)
        else {
            return None;
        };
        let write = match operation {
            StoredOperation::Function(index) => UnorderedWrite::Function(&self.functions[*index]),
            _ => UnorderedWrite::Plain(self.operation(operation)),
        };
        Some((table, &self.bytes[key.clone()], write))
    }

    /// Checks the functions.
    pub(crate) fn check_functions(&self) -> Result<(), Error> {
        self.functions.iter().try_for_each(ValueUpdate::check)
    }

    /// Checks the function of the entry at `index`, if it has one.
    pub(crate) fn check_function(&self, index: usize) -> Result<(), Error> {
        match &self.entries[index].action {
            StoredAction::Write { operation, .. } => self.check_operation(operation),
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn check_operation(&self, operation: &StoredOperation) -> Result<(), Error> {
        match operation {
            StoredOperation::Function(index) => self.functions[*index].check(),
            _ => Ok(()),
        }
    }

    /// Returns whether all writes are deletes, so that the batch frees memory.
    pub(crate) fn only_removes(&self) -> bool {
        let writes = |action: &StoredAction| match action {
            StoredAction::Write { operation, .. } => {
                !matches!(operation, StoredOperation::Delete | StoredOperation::CompareAndDelete { .. })
            }
            StoredAction::Unchanged { .. } | StoredAction::DeleteRange(_) => false,
        };
        !self.entries.iter().any(|entry| writes(&entry.action))
    }

    /// The entries for ordered tables in the form that trees accept.
    pub(crate) fn entries(&self) -> Vec<BatchEntry<'_>> {
        self.entries.iter().filter_map(|entry| self.entry(entry)).collect()
    }

    /// Checks that all entries are writes to single keys.
    pub(crate) fn check_single(&self) -> Result<(), Error> {
        let is_single = |entry: &StoredEntry| matches!(entry.action, StoredAction::Write { .. });
        match self.entries.iter().position(|entry| !is_single(entry)) {
            None => Ok(()),
            Some(entry) => Err(Error::NotSingleWrite { entry }),
        }
    }

    /// The writes to single keys of ordered tables from `index` on, up to the next entry of another kind or
    /// with an invalid function.
    pub(crate) fn operations_from(&self, index: usize) -> Vec<BatchOperation<'_>> {
        let mut operations = Vec::with_capacity(self.entries.len() - index);
        for StoredEntry { table, action } in &self.entries[index..] {
            let StoredAction::Write { key, operation } = action else { break };
            if self.check_operation(operation).is_err() {
                break;
            }
            let Some(operation) = self.single(*table, key, operation) else { break };
            operations.push(operation);
        }
        operations
    }

    #[inline(always)]
    fn single(
        &self,
        table: usize,
        key: &Range<usize>,
        operation: &StoredOperation,
    ) -> Option<BatchOperation<'_>> {
        let (root, key) = (self.tables.handles()[table].root()?, &self.bytes[key.clone()]);
        Some(BatchOperation { root, key, operation: self.operation(operation) })
    }

    fn entry(&self, StoredEntry { table, action }: &StoredEntry) -> Option<BatchEntry<'_>> {
        let root = self.tables.handles()[*table].root()?;
        let bound = |bound: &Bound<Range<usize>>| bound.as_ref().map(|key| &self.bytes[key.clone()]);
        let range = |(lower, upper): &KeyRange| TreeRange { root, lower: bound(lower), upper: bound(upper) };
        Some(match action {
            StoredAction::Write { key, operation } => BatchEntry::Write(self.single(*table, key, operation)?),
            StoredAction::Unchanged { keys, since } => {
                BatchEntry::Unchanged { range: range(keys), since: *since }
            }
            StoredAction::DeleteRange(keys) => BatchEntry::DeleteRange(range(keys)),
        })
    }

    #[inline(always)]
    fn operation(&self, operation: &StoredOperation) -> Operation<'_> {
        let bytes = |range: &Range<usize>| &self.bytes[range.clone()];
        match operation {
            StoredOperation::Insert(value) => Operation::Insert(bytes(value)),
            StoredOperation::Update(value) => Operation::Update(bytes(value)),
            StoredOperation::Put(value) => Operation::Put(bytes(value)),
            StoredOperation::Delete => Operation::Delete,
            StoredOperation::CompareAndSwap { expected, value } => {
                Operation::CompareAndSwap { expected: bytes(expected), value: bytes(value) }
            }
            StoredOperation::CompareAndDelete { expected } => {
                Operation::CompareAndDelete { expected: bytes(expected) }
            }
            StoredOperation::CompareVersionAndSwap { version, value } => {
                Operation::CompareVersionAndSwap { version: *version, value: bytes(value) }
            }
            StoredOperation::Add(delta) => Operation::Add(*delta),
            StoredOperation::Function(index) => Operation::Function(&self.functions[*index]),
        }
    }

    // Inlined because an operation is several machine words long.
    #[inline(always)]
    fn write<'t>(
        &mut self,
        table: impl Into<TableRef<'t>>,
        key: &[u8],
        operation: StoredOperation,
    ) -> &mut Self {
        let key = self.append(key);
        self.push(table.into(), StoredAction::Write { key, operation })
    }

    // Inlined because an action is several machine words long.
    #[inline(always)]
    fn push(&mut self, table: TableRef<'_>, action: StoredAction) -> &mut Self {
        let table = self.tables.place(table);
        self.entries.push(StoredEntry { table, action });
        self
    }

    fn append_range(&mut self, table: &Table, bounds: Bounds<'_>) -> KeyRange {
        let (lower, upper) = range::normalize(bounds, false, table.key_bytes_max()).unwrap_or(NO_KEY);
        (lower.map(|key| self.append(key)), upper.map(|key| self.append(key)))
    }

    #[inline(always)]
    fn append(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        short_bytes::append(bytes, &mut self.bytes);
        start..self.bytes.len()
    }
}

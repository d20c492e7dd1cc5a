//! The handle to an unordered table.

use std::fmt;
use std::sync::Arc;

use honeycomb_hashtable::{Answers, BuiltIn, Element, Operation, Outcome, Request, WalkedPairs};
use honeycomb_layout::{KEY_BYTES_MAX, KEY_BYTES_MIN};

use super::config::UnorderedConfig;
use super::entry::UnorderedEntry;
use crate::error::Error;
use crate::store_state::StoreState;

/// A handle to an unordered table: pairs of a key (1 to 460 bytes) and a value (at most 16 MiB) without
/// order.
///
/// Every operation is linearizable. Handles are cheap to clone and any number of threads can use them. A get
/// takes no lock; it waits while a writer changes the bucket of the key or one of the same stripe, a 1024th
/// of all keys.
///
/// ```
/// use honeycomb_store::unordered::{BuiltIn, Element};
/// use honeycomb_store::{Config, Store, UnorderedConfig};
///
/// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
/// let stock = store.unordered_table("stock", UnorderedConfig::default())?;
/// stock.put(b"apple", &12_u32.to_le_bytes())?;
/// let subtract = BuiltIn::Subtract.number(Element::U32);
/// let before = stock.update_scalar(b"apple", subtract, &5_u32.to_le_bytes())?;
/// assert_eq!(before.as_deref(), Some(&12_u32.to_le_bytes()[..]));
/// assert_eq!(stock.get(b"apple")?.as_deref(), Some(&7_u32.to_le_bytes()[..]));
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Clone)]
pub struct UnorderedTable {
    state: Arc<StoreState>,
    entry: Arc<UnorderedEntry>,
    /// Prevents that the table is dropped.
    _handle: Arc<()>,
}

/// The result of a compare-and-swap or compare-and-delete on an [`UnorderedTable`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the swap may have failed"]
pub enum ValueSwap {
    /// The value was the expected one.
    Swapped,
    /// The key is absent.
    Absent,
    /// The current value, which is not the expected one.
    Mismatch(Vec<u8>),
}

impl UnorderedTable {
    pub(crate) fn new(state: Arc<StoreState>, entry: Arc<UnorderedEntry>) -> Self {
        let handle = entry.handles.clone();
        Self { state, entry, _handle: handle }
    }

    /// Returns the name of the table.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// Returns the parameters with which the table was created.
    #[must_use]
    pub fn config(&self) -> UnorderedConfig {
        self.entry.config()
    }

    /// Returns the number of pairs. The count may or may not include writes in flight.
    #[must_use]
    pub fn pair_count(&self) -> u64 {
        self.entry.pairs()
    }

    /// Returns the bytes that a pair occupies in the arena, by the lengths of its key and its value.
    #[must_use]
    pub fn pair_bytes(&self, key_bytes: usize, value_bytes: usize) -> usize {
        self.entry.table.config().pair_bytes(key_bytes, value_bytes)
    }

    /// Returns the value of a key, or `None` if the key is absent.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut value = Vec::new();
        Ok(self.get_into(key, &mut value)?.then_some(value))
    }

    /// Replaces the contents of `value` with the value of a key. Returns false, with `value` empty, if the
    /// key is absent. Does not allocate if the capacity of `value` suffices.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Error> {
        value.clear();
        Ok(self.read(key, Operation::Get, value)? != Outcome::Absent)
    }

    /// Returns whether a key exists.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        self.get_beginning(key, 0, &mut Vec::new())
    }

    /// Inserts a pair, or replaces the value if the key exists.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ValueLength`], [`Error::OutOfMemory`]; in a durable store also
    /// [`Error::DiskFull`], [`Error::ReadOnly`] and [`Error::NotDurable`].
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.write(key, Operation::Put(value), &mut Vec::new()).map(drop)
    }

    /// Inserts a pair. Returns false, and changes nothing, if the key exists.
    ///
    /// # Errors
    /// The same as for [`UnorderedTable::put`].
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        Ok(self.write(key, Operation::Insert(value), &mut Vec::new())? == Outcome::Inserted)
    }

    /// Replaces the value of an existing key. Returns false, and changes nothing, if the key is absent.
    ///
    /// # Errors
    /// The same as for [`UnorderedTable::put`].
    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        Ok(self.write(key, Operation::Update(value), &mut Vec::new())? == Outcome::Updated)
    }

    /// Deletes a pair. Returns false if the key is absent. It needs no memory, so it succeeds in a full
    /// store.
    ///
    /// # Errors
    /// [`Error::KeyLength`]; in a durable store also [`Error::DiskFull`], [`Error::ReadOnly`] and
    /// [`Error::NotDurable`].
    pub fn delete(&self, key: &[u8]) -> Result<bool, Error> {
        Ok(self.remove(key, Operation::Delete, &mut Vec::new())? == Outcome::Deleted)
    }

    /// Replaces a value that equals `expected`.
    ///
    /// # Errors
    /// The same as for [`UnorderedTable::put`].
    pub fn compare_and_swap(&self, key: &[u8], expected: &[u8], value: &[u8]) -> Result<ValueSwap, Error> {
        let mut current = Vec::new();
        let operation = Operation::CompareAndSwap { expected, value };
        self.write(key, operation, &mut current).map(|outcome| swap(outcome, current))
    }

    /// Deletes a pair whose value equals `expected`.
    ///
    /// # Errors
    /// The same as for [`UnorderedTable::delete`].
    pub fn compare_and_delete(&self, key: &[u8], expected: &[u8]) -> Result<ValueSwap, Error> {
        let mut current = Vec::new();
        let operation = Operation::CompareAndDelete { expected };
        self.remove(key, operation, &mut current).map(|outcome| swap(outcome, current))
    }

    /// Adds `delta` to a counter and returns the new value. A counter is a value of 8 bytes, a little-endian
    /// `u64`. An absent key counts as zero. The sum wraps around at both ends of `u64`.
    ///
    /// # Errors
    /// [`Error::NotCounter`], and the same as for [`UnorderedTable::put`].
    pub fn add(&self, key: &[u8], delta: i64) -> Result<u64, Error> {
        self.add_to(key, delta).map(|(sum, _)| sum)
    }

    /// As [`Table::update_scalar`](crate::Table::update_scalar).
    ///
    /// # Errors
    /// [`Error::Function`], [`Error::NotElements`], and the same as for [`UnorderedTable::put`].
    pub fn update_scalar(
        &self,
        key: &[u8],
        function: u32,
        operands: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        self.change(key, Operation::UpdateScalar { function, operands })
    }

    /// As [`Table::update_vector_with_scalar`](crate::Table::update_vector_with_scalar). Other operations on
    /// the stripe wait for a time in proportion to the value.
    ///
    /// # Errors
    /// The same as for [`UnorderedTable::update_scalar`].
    pub fn update_vector_with_scalar(
        &self,
        key: &[u8],
        function: u32,
        operands: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        self.change(key, Operation::UpdateVectorWithScalar { function, operands })
    }

    /// As [`Table::update_vector_with_vector`](crate::Table::update_vector_with_vector).
    ///
    /// # Errors
    /// The same as for [`UnorderedTable::update_scalar`].
    pub fn update_vector_with_vector(
        &self,
        key: &[u8],
        function: u32,
        vector: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        self.change(key, Operation::UpdateVectorWithVector { function, vector })
    }

    /// As [`Table::reduce`](crate::Table::reduce).
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::Function`], [`Error::NotElements`].
    pub fn reduce(&self, key: &[u8], function: u32, initial: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut result = Vec::new();
        let outcome = self.read(key, Operation::Reduce { function, initial }, &mut result)?;
        found(outcome, result)
    }

    /// As [`Table::filter`](crate::Table::filter).
    ///
    /// # Errors
    /// The same as for [`UnorderedTable::reduce`].
    pub fn filter(&self, key: &[u8], function: u32, operands: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut result = Vec::new();
        let outcome = self.read(key, Operation::Filter { function, operands }, &mut result)?;
        found(outcome, result)
    }

    /// Executes the operations of a batch, with the same answers as if it executed them one by one in their
    /// order. Operations on one key are combined, and the others are interleaved. Each operation is one of
    /// its own: one that finds no room fails alone.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::ReadOnly`]: the batch writes, and the log accepts no writes. `answers`
    /// has the errors of single operations.
    pub fn execute(&self, requests: &[Request<'_>], answers: &mut Answers) -> Result<(), Error> {
        let writes = requests.iter().any(|request| request.operation.writes());
        if writes {
            self.state.prepare_writes(requests.len())?;
        }
        self.entry.table.execute(requests, answers);
        self.state.catch_up();
        if writes { self.state.settle() } else { Ok(()) }
    }

    /// Replaces the contents of `pairs` with some pairs of a walk over the whole table, and returns the
    /// cursor for the next call; 0 at the end. The first cursor is 0, and any number is valid. A call returns
    /// about `count` pairs, fewer in a table with many empty buckets, and at most 256 KiB and one chain.
    ///
    /// The walk returns each pair that exists from its begin to its end exactly once. Other threads may write
    /// meanwhile: it may or may not return pairs that they insert or delete. The pairs are of different
    /// moments.
    ///
    /// ```
    /// use honeycomb_store::unordered::WalkedPairs;
    /// use honeycomb_store::{Config, Store, UnorderedConfig};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let table = store.unordered_table("numbers", UnorderedConfig::default())?;
    /// for number in 0..1000_u32 {
    ///     table.put(&number.to_le_bytes(), b"")?;
    /// }
    /// let (mut pairs, mut cursor, mut count) = (WalkedPairs::default(), 0, 0);
    /// loop {
    ///     cursor = table.walk(cursor, 100, &mut pairs);
    ///     count += pairs.len();
    ///     if cursor == 0 {
    ///         break;
    ///     }
    /// }
    /// assert_eq!(count, 1000);
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    pub fn walk(&self, cursor: u64, count: usize, pairs: &mut WalkedPairs) -> u64 {
        self.walk_beginnings(cursor, count, usize::MAX, pairs)
    }

    /// As [`UnorderedTable::walk`], but copies at most the first `value_bytes_max` bytes of values that are
    /// too long for a slab.
    pub fn walk_beginnings(
        &self,
        cursor: u64,
        count: usize,
        value_bytes_max: usize,
        pairs: &mut WalkedPairs,
    ) -> u64 {
        let next = self.entry.walk(cursor, count, value_bytes_max, pairs);
        self.state.catch_up();
        next
    }

    /// Replaces the contents of `pairs` with those of a random chain of buckets that has pairs, with values
    /// cut as by [`UnorderedTable::walk_beginnings`]. Returns false if the table has no pairs. `draw(n)` must
    /// return a uniformly distributed random number below `n`. The distribution is approximately uniform, but
    /// not in a table that had many more pairs before.
    pub fn sample(
        &self,
        draw: &mut dyn FnMut(usize) -> usize,
        value_bytes_max: usize,
        pairs: &mut WalkedPairs,
    ) -> bool {
        pairs.clear();
        let found = self.entry.table.session().sample(draw, value_bytes_max, pairs);
        self.state.catch_up();
        found
    }

    /// Replaces the contents of `value` with the value of a key, but at most with the first `bytes_max` bytes
    /// of a value that is too long for a slab. Returns whether the key exists.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn get_beginning(&self, key: &[u8], bytes_max: usize, value: &mut Vec<u8>) -> Result<bool, Error> {
        value.clear();
        let found = self.entry.table.get_beginning(key, bytes_max, value)?;
        self.state.catch_up();
        Ok(found)
    }

    /// Deletes all pairs at one moment. Other threads wait for a time that does not depend on their number.
    /// It needs no memory, so it succeeds in a full store.
    /// The memory becomes free in the steps of [`Store::maintain`](crate::Store::maintain), and when a write
    /// needs it.
    ///
    /// ```
    /// use honeycomb_store::{Config, Store, UnorderedConfig};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let table = store.unordered_table("numbers", UnorderedConfig::default())?;
    /// table.put(b"one", b"1")?;
    /// table.clear()?;
    /// assert_eq!((table.pair_count(), table.get(b"one")?), (0, None));
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::ReadOnly`]: the log accepts no writes.
    pub fn clear(&self) -> Result<(), Error> {
        self.state.admit()?;
        self.state.add_cleared(self.entry.table.clear());
        self.state.catch_up();
        self.state.settle()
    }

    /// Returns whether a key has a valid length.
    #[must_use]
    pub fn allows_key(&self, key: &[u8]) -> bool {
        self.check_key(key).is_ok()
    }

    pub(crate) fn check_key(&self, key: &[u8]) -> Result<(), Error> {
        if (KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&key.len()) {
            return Ok(());
        }
        Err(Error::KeyLength { bytes: key.len(), max: KEY_BYTES_MAX })
    }

    pub(crate) fn entry(&self) -> &Arc<UnorderedEntry> {
        &self.entry
    }

    pub(crate) fn check_store(&self, state: &Arc<StoreState>) -> Result<(), Error> {
        state.check_is_same_as(&self.state, self.name())
    }

    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.entry, &other.entry)
    }

    /// Adds to a counter. Returns the sum, and whether the counter was absent.
    pub(crate) fn add_to(&self, key: &[u8], delta: i64) -> Result<(u64, bool), Error> {
        let function = BuiltIn::Add.number(Element::U64);
        let operands = &delta.to_le_bytes();
        loop {
            let mut original = Vec::new();
            let operation = Operation::UpdateScalar { function, operands };
            match self.write(key, operation, &mut original)? {
                Outcome::NotElements { bytes } => return Err(Error::NotCounter { bytes }),
                Outcome::Absent => {}
                _ => {
                    let original = original.try_into().map_or(0, u64::from_le_bytes);
                    return Ok((original.wrapping_add_signed(delta), false));
                }
            }
            // Another thread may insert the counter first.
            if self.insert(key, operands)? {
                return Ok((0_u64.wrapping_add_signed(delta), true));
            }
        }
    }

    /// Executes a write that may take memory. Appends its answer to `out`.
    pub(crate) fn write(
        &self,
        key: &[u8],
        operation: Operation<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, Error> {
        let outcome = self.state.write(|_| self.entry.table.apply(key, operation, out))?;
        self.end_write(outcome)
    }

    /// Executes a write that only frees memory.
    pub(crate) fn remove(
        &self,
        key: &[u8],
        operation: Operation<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, Error> {
        let outcome = self.state.remove(|_| self.entry.table.apply(key, operation, out))?;
        self.end_write(outcome)
    }

    fn end_write(&self, outcome: Outcome) -> Result<Outcome, Error> {
        self.state.catch_up();
        self.state.settle()?;
        Ok(outcome)
    }

    pub(crate) fn state(&self) -> &Arc<StoreState> {
        &self.state
    }

    fn read(&self, key: &[u8], operation: Operation<'_>, out: &mut Vec<u8>) -> Result<Outcome, Error> {
        let outcome = self.entry.table.apply(key, operation, out)?;
        self.state.catch_up();
        Ok(outcome)
    }

    fn change(&self, key: &[u8], operation: Operation<'_>) -> Result<Option<Vec<u8>>, Error> {
        let mut original = Vec::new();
        let outcome = self.write(key, operation, &mut original)?;
        found(outcome, original)
    }
}

fn found(outcome: Outcome, bytes: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
    match outcome {
        Outcome::Absent => Ok(None),
        Outcome::NotElements { bytes } => Err(Error::NotElements { bytes }),
        _ => Ok(Some(bytes)),
    }
}

fn swap(outcome: Outcome, current: Vec<u8>) -> ValueSwap {
    match outcome {
        Outcome::Absent => ValueSwap::Absent,
        Outcome::Mismatch(_) => ValueSwap::Mismatch(current),
        _ => ValueSwap::Swapped,
    }
}

impl fmt::Debug for UnorderedTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("UnorderedTable").field("name", &self.name()).finish_non_exhaustive()
    }
}

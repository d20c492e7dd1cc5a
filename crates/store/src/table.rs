//! Tables: the operations on single pairs, scans and samples.

use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

use honeycomb_btree::{Existing, Operation, Outcome, Root, Version};

use crate::directory::TableEntry;
use crate::error::Error;
use crate::lanes::ReadSource;
use crate::pairs::Pairs;
use crate::range::{self, Bounds};
use crate::scan::Scan;
use crate::store_state::{StoreState, ValuePart};

/// A handle to a table: pairs of a key (1 to 460 bytes) and a value (at most 16 MiB), ordered by key. Keys
/// compare as byte strings.
///
/// Every operation is linearizable: it takes effect at one moment between its call and its return. Handles
/// are cheap to clone and any number of threads can use them.
///
/// ```
/// use honeycomb_store::{Config, Store};
///
/// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
/// let users = store.table("users")?;
/// assert!(users.insert(b"ada", b"1815")?);
/// assert!(!users.insert(b"ada", b"1816")?, "the key exists");
/// assert_eq!(users.get(b"ada")?.as_deref(), Some(&b"1815"[..]));
/// assert_eq!(users.add(b"visits", 2)?, 2);
/// assert!(users.delete(b"ada")?);
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Clone)]
pub struct Table {
    state: Arc<StoreState>,
    entry: Arc<TableEntry>,
}

/// A value together with the version that [`Table::compare_version_and_swap`] expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned {
    /// The value.
    pub value: Vec<u8>,
    /// A version that increases with every change of the pair. It may also increase without a change.
    pub version: Version,
}

/// The result of a compare-and-swap.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the swap may have failed"]
pub enum Swap {
    /// The pair matched the expectation and now has the new value.
    Swapped,
    /// The key is absent.
    Absent,
    /// The pair did not match the expectation. This is its current state.
    Mismatch(Versioned),
}

impl Swap {
    /// Returns whether the value was replaced.
    #[must_use]
    pub fn swapped(&self) -> bool {
        *self == Self::Swapped
    }
}

impl Table {
    pub(crate) fn new(state: Arc<StoreState>, entry: Arc<TableEntry>) -> Self {
        Self { state, entry }
    }

    /// Returns the name of the table.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// Returns the number of pairs. The count may or may not include writes in flight.
    #[must_use]
    pub fn pair_count(&self) -> u64 {
        self.entry.pairs.get()
    }

    /// Returns whether the length of a key is valid: 1 to [`Table::key_bytes_max`] bytes.
    #[must_use]
    pub fn allows_key(&self, key: &[u8]) -> bool {
        self.check_key(key).is_ok()
    }

    /// Returns the length of the longest valid key in bytes, which depends on
    /// [`Config::node_bytes`](crate::Config::node_bytes).
    #[must_use]
    pub fn key_bytes_max(&self) -> usize {
        self.state.key_bytes_max
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
        self.state.get(self.source(), key, |found| append_value(found, value))
    }

    /// Appends at most `length` bytes of a value to `out`, beginning at byte `offset`. Returns the length of
    /// the whole value, or `None` if the key is absent. The time depends on the length of the part, not of
    /// the value; with a `length` of 0 the call returns only the length of the value. To read several parts
    /// of one version of a value, use a [snapshot](crate::Snapshot::get_part).
    ///
    /// ```
    /// use honeycomb_store::{Config, Store};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let table = store.table("books")?;
    /// table.put(b"alphabet", b"abcdefghijklmnopqrstuvwxyz")?;
    /// let mut part = Vec::new();
    /// assert_eq!(table.get_part(b"alphabet", 23, 10, &mut part)?, Some(26));
    /// assert_eq!(part, b"xyz");
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn get_part(
        &self,
        key: &[u8],
        offset: usize,
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, Error> {
        let part = ValuePart { offset, length };
        self.state.get_part(&self.state.forest.reader(), self.root(), key, part, out)
    }

    /// Returns the value of a key and its version, or `None` if the key is absent.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn get_versioned(&self, key: &[u8]) -> Result<Option<Versioned>, Error> {
        let versioned = |(value, version): (&[u8], Version)| Versioned { value: value.to_vec(), version };
        self.state.get(self.source(), key, |found| found.map(versioned))
    }

    /// Returns whether a key exists.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        self.state.get(self.source(), key, |found| found.is_some())
    }

    /// Inserts a pair. Returns false, and changes nothing, if the key exists.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ValueLength`], [`Error::OutOfMemory`]; in a durable store also
    /// [`Error::DiskFull`], [`Error::ReadOnly`] and [`Error::NotDurable`].
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        Ok(self.write(key, Operation::Insert(value))?.wrote())
    }

    /// Replaces the value of an existing key. Returns false, and changes nothing, if the key is absent.
    ///
    /// # Errors
    /// The same as for [`Table::insert`].
    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        Ok(self.write(key, Operation::Update(value))?.wrote())
    }

    /// Inserts a pair, or replaces the value if the key exists.
    ///
    /// # Errors
    /// The same as for [`Table::insert`].
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.write(key, Operation::Put(value)).map(drop)
    }

    /// Deletes a pair. Returns false if the key is absent.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::OutOfMemory`]; in a durable store also [`Error::DiskFull`],
    /// [`Error::ReadOnly`] and [`Error::NotDurable`].
    pub fn delete(&self, key: &[u8]) -> Result<bool, Error> {
        self.remove(key, Operation::Delete)
    }

    /// Deletes a pair whose value equals `expected`. Returns false if the key is absent or has another value.
    ///
    /// # Errors
    /// The same as for [`Table::delete`].
    pub fn compare_and_delete(&self, key: &[u8], expected: &[u8]) -> Result<bool, Error> {
        self.remove(key, Operation::CompareAndDelete { expected })
    }

    /// Replaces a value that equals `expected`.
    ///
    /// # Errors
    /// The same as for [`Table::insert`].
    pub fn compare_and_swap(&self, key: &[u8], expected: &[u8], value: &[u8]) -> Result<Swap, Error> {
        self.write(key, Operation::CompareAndSwap { expected, value }).map(swap)
    }

    /// Replaces the value of a pair that has not changed since [`Table::get_versioned`] returned `version`.
    /// The call can report a mismatch without a change (retry with the returned version), but it never
    /// succeeds after a change.
    ///
    /// # Errors
    /// The same as for [`Table::insert`]; [`Error::MvccOff`] if the store has no versions.
    pub fn compare_version_and_swap(
        &self,
        key: &[u8],
        version: Version,
        value: &[u8],
    ) -> Result<Swap, Error> {
        self.write(key, Operation::CompareVersionAndSwap { version, value }).map(swap)
    }

    /// Adds `delta` to a counter and returns the new value. A counter is a value of 8 bytes, a little-endian
    /// `u64`. An absent key counts as zero. The sum wraps around at both ends of `u64`.
    ///
    /// # Errors
    /// [`Error::NotCounter`], and the same as for [`Table::delete`].
    pub fn add(&self, key: &[u8], delta: i64) -> Result<u64, Error> {
        match self.write(key, Operation::Add(delta))? {
            Outcome::NotCounter { bytes } => Err(Error::NotCounter { bytes }),
            outcome => Ok(outcome.sum().expect("an add returns a sum")),
        }
    }

    /// Deletes every pair with a key in the range, at one moment, and returns the number of deleted pairs.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]: the nodes at the ends of the range are rebuilt. In a durable store also
    /// [`Error::DiskFull`], [`Error::ReadOnly`] and [`Error::NotDurable`].
    pub fn delete_range<'k, K: AsRef<[u8]> + ?Sized + 'k>(
        &self,
        range: impl RangeBounds<&'k K>,
    ) -> Result<u64, Error> {
        let bounds = range::bounds(&range);
        let Some((lower, upper)) = range::normalize(bounds, false, self.key_bytes_max()) else {
            return Ok(0);
        };
        let count = self.delete_bounds((lower, upper))?;
        self.state.settle()?;
        Ok(count)
    }

    /// Returns the pairs that a scan finds, all of one version: at most
    /// [`Config::scan_pairs_max`](crate::Config::scan_pairs_max).
    ///
    /// # Errors
    /// [`Error::Accelerator`] if the accelerator violates its contract.
    pub fn scan(&self, scan: &Scan<'_>) -> Result<Pairs, Error> {
        let mut pairs = Pairs::default();
        self.scan_into(scan, &mut pairs)?;
        Ok(pairs)
    }

    /// Replaces the contents of `pairs` with the pairs that [`Table::scan`] would return, and reuses its
    /// buffers.
    ///
    /// # Errors
    /// The same as for [`Table::scan`].
    pub fn scan_into(&self, scan: &Scan<'_>, pairs: &mut Pairs) -> Result<(), Error> {
        pairs.clear();
        self.state.scan_into(self.source(), scan, pairs)
    }

    /// Returns the key of a random pair, or `None` if the table has no pairs. `draw(n)` must return a
    /// uniformly distributed random number below `n`.
    ///
    /// The distribution is approximately uniform: the sample follows each child of a node with equal
    /// probability, whatever the number of its pairs, so a pair in a sparse leaf is several times as likely
    /// as one in a full leaf. A sample takes about as long as a get, but longer if most leaves are empty: it
    /// then returns the next pair in key order.
    ///
    /// ```
    /// use honeycomb_store::{Config, Store};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let table = store.table("letters")?;
    /// let mut draw = |below: usize| 3 % below; // use a random number generator here
    /// assert_eq!(table.sample(&mut draw), None);
    /// for key in [b"a", b"b", b"c", b"d"] {
    ///     table.put(key, b"")?;
    /// }
    /// assert!(table.contains(&table.sample(&mut draw).unwrap())?);
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    pub fn sample(&self, draw: &mut dyn FnMut(usize) -> usize) -> Option<Vec<u8>> {
        let mut drawn = None;
        self.sample_leaf(1, draw, &mut |key, _| drawn = Some(key.to_vec()));
        drawn
    }

    /// Passes up to `max` different random pairs from one leaf to `take`, in the order of their keys, and
    /// returns their number, which is 0 only if the table has no pairs. The keys are close to each other;
    /// call this several times for pairs from the whole table. It does not copy values. [`Table::sample`]
    /// describes `draw` and the distribution.
    ///
    /// `take` must be short and must not write to the store: memory that is retired meanwhile cannot be
    /// reclaimed.
    pub fn sample_leaf(
        &self,
        max: usize,
        draw: &mut dyn FnMut(usize) -> usize,
        take: &mut dyn FnMut(&[u8], &[u8]),
    ) -> usize {
        self.state.forest.reader().sample(self.root(), max, draw, take)
    }

    pub(crate) fn state(&self) -> &Arc<StoreState> {
        &self.state
    }

    pub(crate) fn entry(&self) -> &TableEntry {
        &self.entry
    }

    pub(crate) fn root(&self) -> Root {
        self.entry.root
    }

    /// Where to read the current pairs.
    #[inline]
    pub(crate) fn source(&self) -> ReadSource {
        ReadSource { table: self.entry.number.get(), version: None }
    }

    /// Where to read the pairs of a version.
    pub(crate) fn source_at(&self, version: Version) -> ReadSource {
        ReadSource { version: Some(version), ..self.source() }
    }

    pub(crate) fn check_key(&self, key: &[u8]) -> Result<(), Error> {
        self.state.check_key(key)
    }

    /// The tree scan for `scan`, or `None` if no key can be in the range.
    pub(crate) fn request<'s>(&self, scan: &'s Scan<'_>) -> Option<honeycomb_btree::Scan<'s>> {
        scan.request(self.state.key_bytes_max, self.state.scan_pairs_max)
    }

    /// Updates the number of pairs after a write.
    pub(crate) fn record(&self, outcome: &Outcome) {
        self.entry.pairs.record(outcome);
    }

    pub(crate) fn check_store(&self, state: &Arc<StoreState>) -> Result<(), Error> {
        state.check_is_same_as(&self.state, self.name())
    }

    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.entry, &other.entry)
    }

    /// Deletes the pairs of a range with normalized bounds.
    pub(crate) fn delete_bounds(&self, (lower, upper): Bounds<'_>) -> Result<u64, Error> {
        let count = self.state.remove(|forest| forest.delete_range(self.root(), lower, upper))?;
        self.entry.pairs.subtract(count);
        Ok(count)
    }

    fn remove(&self, key: &[u8], operation: Operation<'_>) -> Result<bool, Error> {
        let outcome = self.state.remove(|forest| forest.write(self.root(), key, operation))?;
        self.record(&outcome);
        self.state.settle()?;
        Ok(outcome.wrote())
    }

    pub(crate) fn write(&self, key: &[u8], operation: Operation<'_>) -> Result<Outcome, Error> {
        let outcome = self.state.write(|forest| forest.write(self.root(), key, operation))?;
        self.record(&outcome);
        self.state.settle()?;
        Ok(outcome)
    }
}

/// Appends a value to `out` and returns true, or returns false if the key is absent.
pub(crate) fn append_value(found: Option<(&[u8], Version)>, out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(found.map_or(&[], |(value, _)| value));
    found.is_some()
}

fn swap(outcome: Outcome) -> Swap {
    match outcome {
        Outcome::Absent => Swap::Absent,
        Outcome::Mismatch(existing) => {
            let Existing { value, version } = *existing;
            Swap::Mismatch(Versioned { value, version })
        }
        _ => Swap::Swapped,
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name()).finish_non_exhaustive()
    }
}

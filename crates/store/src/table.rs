//! Tables: the operations on pairs.

use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

use honeycomb_btree::{Operation, Outcome, Root, Version};

use crate::directory::Entry;
use crate::error::Error;
use crate::iter::{Iter, Pages};
use crate::lanes::ReadSource;
use crate::loader::Loader;
use crate::pairs::Pairs;
use crate::range;
use crate::scan::Scan;
use crate::shared::{Part, StoreState};
use crate::snapshot::Snapshot;

/// A handle on a table: ordered pairs of keys (1 to 460 bytes) and values (up to 16 MiB).
///
/// Every operation is linearizable: it takes effect at one moment between its call and its return. Handles
/// are cheap to clone and can be used from many threads.
///
/// ```
/// use honeycomb_store::{Config, Store};
///
/// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
/// let users = store.table("users")?;
/// assert!(users.insert(b"ada", b"1815")?);
/// assert!(!users.insert(b"ada", b"1816")?, "there is one");
/// assert_eq!(users.get(b"ada")?.as_deref(), Some(&b"1815"[..]));
/// assert_eq!(users.add(b"visits", 2)?, 2);
/// assert!(users.delete(b"ada")?);
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Clone)]
pub struct Table {
    shared: Arc<StoreState>,
    entry: Arc<Entry>,
}

/// A value and the version that [`Table::compare_version_and_swap`] takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned {
    /// The value.
    pub value: Vec<u8>,
    /// Grows with every change of the pair, and may grow without one.
    pub version: Version,
}

/// What came of a compare-and-swap.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a swap may have been refused"]
pub enum Swap {
    /// The pair was as expected and has the new value.
    Swapped,
    /// There is no such key.
    Absent,
    /// The pair is not as expected, but this.
    Mismatch(Versioned),
}

impl Swap {
    /// Whether the value was swapped.
    #[must_use]
    pub fn swapped(&self) -> bool {
        *self == Self::Swapped
    }
}

impl Table {
    pub(crate) fn new(shared: Arc<StoreState>, entry: Arc<Entry>) -> Self {
        Self { shared, entry }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// How many pairs it has. Writes under way may be counted or not.
    #[must_use]
    pub fn pair_count(&self) -> u64 {
        self.entry.pairs.get()
    }

    /// Whether a key has a length that keys may have.
    #[must_use]
    pub fn allows_key(&self, key: &[u8]) -> bool {
        self.check_key(key).is_ok()
    }

    /// Bytes of the longest key that it can have.
    #[must_use]
    pub fn key_bytes_max(&self) -> usize {
        self.shared.key_bytes_max
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut value = Vec::new();
        Ok(self.get_into(key, &mut value)?.then_some(value))
    }

    /// Puts the value of a key in place of what `value` holds: whether there is one. Allocates nothing if
    /// there is room in `value`.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Error> {
        value.clear();
        self.shared.get(self.source(), key, |found| append_found(found, value))
    }

    /// Appends at most `length` bytes of a value to `out`, from byte `offset` on: how long the whole value
    /// is. Takes time for the part, not for the value; with `length` 0 it tells how long a value is. Parts
    /// that belong together are those of one version: read them from a
    /// [snapshot](crate::Snapshot::get_part).
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
        let part = Part { offset, length };
        self.shared.get_part(&self.shared.forest.reader(), self.root(), key, part, out)
    }

    /// The value of a key and its version.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn get_versioned(&self, key: &[u8]) -> Result<Option<Versioned>, Error> {
        let versioned = |(value, version): (&[u8], Version)| Versioned { value: value.to_vec(), version };
        self.shared.get(self.source(), key, |found| found.map(versioned))
    }

    /// Whether a key exists.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        self.shared.get(self.source(), key, |found| found.is_some())
    }

    /// Adds a pair: false if the key exists, and nothing has changed.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ValueLength`], [`Error::OutOfMemory`].
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        Ok(self.write(key, Operation::Insert(value))?.wrote())
    }

    /// Changes a value: false if the key is absent, and nothing has changed.
    ///
    /// # Errors
    /// As [`Table::insert`].
    pub fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        Ok(self.write(key, Operation::Update(value))?.wrote())
    }

    /// Adds a pair or changes its value.
    ///
    /// # Errors
    /// As [`Table::insert`].
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.write(key, Operation::Put(value)).map(drop)
    }

    /// Removes a pair: false if the key is absent.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::OutOfMemory`].
    pub fn delete(&self, key: &[u8]) -> Result<bool, Error> {
        self.remove(key, Operation::Delete)
    }

    /// Removes a pair whose value equals `expected`: false if the key is absent or has another value.
    ///
    /// # Errors
    /// As [`Table::delete`].
    pub fn compare_and_delete(&self, key: &[u8], expected: &[u8]) -> Result<bool, Error> {
        self.remove(key, Operation::CompareAndDelete { expected })
    }

    /// Changes a value that equals `expected`.
    ///
    /// # Errors
    /// As [`Table::insert`].
    pub fn compare_and_swap(&self, key: &[u8], expected: &[u8], value: &[u8]) -> Result<Swap, Error> {
        self.write(key, Operation::CompareAndSwap { expected, value }).map(swap)
    }

    /// Changes the value of a pair that has not changed since [`Table::get_versioned`] gave `version`. May be
    /// refused although nothing has changed (then try with the version it says), never succeeds after a
    /// change.
    ///
    /// # Errors
    /// As [`Table::insert`].
    pub fn compare_version_and_swap(
        &self,
        key: &[u8],
        version: Version,
        value: &[u8],
    ) -> Result<Swap, Error> {
        self.write(key, Operation::CompareVersionAndSwap { version, value }).map(swap)
    }

    /// Adds to a counter, a value of 8 bytes little-endian, and returns its new value. An absent counter
    /// counts as zero; at both ends of `u64` it wraps around.
    ///
    /// # Errors
    /// [`Error::NotCounter`], [`Error::KeyLength`], [`Error::OutOfMemory`].
    pub fn add(&self, key: &[u8], delta: i64) -> Result<u64, Error> {
        match self.write(key, Operation::Add(delta))? {
            Outcome::Added { sum, .. } => Ok(sum),
            Outcome::NotCounter { bytes } => Err(Error::NotCounter { bytes }),
            other => unreachable!("add came to {other:?}"),
        }
    }

    /// Loads pairs that come in the order of their keys into this table, which must be empty: how many there
    /// are. All become visible at once, in a fraction of the time that writes take, and in nodes that are
    /// nine tenths full; a [`Loader`] can be asked for other nodes.
    ///
    /// ```
    /// use honeycomb_store::{Config, Error, Store};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let squares = store.table("squares")?;
    /// let pair = |number: u32| (number.to_be_bytes(), number.pow(2).to_string());
    /// assert_eq!(squares.load_sorted((0..10_000).map(pair))?, 10_000);
    /// assert_eq!(squares.get(&12_u32.to_be_bytes())?.as_deref(), Some(&b"144"[..]));
    ///
    /// let backward = store.table("backward")?.load_sorted((0..10).rev().map(pair));
    /// assert!(matches!(backward, Err(Error::NotAscending { position: 1 })));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TableNotEmpty`], [`Error::NotAscending`], [`Error::KeyLength`], [`Error::ValueLength`],
    /// [`Error::OutOfMemory`]. Nothing has changed then.
    pub fn load_sorted<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<u64, Error> {
        let mut loader = self.loader(Loader::FILL_PERCENT)?;
        pairs.into_iter().try_for_each(|(key, value)| loader.push(key.as_ref(), value.as_ref()))?;
        loader.finish()
    }

    /// Begins to load sorted pairs into this table, which must be empty, in nodes that are full to so many
    /// percent.
    ///
    /// # Errors
    /// [`Error::TableNotEmpty`], [`Error::OutOfMemory`]; [`Error::FillPercent`] unless it is 10 to 100.
    pub fn loader(&self, fill_percent: usize) -> Result<Loader<'_>, Error> {
        Loader::new(&self.shared, &self.entry, fill_percent)
    }

    /// Removes every pair with a key in the range, at one moment: how many there were.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]: new nodes are needed at the range's ends.
    pub fn delete_range<'k, K: AsRef<[u8]> + ?Sized + 'k>(
        &self,
        range: impl RangeBounds<&'k K>,
    ) -> Result<u64, Error> {
        let bounds = range::bounds(&range);
        let Some((lower, upper)) = range::allowed(bounds, false, self.key_bytes_max()) else { return Ok(0) };
        let count = self.shared.remove(|forest| forest.delete_range(self.root(), lower, upper))?;
        self.entry.pairs.subtract(count);
        Ok(count)
    }

    /// A snapshot of the store, as [`Store::snapshot`](crate::Store::snapshot) takes it.
    ///
    /// # Errors
    /// As [`Store::snapshot`](crate::Store::snapshot).
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        Snapshot::take(&self.shared, self.shared.lease_limits)
    }

    /// The pairs that a scan finds, all of one version: at most
    /// [`Config::scan_pairs_max`](crate::Config::scan_pairs_max).
    ///
    /// # Errors
    /// [`Error::Accelerator`] if the accelerator breaks its contract.
    pub fn scan(&self, scan: &Scan<'_>) -> Result<Pairs, Error> {
        let mut pairs = Pairs::default();
        self.scan_into(scan, &mut pairs)?;
        Ok(pairs)
    }

    /// As [`Table::scan`], into buffers that are used again.
    ///
    /// # Errors
    /// As [`Table::scan`].
    pub fn scan_into(&self, scan: &Scan<'_>, pairs: &mut Pairs) -> Result<(), Error> {
        pairs.clear();
        self.shared.scan_into(self.source(), scan, pairs)
    }

    /// The key of a pair drawn at random; none if there are no pairs. `draw` is given a number and tells a
    /// smaller one, all equally likely.
    ///
    /// Pairs are about equally likely: each part of the tree is drawn as often as its neighbours, however
    /// many pairs it has, so a pair among few in its leaf is drawn some times more often than one among
    /// many. It takes about the time of a get. Only where most leaves have no pairs left the next pair in
    /// key order is taken, and that takes longer.
    ///
    /// ```
    /// use honeycomb_store::{Config, Store};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let table = store.table("letters")?;
    /// let mut draw = |below: usize| 3 % below; // what a random number generator is for
    /// assert_eq!(table.sample(&mut draw), None);
    /// for key in [b"a", b"b", b"c", b"d"] {
    ///     table.put(key, b"")?;
    /// }
    /// assert!(table.contains(&table.sample(&mut draw).unwrap())?);
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    pub fn sample(&self, draw: &mut dyn FnMut(usize) -> usize) -> Option<Vec<u8>> {
        let mut drawn = None;
        self.sample_some(1, draw, &mut |key, _| drawn = Some(key.to_vec()));
        drawn
    }

    /// Hands up to `max` different pairs to `take`, drawn at random from one leaf, in the order of their
    /// keys: how many there were, which is none only if the table has no pairs. [`Table::sample`] says
    /// more. Values are not copied. Their keys are near each other; for pairs from everywhere call it
    /// several times.
    ///
    /// `take` must be quick and must not write: what is replaced meanwhile cannot be reclaimed.
    pub fn sample_some(
        &self,
        max: usize,
        draw: &mut dyn FnMut(usize) -> usize,
        take: &mut dyn FnMut(&[u8], &[u8]),
    ) -> usize {
        self.shared.forest.reader().sample(self.root(), max, draw, take)
    }

    /// Iterates over all pairs; [`Table::range`] says more.
    ///
    /// # Errors
    /// As [`Table::range`].
    pub fn iter(&self) -> Result<Iter, Error> {
        self.range::<[u8]>(..)
    }

    /// Iterates over the pairs with keys in a range, forward and backward, as they are now. The iterator
    /// holds a [`Snapshot`](crate::Snapshot) with the store's lease limits; without MVCC it holds none, and
    /// its pages are not of one version.
    ///
    /// ```
    /// use honeycomb_store::{Config, Store};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let table = store.table("letters")?;
    /// for key in [b"a", b"b", b"c", b"d"] {
    ///     table.put(key, b"")?;
    /// }
    /// let pairs: Vec<_> = table.range("b"..)?.rev().collect::<Result<_, _>>()?;
    /// assert!(pairs.iter().map(|(key, _)| key).eq([b"d", b"c", b"b"]));
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooManySnapshots`]. The items can be [`Error::SnapshotTooOld`].
    pub fn range<'k, K: AsRef<[u8]> + ?Sized + 'k>(
        &self,
        range: impl RangeBounds<&'k K>,
    ) -> Result<Iter, Error> {
        Ok(Iter::new(Pages::of(&self.shared)?, self.clone(), range::bounds(&range)))
    }

    pub(crate) fn root(&self) -> Root {
        self.entry.root
    }

    /// Where its pairs are read as they are now.
    #[inline]
    pub(crate) fn source(&self) -> ReadSource {
        ReadSource { table: self.entry.number.get(), version: None }
    }

    /// Where its pairs are read as they were.
    pub(crate) fn source_at(&self, version: Version) -> ReadSource {
        ReadSource { version: Some(version), ..self.source() }
    }

    pub(crate) fn check_key(&self, key: &[u8]) -> Result<(), Error> {
        self.shared.check_key(key)
    }

    /// What the tree is asked for; none if no key can be in the range.
    pub(crate) fn request<'s>(&self, scan: &'s Scan<'_>) -> Option<honeycomb_btree::Scan<'s>> {
        scan.request(self.shared.key_bytes_max, self.shared.scan_pairs_max)
    }

    /// Notes in the table's count what came of a write.
    pub(crate) fn note(&self, outcome: &Outcome) {
        self.entry.pairs.note(outcome);
    }

    pub(crate) fn check_store(&self, shared: &Arc<StoreState>) -> Result<(), Error> {
        if Arc::ptr_eq(&self.shared, shared) {
            return Ok(());
        }
        Err(Error::ForeignTable { name: self.name().to_owned() })
    }

    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.entry, &other.entry)
    }

    fn remove(&self, key: &[u8], operation: Operation<'_>) -> Result<bool, Error> {
        let outcome = self.shared.remove(|forest| forest.write(self.root(), key, operation))?;
        self.note(&outcome);
        Ok(outcome.wrote())
    }

    fn write(&self, key: &[u8], operation: Operation<'_>) -> Result<Outcome, Error> {
        let outcome = self.shared.write(|forest| forest.write(self.root(), key, operation))?;
        self.note(&outcome);
        Ok(outcome)
    }
}

/// Appends a value to `out`, if there is one: whether there is.
pub(crate) fn append_found(found: Option<(&[u8], Version)>, out: &mut Vec<u8>) -> bool {
    out.extend_from_slice(found.map_or(&[], |(value, _)| value));
    found.is_some()
}

fn swap(outcome: Outcome) -> Swap {
    match outcome {
        Outcome::Absent => Swap::Absent,
        Outcome::Mismatch { value, version } => Swap::Mismatch(Versioned { value, version }),
        _ => Swap::Swapped,
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("name", &self.name()).finish_non_exhaustive()
    }
}

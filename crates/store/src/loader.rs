//! Bulk loads of sorted pairs into an empty table.

use std::fmt;

use honeycomb_btree::Loader as TreeLoader;
use honeycomb_log::Changes;

use crate::directory::TableEntry;
use crate::error::Error;
use crate::store_state::StoreState;
use crate::table::Table;

/// A bulk load into an empty table in ascending order of the keys. It suits sources that can fail and callers
/// that choose a fill factor; [`Table::load_sorted`](crate::Table::load_sorted) suits all others.
///
/// No reader sees a pair before [`Loader::finish`]. A loader that is dropped earlier leaves nothing behind.
/// It holds neither locks nor versions, so other threads can use the store meanwhile, but they must not write
/// to this table. A load into a durable store is one record of the log, so it needs memory for a copy of its
/// pairs, and has a limit: [`DurabilityConfig::load_bytes_max`](crate::DurabilityConfig::load_bytes_max).
///
/// ```
/// use honeycomb_store::{Config, Loader, Store};
///
/// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
/// let table = store.table("lines")?;
/// let mut loader = table.loader(Loader::FILL_PERCENT)?;
/// for line in ["ada\t12", "bob\t7", "cyd\t9"] {
///     let (key, value) = line.split_once('\t').expect("a tab");
///     loader.push(key.as_bytes(), value.as_bytes())?;
/// }
/// assert!(loader.push(b"bob", b"8").is_err(), "keys ascend");
/// assert_eq!((loader.finish()?, table.pair_count()), (3, 3));
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
pub struct Loader<'t> {
    state: &'t StoreState,
    entry: &'t TableEntry,
    tree: TreeLoader<'t>,
    /// The record of the load, if the store is durable.
    changes: Changes,
}

impl<'t> Loader<'t> {
    /// The default fill factor in percent. It leaves room for later writes.
    pub const FILL_PERCENT: usize = 90;

    pub(crate) fn new(
        state: &'t StoreState,
        entry: &'t TableEntry,
        fill_percent: usize,
    ) -> Result<Self, Error> {
        let tree = state.forest.loader(entry.root, fill_percent)?;
        Ok(Self { state, entry, tree, changes: Changes::default() })
    }

    /// Adds a pair. Its key must be greater than all earlier keys.
    ///
    /// # Errors
    /// [`Error::NotAscending`], [`Error::KeyLength`], [`Error::ValueLength`], [`Error::OutOfMemory`];
    /// [`Error::LoadTooLarge`] if the store is durable. The loader then contains the earlier pairs but not
    /// this one.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.state.check_load(&self.changes, key, value)?;
        self.state.write(|_| self.tree.push(key, value))?;
        if self.state.durability().is_some() {
            self.state.log_loaded(&mut self.changes, (self.entry.root.lid().get(), key, value));
        }
        Ok(())
    }

    /// Makes all pairs visible at once and returns their number.
    ///
    /// # Errors
    /// [`Error::TableNotEmpty`] if another thread has written to the table meanwhile. [`Error::OutOfMemory`]
    /// if there is no room for the last nodes. After an error the table is unchanged.
    pub fn finish(self) -> Result<u64, Error> {
        self.state.admit()?;
        let pairs = self.tree.finish_with(&self.changes)?;
        self.entry.pairs.add(pairs);
        self.state.settle()?;
        Ok(pairs)
    }
}

impl Table {
    /// Loads pairs in ascending order of their keys into this table, which must be empty, and returns their
    /// number. All pairs become visible at once. Loading takes a fraction of the time of single writes and
    /// fills the nodes to 90 %; use a [`Loader`] for another fill factor.
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
    /// [`Error::OutOfMemory`]; [`Error::LoadTooLarge`] if the store is durable. After an error the table is
    /// unchanged.
    pub fn load_sorted<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<u64, Error> {
        let mut loader = self.loader(Loader::FILL_PERCENT)?;
        pairs.into_iter().try_for_each(|(key, value)| loader.push(key.as_ref(), value.as_ref()))?;
        loader.finish()
    }

    /// Returns a [`Loader`] for this table, which must be empty. It fills the nodes to `fill_percent`
    /// percent.
    ///
    /// # Errors
    /// [`Error::TableNotEmpty`], [`Error::OutOfMemory`]; [`Error::FillPercent`] unless `fill_percent` is 10
    /// to 100.
    pub fn loader(&self, fill_percent: usize) -> Result<Loader<'_>, Error> {
        Loader::new(self.state(), self.entry(), fill_percent)
    }
}

impl fmt::Debug for Loader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loader").field("pairs", &self.tree.pairs()).finish_non_exhaustive()
    }
}

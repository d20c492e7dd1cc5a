//! Loading of sorted pairs into an empty table.

use std::fmt;

use honeycomb_btree::Loader as TreeLoader;

use crate::directory::Entry;
use crate::error::Error;
use crate::shared::StoreState;

/// Pairs on their way into an empty table, in the order of their keys: for sources that can fail, or that say
/// how full nodes are to be; otherwise there is [`Table::load_sorted`](crate::Table::load_sorted).
///
/// Nobody sees a pair before [`Loader::finish`]. Dropped before, it leaves nothing behind. It holds neither
/// locks nor versions, so others can use the store meanwhile; they must not write to this table.
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
    shared: &'t StoreState,
    entry: &'t Entry,
    tree: TreeLoader<'t>,
}

impl<'t> Loader<'t> {
    /// How full nodes are made if nothing else is asked for: with room for some writes to come.
    pub const FILL_PERCENT: usize = 90;

    pub(crate) fn new(shared: &'t StoreState, entry: &'t Entry, fill_percent: usize) -> Result<Self, Error> {
        let tree = shared.forest.loader(entry.root, fill_percent)?;
        Ok(Self { shared, entry, tree })
    }

    /// Adds a pair whose key is greater than all before.
    ///
    /// # Errors
    /// [`Error::NotAscending`], [`Error::KeyLength`], [`Error::ValueLength`], [`Error::OutOfMemory`]. The
    /// pair is not added then; the pairs before are.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.shared.write(|_| self.tree.push(key, value))
    }

    /// Makes all pairs visible at once: how many there are.
    ///
    /// # Errors
    /// [`Error::TableNotEmpty`]: somebody has written to the table meanwhile. [`Error::OutOfMemory`] if there
    /// is no room for the last nodes. Nothing has changed then.
    pub fn finish(self) -> Result<u64, Error> {
        let pairs = self.tree.finish()?;
        self.entry.pairs.add(pairs);
        Ok(pairs)
    }
}

impl fmt::Debug for Loader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loader").field("pairs", &self.tree.pairs()).finish_non_exhaustive()
    }
}

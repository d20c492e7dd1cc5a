//! Handles to tables of either kind, for operations on several tables and for programs that use both kinds
//! alike.

use std::sync::Arc;

use honeycomb_btree::Root;

use crate::error::Error;
use crate::store_state::StoreState;
use crate::table::Table;
use crate::unordered::table::{UnorderedTable, ValueSwap};

/// A reference to a handle of either kind. `&Table` and `&UnorderedTable` convert into it.
#[derive(Debug, Clone, Copy)]
pub enum TableRef<'t> {
    /// An ordered table.
    Ordered(&'t Table),
    /// An unordered table.
    Unordered(&'t UnorderedTable),
}

/// A handle of either kind, with the operations that both kinds have.
///
/// ```
/// use honeycomb_store::{Config, Store, TableHandle, UnorderedConfig};
///
/// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
/// let names = TableHandle::Ordered(store.table("names")?);
/// let numbers = TableHandle::Unordered(store.unordered_table("numbers", UnorderedConfig::default())?);
/// for table in [&names, &numbers] {
///     table.put(b"one", b"1")?;
///     assert_eq!(table.get(b"one")?.as_deref(), Some(&b"1"[..]));
/// }
/// assert!(names.ordered().is_some() && numbers.ordered().is_none());
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum TableHandle {
    /// An ordered table.
    Ordered(Table),
    /// An unordered table.
    Unordered(UnorderedTable),
}

impl<'t> TableRef<'t> {
    /// Returns the name of the table.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Ordered(table) => table.name(),
            Self::Unordered(table) => table.name(),
        }
    }

    /// Returns another handle to the table.
    #[must_use]
    pub fn to_handle(self) -> TableHandle {
        match self {
            Self::Ordered(table) => TableHandle::Ordered(table.clone()),
            Self::Unordered(table) => TableHandle::Unordered(table.clone()),
        }
    }

    /// Returns the identifier of the table in records of the log.
    pub(crate) fn tree(self) -> u64 {
        match self {
            Self::Ordered(table) => table.entry().root.lid().get(),
            Self::Unordered(table) => table.entry().tree,
        }
    }

    pub(crate) fn state(self) -> &'t Arc<StoreState> {
        match self {
            Self::Ordered(table) => table.state(),
            Self::Unordered(table) => table.state(),
        }
    }

    pub(crate) fn check_store(self, state: &Arc<StoreState>) -> Result<(), Error> {
        match self {
            Self::Ordered(table) => table.check_store(state),
            Self::Unordered(table) => table.check_store(state),
        }
    }
}

impl TableHandle {
    /// Returns the name of the table.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Ordered(table) => table.name(),
            Self::Unordered(table) => table.name(),
        }
    }

    /// Returns the table if it is ordered.
    #[inline]
    #[must_use]
    pub fn ordered(&self) -> Option<&Table> {
        match self {
            Self::Ordered(table) => Some(table),
            Self::Unordered(_) => None,
        }
    }

    /// Returns the table if it is unordered.
    #[inline]
    #[must_use]
    pub fn unordered(&self) -> Option<&UnorderedTable> {
        match self {
            Self::Ordered(_) => None,
            Self::Unordered(table) => Some(table),
        }
    }

    /// Returns the number of pairs. The count may or may not include writes in flight.
    #[must_use]
    pub fn pair_count(&self) -> u64 {
        match self {
            Self::Ordered(table) => table.pair_count(),
            Self::Unordered(table) => table.pair_count(),
        }
    }

    /// Returns whether a key has a valid length.
    #[inline]
    #[must_use]
    pub fn allows_key(&self, key: &[u8]) -> bool {
        match self {
            Self::Ordered(table) => table.allows_key(key),
            Self::Unordered(table) => table.allows_key(key),
        }
    }

    /// Returns the value of a key, or `None` if the key is absent.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::Ordered(table) => table.get(key),
            Self::Unordered(table) => table.get(key),
        }
    }

    /// Replaces the contents of `value` with the value of a key, but at most with its first `bytes_max`
    /// bytes; an unordered table returns at least the first 512 bytes. Returns whether the key exists.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn get_beginning(&self, key: &[u8], bytes_max: usize, value: &mut Vec<u8>) -> Result<bool, Error> {
        match self {
            Self::Ordered(table) => {
                value.clear();
                Ok(table.get_part(key, 0, bytes_max, value)?.is_some())
            }
            Self::Unordered(table) => table.get_beginning(key, bytes_max, value),
        }
    }

    /// Returns whether a key exists.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn contains(&self, key: &[u8]) -> Result<bool, Error> {
        match self {
            Self::Ordered(table) => table.contains(key),
            Self::Unordered(table) => table.contains(key),
        }
    }

    /// Inserts a pair, or replaces the value if the key exists.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ValueLength`], [`Error::OutOfMemory`].
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Error> {
        match self {
            Self::Ordered(table) => table.put(key, value),
            Self::Unordered(table) => table.put(key, value),
        }
    }

    /// Inserts a pair. Returns false, and changes nothing, if the key exists.
    ///
    /// # Errors
    /// The same as for [`TableHandle::put`].
    pub fn insert(&self, key: &[u8], value: &[u8]) -> Result<bool, Error> {
        match self {
            Self::Ordered(table) => table.insert(key, value),
            Self::Unordered(table) => table.insert(key, value),
        }
    }

    /// Deletes a pair. Returns false if the key is absent.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::OutOfMemory`].
    pub fn delete(&self, key: &[u8]) -> Result<bool, Error> {
        match self {
            Self::Ordered(table) => table.delete(key),
            Self::Unordered(table) => table.delete(key),
        }
    }

    /// Replaces a value that equals `expected`. Returns false if the key is absent or has another value.
    ///
    /// # Errors
    /// The same as for [`TableHandle::put`].
    pub fn compare_and_swap(&self, key: &[u8], expected: &[u8], value: &[u8]) -> Result<bool, Error> {
        Ok(match self {
            Self::Ordered(table) => table.compare_and_swap(key, expected, value)?.swapped(),
            Self::Unordered(table) => table.compare_and_swap(key, expected, value)? == ValueSwap::Swapped,
        })
    }

    /// Deletes a pair whose value equals `expected`. Returns false if the key is absent or has another value.
    ///
    /// # Errors
    /// The same as for [`TableHandle::delete`].
    pub fn compare_and_delete(&self, key: &[u8], expected: &[u8]) -> Result<bool, Error> {
        Ok(match self {
            Self::Ordered(table) => table.compare_and_delete(key, expected)?,
            Self::Unordered(table) => table.compare_and_delete(key, expected)? == ValueSwap::Swapped,
        })
    }

    /// Returns whether another handle is of the same table.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        self.is_of(other.as_ref())
    }

    /// The root of an ordered table.
    #[inline]
    pub(crate) fn root(&self) -> Option<Root> {
        match self {
            Self::Ordered(table) => Some(table.root()),
            Self::Unordered(_) => None,
        }
    }

    pub(crate) fn check_store(&self, state: &Arc<StoreState>) -> Result<(), Error> {
        self.as_ref().check_store(state)
    }

    #[inline]
    pub(crate) fn is_of(&self, other: TableRef<'_>) -> bool {
        match (self, other) {
            (Self::Ordered(one), TableRef::Ordered(other)) => one.is_same_as(other),
            (Self::Unordered(one), TableRef::Unordered(other)) => one.is_same_as(other),
            _ => false,
        }
    }

    pub(crate) fn as_ref(&self) -> TableRef<'_> {
        match self {
            Self::Ordered(table) => TableRef::Ordered(table),
            Self::Unordered(table) => TableRef::Unordered(table),
        }
    }
}

impl<'t> From<&'t Table> for TableRef<'t> {
    #[inline]
    fn from(table: &'t Table) -> Self {
        Self::Ordered(table)
    }
}

impl<'t> From<&'t TableHandle> for TableRef<'t> {
    #[inline]
    fn from(table: &'t TableHandle) -> Self {
        table.as_ref()
    }
}

impl<'t> From<&'t UnorderedTable> for TableRef<'t> {
    #[inline]
    fn from(table: &'t UnorderedTable) -> Self {
        Self::Unordered(table)
    }
}

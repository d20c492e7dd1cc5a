//! The tables of a store by name.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use honeycomb_btree::Root;
use honeycomb_log::Changes;

use crate::error::Error;
use crate::pair_count::PairCount;
use crate::table_kind::TableKind;
use crate::table_numbers::TableNumber;
use crate::unordered::entry::UnorderedEntry;

/// An ordered table. If no handle exists, the directory owns the only reference.
pub(crate) struct TableEntry {
    pub(crate) name: String,
    pub(crate) root: Root,
    pub(crate) number: TableNumber,
    pub(crate) pairs: PairCount,
}

/// A table of either kind.
#[derive(Clone)]
pub(crate) enum Entry {
    Ordered(Arc<TableEntry>),
    Unordered(Arc<UnorderedEntry>),
}

/// All tables by name.
pub(crate) type Tables = BTreeMap<String, Entry>;

/// The tables, behind a lock that threads hold while they create and drop trees, but not while they use them.
#[derive(Default)]
pub(crate) struct Directory(RwLock<Tables>);

impl Directory {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tables, unless another thread holds the write lock.
    pub(crate) fn try_read(&self) -> Option<RwLockReadGuard<'_, Tables>> {
        match self.0.try_read() {
            Ok(tables) => Some(tables),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TableEntry {
    pub(crate) fn new(name: &str, root: Root, number: TableNumber) -> Self {
        Self { name: name.to_owned(), root, number, pairs: PairCount::default() }
    }
}

impl Entry {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Ordered(entry) => &entry.name,
            Self::Unordered(entry) => &entry.name,
        }
    }

    pub(crate) fn kind(&self) -> TableKind {
        match self {
            Self::Ordered(_) => TableKind::Ordered,
            Self::Unordered(_) => TableKind::Unordered,
        }
    }

    /// The root of an ordered table.
    pub(crate) fn root(&self) -> Option<Root> {
        match self {
            Self::Ordered(entry) => Some(entry.root),
            Self::Unordered(_) => None,
        }
    }

    /// The identifier of the table in the log.
    pub(crate) fn tree(&self) -> u64 {
        match self {
            Self::Ordered(entry) => entry.root.lid().get(),
            Self::Unordered(entry) => entry.tree,
        }
    }

    /// Appends the change that declares the identifier of the table.
    pub(crate) fn declare(&self, changes: &mut Changes) {
        match self {
            Self::Ordered(entry) => changes.create(self.tree(), &entry.name),
            Self::Unordered(entry) => {
                changes.create_unordered(entry.tree, &entry.name, &entry.config().encode());
            }
        }
    }

    /// The number of pairs.
    pub(crate) fn pairs(&self) -> u64 {
        match self {
            Self::Ordered(entry) => entry.pairs.get(),
            Self::Unordered(entry) => entry.pairs(),
        }
    }

    pub(crate) fn ordered(&self) -> Result<&Arc<TableEntry>, Error> {
        match self {
            Self::Ordered(entry) => Ok(entry),
            Self::Unordered(_) => Err(self.wrong_kind(TableKind::Ordered)),
        }
    }

    pub(crate) fn unordered(&self) -> Result<&Arc<UnorderedEntry>, Error> {
        match self {
            Self::Unordered(entry) => Ok(entry),
            Self::Ordered(_) => Err(self.wrong_kind(TableKind::Unordered)),
        }
    }

    /// Whether a handle to the table exists. New ones come only from existing ones and from the directory,
    /// which the caller has locked.
    pub(crate) fn has_handles(&mut self) -> bool {
        match self {
            Self::Ordered(entry) => Arc::get_mut(entry).is_none(),
            Self::Unordered(entry) => Arc::strong_count(&entry.handles) > 1,
        }
    }

    fn wrong_kind(&self, wanted: TableKind) -> Error {
        Error::WrongKind { name: self.name().to_owned(), kind: self.kind(), wanted }
    }
}

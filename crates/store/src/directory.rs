//! The tables of a store by name.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use honeycomb_btree::Root;

use crate::pair_count::PairCount;
use crate::table_numbers::TableNumber;

/// A table. If no handle exists, the directory owns the only reference.
pub(crate) struct TableEntry {
    pub(crate) name: String,
    pub(crate) root: Root,
    pub(crate) number: TableNumber,
    pub(crate) pairs: PairCount,
}

/// All tables by name.
pub(crate) type Tables = BTreeMap<String, Arc<TableEntry>>;

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

//! The tables of a store by name.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};

use honeycomb_btree::Root;

use crate::error::Error;
use crate::numbers::Number;
use crate::pair_count::PairCount;

/// Longest name of a table, in bytes.
pub const TABLE_NAME_BYTES_MAX: usize = 255;

/// A table. The directory's own reference is the only one when nobody has a handle.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) root: Root,
    pub(crate) number: Number,
    pub(crate) pairs: PairCount,
}

/// All tables.
pub(crate) type Tables = BTreeMap<String, Arc<Entry>>;

/// The tables, behind a lock that is held while trees are planted and felled, but not while they are used.
#[derive(Default)]
pub(crate) struct Directory(RwLock<Tables>);

impl Directory {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tables, unless somebody has them for writing.
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

impl Entry {
    pub(crate) fn new(name: &str, root: Root, number: Number) -> Self {
        Self { name: name.to_owned(), root, number, pairs: PairCount::default() }
    }
}

pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    if (1..=TABLE_NAME_BYTES_MAX).contains(&name.len()) {
        return Ok(());
    }
    Err(Error::TableName { bytes: name.len() })
}

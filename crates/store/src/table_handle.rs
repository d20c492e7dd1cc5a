//! Handles to tables of either kind, for operations on several tables.

use std::sync::Arc;

use honeycomb_btree::Root;

use crate::error::Error;
use crate::store_state::StoreState;
use crate::table::Table;
use crate::unordered::table::UnorderedTable;

/// A reference to a handle of either kind. `&Table` and `&UnorderedTable` convert into it.
#[derive(Debug, Clone, Copy)]
pub enum TableRef<'t> {
    /// An ordered table.
    Ordered(&'t Table),
    /// An unordered table.
    Unordered(&'t UnorderedTable),
}

/// A handle of either kind.
#[derive(Debug, Clone)]
pub(crate) enum TableHandle {
    Ordered(Table),
    Unordered(UnorderedTable),
}

impl TableRef<'_> {
    pub(crate) fn to_handle(self) -> TableHandle {
        match self {
            Self::Ordered(table) => TableHandle::Ordered(table.clone()),
            Self::Unordered(table) => TableHandle::Unordered(table.clone()),
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
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Ordered(table) => table.name(),
            Self::Unordered(table) => table.name(),
        }
    }

    pub(crate) fn pair_count(&self) -> u64 {
        match self {
            Self::Ordered(table) => table.pair_count(),
            Self::Unordered(table) => table.pair_count(),
        }
    }

    /// The root of an ordered table.
    #[inline]
    pub(crate) fn root(&self) -> Option<Root> {
        match self {
            Self::Ordered(table) => Some(table.root()),
            Self::Unordered(_) => None,
        }
    }

    pub(crate) fn unordered(&self) -> Option<&UnorderedTable> {
        match self {
            Self::Ordered(_) => None,
            Self::Unordered(table) => Some(table),
        }
    }

    pub(crate) fn check_store(&self, state: &Arc<StoreState>) -> Result<(), Error> {
        self.as_ref().check_store(state)
    }

    #[inline]
    pub(crate) fn is_same_as(&self, other: TableRef<'_>) -> bool {
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

impl<'t> From<&'t UnorderedTable> for TableRef<'t> {
    #[inline]
    fn from(table: &'t UnorderedTable) -> Self {
        Self::Unordered(table)
    }
}

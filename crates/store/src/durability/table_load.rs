//! The bulk load of an ordered table by several threads during a recovery: each builds the leaves of a range
//! of keys, and one appends them to the table in their order.

use honeycomb_btree::{Loader as TreeLoader, LoaderPart};

use crate::error::Error;
use crate::loader::Loader;
use crate::store_state::StoreState;
use crate::table::Table;

pub(super) struct TableLoad<'s> {
    table: Table,
    tree: TreeLoader<'s>,
}

impl<'s> TableLoad<'s> {
    /// Begins to load a table, which has no pairs.
    pub(super) fn new(state: &'s StoreState, table: &Table) -> Result<Self, Error> {
        let tree = state.forest.loader(table.root(), Loader::FILL_PERCENT)?;
        Ok(Self { table: table.clone(), tree })
    }

    pub(super) fn is_of(&self, table: &Table) -> bool {
        self.table.root() == table.root()
    }

    /// Appends the pairs of a part, whose keys are greater than all earlier ones.
    pub(super) fn append(&mut self, part: LoaderPart<'s>) -> Result<(), Error> {
        Ok(self.tree.append(part)?)
    }

    /// Makes all pairs visible.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.table.entry().pairs.add(self.tree.finish()?);
        Ok(())
    }
}

/// Begins a part with the keys at or above `low`, which is empty for the first part of a table.
pub(super) fn begin_part<'s>(state: &'s StoreState, low: &[u8]) -> Result<LoaderPart<'s>, Error> {
    Ok(state.forest.loader_part(low, Loader::FILL_PERCENT)?)
}

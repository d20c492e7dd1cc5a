//! The tables of an image that is being loaded.

use std::sync::Arc;

use honeycomb_btree::Loader;
use honeycomb_log::Changes;

use crate::directory::TableEntry;
use crate::error::Error;
use crate::store_state::StoreState;
use crate::{loader, table_name};

/// Tables of an image that are not visible yet. If they are dropped before they are published, their trees
/// are dropped as well.
pub(super) struct PendingTables<'s> {
    state: &'s StoreState,
    entries: Vec<Arc<TableEntry>>,
    /// The loader of the last table.
    loader: Option<Loader<'s>>,
    /// The record of all tables, if the store is durable.
    changes: Changes,
}

/// The rule that an image violates, if any.
pub(super) type Malformed = Option<&'static str>;

impl<'s> PendingTables<'s> {
    pub(super) fn new(state: &'s StoreState) -> Self {
        Self { state, entries: Vec::new(), loader: None, changes: Changes::default() }
    }

    /// Begins a table.
    pub(super) fn create_tree(&mut self, name: &[u8]) -> Result<Malformed, Error> {
        let Some(name) = str::from_utf8(name).ok().filter(|name| table_name::check(name).is_ok()) else {
            return Ok(Some("a table has a name of 1 to 255 bytes of UTF-8"));
        };
        if self.entries.iter().any(|entry| entry.name == name) {
            return Ok(Some("the names of tables are unique"));
        }
        // `publish` checks this again. Checking it here as well avoids reading the whole image in vain.
        self.check_absent(name, self.state.directory.read().contains_key(name))?;
        self.finish_last()?;
        let root = self.state.write(|forest| forest.create_tree())?;
        self.entries.push(Arc::new(self.state.entry(name, root)?));
        self.changes.create(root.lid().get(), name);
        self.loader = Some(self.state.forest.loader(root, loader::Loader::FILL_PERCENT)?);
        Ok(None)
    }

    fn finish_last(&mut self) -> Result<(), Error> {
        if let (Some(entry), Some(loader)) = (self.entries.last(), self.loader.take()) {
            entry.pairs.add(loader.finish()?);
        }
        Ok(())
    }

    /// Adds a pair to the last table.
    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<Malformed, Error> {
        let Some(loader) = &mut self.loader else {
            return Ok(Some("pairs follow a table"));
        };
        match self.state.write(|_| loader.push(key, value)) {
            Err(Error::NotAscending { .. }) => return Ok(Some("the keys of a table ascend")),
            pushed => pushed?,
        }
        if self.state.durability().is_some()
            && let Some(entry) = self.entries.last()
        {
            self.changes.put(entry.root.lid().get(), key, value);
        }
        Ok(None)
    }

    /// Makes all tables visible.
    pub(super) fn publish(mut self) -> Result<(), Error> {
        self.finish_last()?;
        let mut tables = self.state.directory.write();
        for entry in &self.entries {
            self.check_absent(&entry.name, tables.contains_key(&entry.name))?;
        }
        // Under the lock, so that a checkpoint has both the tables and their record, or neither.
        self.state.record(&self.changes)?;
        tables.extend(self.entries.drain(..).map(|entry| (entry.name.clone(), entry)));
        Ok(())
    }

    fn check_absent(&self, name: &str, exists: bool) -> Result<(), Error> {
        if exists { Err(Error::TableExists { name: name.to_owned() }) } else { Ok(()) }
    }
}

impl Drop for PendingTables<'_> {
    fn drop(&mut self) {
        self.loader = None;
        self.entries.iter().for_each(|entry| self.state.drop_or_defer(entry.root));
    }
}

//! The tables of an image that is being loaded.

use std::sync::Arc;

use honeycomb_btree::Loader;
use honeycomb_log::Changes;

use crate::directory::Entry;
use crate::error::Error;
use crate::store_state::StoreState;
use crate::unordered::config::UnorderedConfig;
use crate::{loader, table_name};

/// Tables of an image that are not visible yet. If they are dropped before they are published, their trees
/// are dropped as well.
pub(super) struct PendingTables<'s> {
    state: &'s StoreState,
    entries: Vec<Entry>,
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

    /// Begins an ordered table.
    pub(super) fn create_tree(&mut self, name: &[u8]) -> Result<Malformed, Error> {
        let name = match self.begin_table(name)? {
            Ok(name) => name,
            Err(rule) => return Ok(Some(rule)),
        };
        let root = self.state.write(|forest| forest.create_tree())?;
        self.entries.push(Entry::Ordered(Arc::new(self.state.entry(name, root)?)));
        self.changes.create(root.lid().get(), name);
        self.loader = Some(self.state.forest.loader(root, loader::Loader::FILL_PERCENT)?);
        Ok(None)
    }

    /// Begins an unordered table.
    pub(super) fn create_unordered(&mut self, name: &[u8], parameters: &[u8]) -> Result<Malformed, Error> {
        let Some(config) = UnorderedConfig::decode(parameters) else {
            return Ok(Some("an unordered table has parameters of 6 bytes"));
        };
        let name = match self.begin_table(name)? {
            Ok(name) => name,
            Err(rule) => return Ok(Some(rule)),
        };
        let entry = match self.state.unordered_entry(name, config) {
            Err(Error::InvalidConfig(_)) => {
                return Ok(Some("the parameters of an unordered table are in their limits"));
            }
            entry => entry?,
        };
        self.changes.create_unordered(entry.tree, name, &config.encode());
        self.entries.push(Entry::Unordered(entry));
        Ok(None)
    }

    /// Ends the table before this one, and checks the name of this one.
    fn begin_table<'n>(&mut self, name: &'n [u8]) -> Result<Result<&'n str, &'static str>, Error> {
        let Some(name) = str::from_utf8(name).ok().filter(|name| table_name::check(name).is_ok()) else {
            return Ok(Err("a table has a name of 1 to 255 bytes of UTF-8"));
        };
        if self.entries.iter().any(|entry| entry.name() == name) {
            return Ok(Err("the names of tables are unique"));
        }
        // `publish` checks this again. Checking it here as well avoids reading the whole image in vain.
        self.check_absent(name, self.state.directory.read().contains_key(name))?;
        self.finish_last()?;
        Ok(Ok(name))
    }

    fn finish_last(&mut self) -> Result<(), Error> {
        if let (Some(Entry::Ordered(entry)), Some(loader)) = (self.entries.last(), self.loader.take()) {
            entry.pairs.add(loader.finish()?);
        }
        Ok(())
    }

    /// Adds a pair to the last table.
    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) -> Result<Malformed, Error> {
        self.state.check_load(&self.changes, key, value)?;
        let pushed = match (self.entries.last(), &mut self.loader) {
            (Some(Entry::Unordered(entry)), _) => self.state.write(|_| entry.load(key, value)),
            (Some(Entry::Ordered(_)), Some(loader)) => self.state.write(|_| loader.push(key, value)),
            _ => return Ok(Some("pairs follow a table")),
        };
        match pushed {
            Err(Error::NotAscending { .. }) => return Ok(Some("the keys of a table ascend")),
            pushed => pushed?,
        }
        if self.state.durability().is_some()
            && let Some(entry) = self.entries.last()
        {
            self.state.log_loaded(&mut self.changes, (entry.tree(), key, value));
        }
        Ok(None)
    }

    /// Makes all tables visible.
    pub(super) fn publish(mut self) -> Result<(), Error> {
        self.finish_last()?;
        let mut tables = self.state.directory.write();
        for entry in &self.entries {
            self.check_absent(entry.name(), tables.contains_key(entry.name()))?;
        }
        // Under the lock, so that a checkpoint has both the tables and their record, or neither.
        self.state.record(&self.changes)?;
        tables.extend(self.entries.drain(..).map(|entry| (entry.name().to_owned(), entry)));
        Ok(())
    }

    fn check_absent(&self, name: &str, exists: bool) -> Result<(), Error> {
        if exists { Err(Error::TableExists { name: name.to_owned() }) } else { Ok(()) }
    }
}

impl Drop for PendingTables<'_> {
    fn drop(&mut self) {
        self.loader = None;
        self.entries.iter().filter_map(Entry::root).for_each(|root| self.state.drop_or_defer(root));
    }
}

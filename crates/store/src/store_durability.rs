//! The durability of a store: the functions of its public API, and the hooks of its operations.

use std::sync::Arc;
use std::time::Duration;

use honeycomb_btree::{Outcome, Version};
use honeycomb_log::Changes;

use crate::batch::Batch;
use crate::directory::{Entry, TableEntry};
use crate::durability::log_state::LogState;
use crate::durability::state::Durability;
use crate::durability::{Checkpoint, DurabilityStatistics, Recovery, SyncPolicy};
use crate::error::Error;
use crate::store::Store;
use crate::store_state::StoreState;
use crate::table::Table;
use crate::table_handle::TableRef;
use crate::unordered::config::UnorderedConfig;
use crate::unordered::entry::UnorderedEntry;
use crate::unordered::table::UnorderedTable;
use crate::{table_name, unordered};

impl Store {
    /// Returns what the store has recovered from its files, or `None` if it is in memory only.
    #[must_use]
    pub fn recovery(&self) -> Option<Recovery> {
        self.state().durability().map(|durability| durability.recovery)
    }

    /// Returns the version up to which all writes are durable. In memory only, it is the read version.
    #[must_use]
    pub fn durable_version(&self) -> Version {
        let log = self.state().log();
        log.map_or_else(|| self.state().forest.read_version(), |log| log.durable_version())
    }

    /// Returns the newest version that readers see.
    #[must_use]
    pub fn read_version(&self) -> Version {
        self.state().forest.read_version()
    }

    /// Returns a version at or above that of the newest write to a key that readers see. When it is durable,
    /// so is all that an earlier get of the key depends on. It can be the version of a write to another key.
    /// In memory only, it is 0.
    #[must_use]
    pub fn newest_write<'t>(&self, table: impl Into<TableRef<'t>>, key: &[u8]) -> Version {
        let Some(log) = self.state().log() else { return 0 };
        // Loads the read version, so that the writes before it are visible in the slots.
        let read_version = self.state().forest.read_version();
        log.newest_writes.of(table.into().tree(), key).min(read_version)
    }

    /// Waits until all writes up to a version are durable, under every policy. A version above the read
    /// version counts as the read version.
    ///
    /// # Errors
    /// [`Error::NotDurable`] if the log has failed.
    pub fn wait_durable(&self, version: Version) -> Result<(), Error> {
        let version = version.min(self.read_version());
        self.state().log().map_or(Ok(()), |log| log.wait_durable(version))
    }

    /// Requests that all writes up to a version become durable soon, and returns whether they are durable
    /// now. The functions passed to [`Store::on_durable`] are called when more writes are durable.
    pub fn request_durable(&self, version: Version) -> bool {
        let Some(log) = self.state().log() else { return true };
        let version = version.min(self.read_version());
        log.request(version);
        log.durable_version() >= version
    }

    /// Calls a function whenever [`Store::durable_version`] has advanced, and when the log begins or ceases
    /// to refuse writes. The thread that writes the log calls it, so it must be short and must not write to
    /// the store.
    pub fn on_durable(&self, callback: Arc<dyn Fn() + Send + Sync>) {
        if let Some(log) = self.state().log() {
            log.on_durable(callback);
        }
    }

    /// Returns when writes are durable, or `None` if the store is in memory only.
    #[must_use]
    pub fn sync_policy(&self) -> Option<SyncPolicy> {
        self.state().log().map(|log| log.policy())
    }

    /// Changes when writes are durable, for later writes.
    ///
    /// # Errors
    /// [`Error::NoDirectory`].
    pub fn set_sync_policy(&self, policy: SyncPolicy) -> Result<(), Error> {
        let (state, newest) = (self.state(), || self.state().forest.newest_version());
        state.log().ok_or(Error::NoDirectory)?.set_policy(policy, newest);
        Ok(())
    }

    /// Changes whether the log has the values before changes
    /// ([`DurabilityConfig::old_values`](crate::DurabilityConfig::old_values)), for writes that begin after
    /// this call. Those in progress may have them or not. [`TableChange::old`](crate::TableChange::old)
    /// states it for each change.
    ///
    /// # Errors
    /// [`Error::NoDirectory`].
    pub fn set_old_values(&self, old_values: bool) -> Result<(), Error> {
        self.state().log().ok_or(Error::NoDirectory)?.set_old_values(old_values);
        Ok(())
    }

    /// Returns the error with which writes are refused now, if they are.
    ///
    /// # Errors
    /// [`Error::DiskFull`], [`Error::ReadOnly`].
    pub fn check_writable(&self) -> Result<(), Error> {
        self.state().log().map_or(Ok(()), |log| log.check_health())
    }

    /// Writes a checkpoint of the current state and returns when it is durable. Earlier log files are not
    /// needed then. All other operations continue meanwhile.
    ///
    /// # Errors
    /// [`Error::NoDirectory`]; [`Error::DiskFull`], [`Error::ReadOnly`], [`Error::Log`]: the earlier
    /// checkpoint is still valid;
    /// [`Error::SnapshotTooOld`] if writes need more memory than there is, so that the checkpoint has lost
    /// its lease several times.
    pub fn checkpoint(&self) -> Result<Checkpoint, Error> {
        let durability = self.state().durability().ok_or(Error::NoDirectory)?;
        durability.checkpoints.write()
    }

    /// Starts a checkpoint on a thread of the store. [`DurabilityStatistics`] has its result.
    ///
    /// # Errors
    /// [`Error::NoDirectory`].
    pub fn request_checkpoint(&self) -> Result<(), Error> {
        self.state().durability().ok_or(Error::NoDirectory)?.checkpoints.requests.request();
        Ok(())
    }

    /// Changes the time after which a checkpoint is due; `None`: never.
    ///
    /// # Errors
    /// [`Error::NoDirectory`].
    pub fn set_checkpoint_interval(&self, interval: Option<Duration>) -> Result<(), Error> {
        self.state().durability().ok_or(Error::NoDirectory)?.checkpoints.requests.set_interval(interval);
        Ok(())
    }

    /// Returns the statistics of the log and of checkpoints, or `None` if the store is in memory only.
    #[must_use]
    pub fn durability_statistics(&self) -> Option<DurabilityStatistics> {
        self.state().durability().map(Durability::statistics)
    }
}

impl StoreState {
    pub(crate) fn log(&self) -> Option<&Arc<LogState>> {
        self.durability().map(|durability| &durability.log)
    }

    /// Returns an error if the record of a bulk load or an image would be too long with one more pair.
    pub(crate) fn check_load(&self, record: &Changes, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.log().map_or(Ok(()), |log| log.check_load(record, key, value))
    }

    /// Adds a pair of a bulk load or an image, whose table had no pairs, to its record.
    pub(crate) fn log_loaded(&self, record: &mut Changes, (tree, key, value): (u64, &[u8], &[u8])) {
        if self.forest.has_old_values() {
            record.absent(tree);
        }
        record.put(tree, key, value);
    }

    /// Returns when the log accepts a record, or the error with which it refuses writes.
    #[inline]
    pub(crate) fn admit(&self) -> Result<(), Error> {
        match self.log() {
            Some(log) if !log.admits() => log.wait_for_room(),
            _ => Ok(()),
        }
    }

    /// Waits until everything that the caller can have written or read is durable, if writes wait.
    #[inline]
    pub(crate) fn settle(&self) -> Result<(), Error> {
        match self.durability() {
            Some(durability) => durability.settle(self.forest.read_version()),
            None => Ok(()),
        }
    }

    /// Waits until readers see all versions that writes to unordered tables have taken: a reader of such a
    /// table sees a write before its version is released.
    #[inline]
    pub(crate) fn catch_up(&self) {
        if self.durability().is_some() {
            self.forest.catch_up();
        }
    }

    /// Does what precedes several writes to an unordered table.
    pub(crate) fn prepare_writes(&self, writes: usize) -> Result<(), Error> {
        self.admit()?;
        self.run_periodic_work(writes);
        // If there is no room for the reserve, the writes find none either.
        let _ = self.reserve.fill(self.forest.memory());
        Ok(())
    }

    /// Adds a record that is not of a write to pairs.
    pub(crate) fn record(&self, changes: &Changes) -> Result<(), Error> {
        if self.durability().is_some() {
            self.admit()?;
            self.forest.record(changes)?;
        }
        Ok(())
    }

    /// Opens a table, and creates it if it does not exist.
    pub(crate) fn create_table(state: &Arc<Self>, name: &str) -> Result<Table, Error> {
        table_name::check(name)?;
        let handle = |entry: &Arc<TableEntry>| Table::new(state.clone(), entry.clone());
        if let Some(entry) = state.directory.read().get(name) {
            return entry.ordered().map(handle);
        }
        let mut tables = state.directory.write();
        if let Some(entry) = tables.get(name) {
            return entry.ordered().map(handle);
        }
        let root = state.write(|forest| forest.create_tree())?;
        let entry = Arc::new(state.entry(name, root)?);
        let mut changes = Changes::default();
        changes.create(root.lid().get(), name);
        // Under the lock, so that a checkpoint has both the table and its record, or neither.
        state.record(&changes).inspect_err(|_| state.drop_or_defer(root))?;
        tables.insert(name.to_owned(), Entry::Ordered(entry.clone()));
        Ok(handle(&entry))
    }

    /// Opens an unordered table, and creates it if it does not exist.
    pub(crate) fn create_unordered_table(
        state: &Arc<Self>,
        name: &str,
        config: UnorderedConfig,
    ) -> Result<UnorderedTable, Error> {
        table_name::check(name)?;
        let handle = |entry: &Arc<UnorderedEntry>| UnorderedTable::new(state.clone(), entry.clone());
        if let Some(entry) = state.directory.read().get(name) {
            return entry.unordered().map(handle);
        }
        let mut tables = state.directory.write();
        if let Some(entry) = tables.get(name) {
            return entry.unordered().map(handle);
        }
        let entry = state.unordered_entry(name, config)?;
        let mut changes = Changes::default();
        Entry::Unordered(entry.clone()).declare(&mut changes);
        // Under the lock, so that a checkpoint has both the table and its record, or neither.
        state.record(&changes)?;
        tables.insert(name.to_owned(), Entry::Unordered(entry.clone()));
        Ok(handle(&entry))
    }

    /// Removes a table and all its pairs. Returns false if there is none with this name.
    pub(crate) fn drop_table(&self, name: &str) -> Result<bool, Error> {
        let mut tables = self.directory.write();
        let Some(entry) = tables.get_mut(name) else { return Ok(false) };
        if entry.has_handles() {
            return Err(Error::TableInUse { name: name.to_owned() });
        }
        let mut changes = Changes::default();
        changes.drop_table(entry.tree());
        self.record(&changes)?;
        let root = entry.root();
        let removed = tables.remove(name);
        drop((tables, removed));
        if let Some(root) = root {
            self.drop_or_defer(root);
        }
        Ok(true)
    }

    /// Executes the writes of a batch one after the other.
    pub(crate) fn apply_each(
        &self,
        batch: &Batch,
        mut done: impl FnMut(usize, Result<Outcome, Error>),
    ) -> Result<(), Error> {
        batch.check_single()?;
        let mut index = 0;
        while index < batch.len() {
            let writes = unordered::batch::apply_run(self, batch, index, &mut done);
            if writes > 0 {
                index += writes;
                continue;
            }
            if let Err(error) = batch.check_function(index) {
                done(index, Err(error));
                index += 1;
                continue;
            }
            let operations = batch.operations_from(index);
            self.write_each(&operations, |offset, result| {
                if let Ok(outcome) = &result {
                    batch.record(index + offset, outcome);
                }
                done(index + offset, result);
            });
            index += operations.len();
        }
        Ok(())
    }
}

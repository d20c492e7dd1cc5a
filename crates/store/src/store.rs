//! The store: its tables by name, and the operations on more than one table.

use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;

use honeycomb_btree::{AccessCounts, BatchOutcome, Forest, Outcome};
use honeycomb_hashtable::Functions;

use crate::batch::Batch;
use crate::config::{Config, LeaseLimits};
use crate::directory::Entry;
use crate::durability::start::start;
use crate::error::Error;
use crate::reads::Reads;
use crate::snapshot::{Snapshot, SnapshotToken};
use crate::statistics::{MemoryStatistics, Statistics, VersionStatistics};
use crate::store_state::StoreState;
use crate::table::Table;
use crate::table_kind::TableKind;
use crate::unordered::config::UnorderedConfig;
use crate::unordered::table::UnorderedTable;
use crate::verify::Verified;
use crate::{image, unordered, verify};

/// A handle to a store: tables in one arena whose writes share one sequence of versions. Handles are cheap to
/// clone. The store is freed with its last handle ([`Store`], [`Table`], [`Snapshot`], [`Batch`], [`Reads`]
/// iterator or [`UnorderedTable`]).
#[derive(Clone)]
pub struct Store {
    state: Arc<StoreState>,
}

impl Store {
    /// Creates a store: an empty one, or with [`Config::durability`] the one whose files exist.
    ///
    /// # Errors
    /// [`Error::Log`] names the missing or corrupt file of a durable store; [`Error::DiskFull`] if there is
    /// no room for a log file; [`Error::OutOfMemory`] if the pairs do not fit into the memory.
    /// [`Error::InvalidConfig`] names the invalid parameter. [`Error::Reserve`] if the operating system
    /// cannot supply the memory. [`Error::Accelerator`] and [`Error::AcceleratorParameter`] if the
    /// accelerator is not available or rejects the configuration.
    pub fn open(config: Config) -> Result<Self, Error> {
        let state = Arc::new(StoreState::new(&config)?);
        start(&state, &config)?;
        Ok(Self { state })
    }

    /// Opens the table of this name (1 to 255 bytes), and creates it if it does not exist.
    ///
    /// # Errors
    /// [`Error::WrongKind`] if an unordered table has the name; [`Error::TableName`],
    /// [`Error::TooManyTables`], [`Error::OutOfMemory`]; in a durable store also [`Error::DiskFull`],
    /// [`Error::ReadOnly`] and [`Error::NotDurable`].
    pub fn table(&self, name: &str) -> Result<Table, Error> {
        let table = StoreState::create_table(&self.state, name)?;
        self.state.settle()?;
        Ok(table)
    }

    /// Opens the unordered table of this name (1 to 255 bytes), and creates it with these parameters if it
    /// does not exist. Names are unique among the tables of both kinds.
    ///
    /// # Errors
    /// [`Error::WrongKind`] if an ordered table has the name; [`Error::TableName`],
    /// [`Error::InvalidConfig`], [`Error::OutOfMemory`]; in a durable store also [`Error::DiskFull`],
    /// [`Error::ReadOnly`] and [`Error::NotDurable`].
    pub fn unordered_table(&self, name: &str, config: UnorderedConfig) -> Result<UnorderedTable, Error> {
        let table = StoreState::create_unordered_table(&self.state, name, config)?;
        self.state.settle()?;
        Ok(table)
    }

    /// Returns the kind of the table of this name, or `None` if there is none.
    #[must_use]
    pub fn table_kind(&self, name: &str) -> Option<TableKind> {
        self.state.directory.read().get(name).map(Entry::kind)
    }

    /// Returns the names of all tables in ascending order.
    #[must_use]
    pub fn tables(&self) -> Vec<String> {
        self.state.directory.read().keys().cloned().collect()
    }

    /// Removes a table and all its pairs. Returns false if no table has this name.
    ///
    /// # Errors
    /// [`Error::TableInUse`] while handles to the table exist; in a durable store also [`Error::DiskFull`],
    /// [`Error::ReadOnly`] and [`Error::NotDurable`].
    pub fn drop_table(&self, name: &str) -> Result<bool, Error> {
        let existed = self.state.drop_table(name)?;
        self.state.settle()?;
        Ok(existed)
    }

    /// Executes all of `reads` together and stores the results in `reads`.
    ///
    /// # Errors
    /// [`Error::ForeignTable`]; [`Error::Accelerator`] if the accelerator violates its contract.
    pub fn read(&self, reads: &mut Reads) -> Result<(), Error> {
        reads.tables().try_for_each(|table| table.check_store(&self.state))?;
        reads.run(&self.state.lanes)?;
        if reads.has_unordered() {
            self.state.catch_up();
        }
        Ok(())
    }

    /// Applies a batch atomically: all of its writes at one moment and under one version, or none of them.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ValueLength`], [`Error::BatchTooLarge`], [`Error::ForeignTable`],
    /// [`Error::OutOfMemory`]; [`Error::MvccOff`] if the batch contains [`Batch::unchanged`] and the store
    /// has no versions; in a durable store also [`Error::DiskFull`], [`Error::ReadOnly`] and
    /// [`Error::NotDurable`]. If the batch fails because of a rejected write or a changed range, the result
    /// is not an error but [`BatchOutcome::Rejected`].
    pub fn apply(&self, batch: &Batch) -> Result<BatchOutcome, Error> {
        batch.tables().iter().try_for_each(|table| table.check_store(&self.state))?;
        batch.check_functions()?;
        self.state.run_periodic_work(batch.len());
        let outcome = if batch.has_unordered() {
            unordered::batch::apply(&self.state, batch)
        } else {
            let entries = batch.entries();
            let apply = |forest: &Forest| forest.apply_entries(&entries);
            if batch.only_removes() { self.state.remove(apply) } else { self.state.write(apply) }
        }?;
        if let BatchOutcome::Applied { outcomes, .. } = &outcome {
            outcomes.iter().enumerate().for_each(|(index, outcome)| batch.record(index, outcome));
        }
        self.state.settle()?;
        Ok(outcome)
    }

    /// Executes the writes of a batch one after the other, each as its own operation, and passes the result
    /// of each to `done`. This takes less time than one call per write, because the store prefetches the
    /// memory that the writes read. The number of entries is unlimited.
    ///
    /// ```
    /// use honeycomb_store::{Batch, Config, Store};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let names = store.table("names")?;
    /// let mut batch = Batch::default();
    /// batch.insert(&names, b"ada", b"1815").insert(&names, b"ada", b"1816").put(&names, b"bob", b"1907");
    /// let mut wrote = Vec::new();
    /// store.apply_each(&batch, |_, outcome| wrote.push(outcome.is_ok_and(|outcome| outcome.wrote())))?;
    /// assert_eq!(wrote, [true, false, true]);
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::ForeignTable`], [`Error::NotSingleWrite`]: the store writes nothing. `done` receives the
    /// errors of single writes. With [`SyncPolicy::Always`](crate::SyncPolicy::Always) the writes are durable
    /// when the call returns, and not yet when `done` receives their results; [`Error::NotDurable`] if the
    /// log has failed meanwhile.
    pub fn apply_each(
        &self,
        batch: &Batch,
        done: impl FnMut(usize, Result<Outcome, Error>),
    ) -> Result<(), Error> {
        batch.tables().iter().try_for_each(|table| table.check_store(&self.state))?;
        self.state.apply_each(batch, done)?;
        self.state.settle()
    }

    /// Takes a snapshot of the current state, with the limits of [`Config::lease`].
    ///
    /// # Errors
    /// [`Error::MvccOff`], [`Error::TooManySnapshots`].
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        self.snapshot_with(self.state.lease_limits)
    }

    /// Takes a snapshot of the current state, with the given limits.
    ///
    /// # Errors
    /// The same as for [`Store::snapshot`].
    pub fn snapshot_with(&self, limits: LeaseLimits) -> Result<Snapshot, Error> {
        Snapshot::take(&self.state, limits)
    }

    /// Returns another handle to the snapshot with this token.
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`] if the snapshot has ended, [`Error::UnknownSnapshot`] if this store never
    /// issued the token.
    pub fn resume(&self, token: SnapshotToken) -> Result<Snapshot, Error> {
        Snapshot::resume(&self.state, token)
    }

    /// Advances the maintenance that frees memory when no thread writes: a compaction pass, which merges
    /// leaves that deletes left sparse, and the reclaiming of retired memory. It visits about `leaves`
    /// leaves, each for up to a microsecond, and merges adjacent leaves that fit into fewer, which takes some
    /// microseconds each. It also frees the memory of [cleared](UnorderedTable::clear) tables: of about
    /// `leaves` chains of buckets. It also merges free slabs of about `leaves` pages of unordered tables that
    /// were idle since the previous call, and gives free pages back. It retries the drops of tables that
    /// found no memory before. Returns true if more work is due now.
    ///
    /// Every 32nd write of a thread and each write that finds no room do the same work, except for that on
    /// unordered tables, so a program that writes regularly need not call this for ordered tables. After it
    /// has returned false, the nodes occupy at most twice the memory that the same pairs occupy after a bulk
    /// load, plus the space of recent deletes: a 64th of the bytes of all nodes, and 64 KiB.
    ///
    /// ```
    /// use honeycomb_store::{Config, Store};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let table = store.table("numbers")?;
    /// table.load_sorted((0..10_000_u32).map(|number| (number.to_be_bytes(), [0; 200])))?;
    /// let loaded = store.statistics().memory.nodes;
    /// for number in (0..10_000_u32).filter(|number| number % 2 == 0) {
    ///     table.delete(&number.to_be_bytes())?;
    /// }
    /// while store.maintain(64) {}
    /// assert!(store.statistics().memory.nodes < loaded * 2 / 3);
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    pub fn maintain(&self, leaves: usize) -> bool {
        self.state.retry_drops();
        let more = self.state.compaction.maintain(&self.state, leaves)
            | self.state.free_cleared(leaves)
            | self.state.merge_slabs(leaves);
        self.state.forest.memory().reclaim();
        more
    }

    /// Returns counts of tables, pairs, bytes, versions, snapshots and structural changes.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics::of(&self.state)
    }

    /// Returns the free bytes of the arena, and the retired bytes, which become free once no operation and no
    /// snapshot needs them. Both are part of [`Store::statistics`], which takes longer.
    #[must_use]
    pub fn free_and_retired_bytes(&self) -> (usize, usize) {
        let memory = MemoryStatistics::of(&self.state);
        (memory.free_bytes, memory.retired_bytes)
    }

    /// Returns the bytes of the pages of unordered tables that new pairs of these tables use before the
    /// tables need more memory. An unordered table keeps its buckets when pairs are deleted.
    #[must_use]
    pub fn reusable_bytes(&self) -> usize {
        let directory = self.state.directory.read();
        let unordered = directory.values().filter_map(|entry| entry.unordered().ok());
        unordered.map(|entry| entry.table.reusable_bytes()).sum()
    }

    /// Returns the statistics about versions: a part of [`Store::statistics`] that takes almost no time.
    #[must_use]
    pub fn versions(&self) -> VersionStatistics {
        VersionStatistics::of(&self.state)
    }

    /// Returns how many nodes, bytes and cache lines key searches have read, by tree level and by block, or
    /// `None` if the accelerator does not count them. The software accelerator counts them if
    /// [`Software::count_accesses`] is set.
    ///
    /// [`Software::count_accesses`]: crate::Software::count_accesses
    #[must_use]
    pub fn access_counts(&self) -> Option<AccessCounts> {
        self.state.lanes.accelerator().access_counts()
    }

    /// Checks every invariant of every table, and that every byte of the arena is free, live or retired. This
    /// takes as long as reading all data once.
    ///
    /// # Errors
    /// [`Error::InUse`] unless this is the only handle; [`Error::Corrupt`] describes the violated invariant.
    pub fn verify(&mut self) -> Result<Verified, Error> {
        let state = &self.state;
        let _paused = state.durability().map(|durability| durability.checkpoints.requests.pause());
        let others = Arc::strong_count(state) - 1;
        if others > 0 {
            return Err(Error::InUse { others });
        }
        verify::verify(state)
    }

    /// Writes an image of all tables in their current state, and returns the number of pairs. It reads one
    /// snapshot, whose lease it renews after every page. Without MVCC the caller must ensure that no thread
    /// writes meanwhile. In a durable store all writes of the image are durable when it ends, so that a
    /// restore can continue it with the log. After a failure of the log the image belongs to no log.
    ///
    /// # Errors
    /// [`Error::Image`] if `writer` fails; [`Error::TooManySnapshots`], [`Error::SnapshotTooOld`];
    /// [`Error::DiskFull`], [`Error::NotDurable`]: the log does not get all writes of the image.
    pub fn save(&self, writer: impl Write) -> Result<u64, Error> {
        image::save(&self.state, writer)
    }

    /// Adds the tables of an image, and returns the number of their pairs. All tables become visible
    /// together, after the end of the image was read. Bytes after the end of the image stay in `reader`.
    ///
    /// # Errors
    /// [`Error::Image`] if `reader` fails or its bytes are not exactly those that [`Store::save`] wrote;
    /// [`Error::TableExists`] if the store already has a table of the image; [`Error::OutOfMemory`];
    /// [`Error::KeyLength`] if the nodes of this store are too small for the keys of the image. After an
    /// error the tables of the store are unchanged.
    pub fn load(&self, reader: impl Read) -> Result<u64, Error> {
        let pairs = image::load(&self.state, reader)?;
        self.state.settle()?;
        Ok(pairs)
    }

    /// Returns the functions of operations on elements: the built-in ones and those of [`Config::functions`].
    #[must_use]
    pub fn functions(&self) -> &Functions {
        self.state.functions()
    }

    pub(crate) fn state(&self) -> &Arc<StoreState> {
        &self.state
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("tables", &self.tables()).finish_non_exhaustive()
    }
}

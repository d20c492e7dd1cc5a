//! Stores: tables by name, and what concerns more than one of them.

use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;

use honeycomb_btree::{AccessCounts, BatchOutcome, Forest, Outcome, Verified};

use crate::batch::Batch;
use crate::config::{Config, LeaseLimits};
use crate::directory::{self, Entry};
use crate::error::Error;
use crate::image;
use crate::reads::Reads;
use crate::shared::StoreState;
use crate::snapshot::{Snapshot, SnapshotToken};
use crate::statistics::{MemoryStatistics, Statistics, VersionStatistics};
use crate::table::Table;

/// A handle on a store: tables in one arena, under one order of versions. Cheap to clone; the store goes away
/// with its last handle ([`Store`], [`Table`], [`Snapshot`], [`Batch`] or iterator).
#[derive(Clone)]
pub struct Store {
    shared: Arc<StoreState>,
}

impl Store {
    /// Makes an empty store.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] says which parameter is not allowed, [`Error::Reserve`] that there is no
    /// memory.
    pub fn open(config: Config) -> Result<Self, Error> {
        Ok(Self { shared: Arc::new(StoreState::new(&config)?) })
    }

    /// Opens a table, making it if there is none of this name (1 to 255 bytes).
    ///
    /// # Errors
    /// [`Error::TableName`], [`Error::OutOfMemory`].
    pub fn table(&self, name: &str) -> Result<Table, Error> {
        directory::check_name(name)?;
        if let Some(entry) = self.shared.directory.read().get(name) {
            return Ok(self.handle(entry));
        }
        let mut tables = self.shared.directory.write();
        if let Some(entry) = tables.get(name) {
            return Ok(self.handle(entry));
        }
        let root = self.shared.write(|forest| forest.create_tree())?;
        let entry = Arc::new(self.shared.entry(name, root)?);
        tables.insert(name.to_owned(), entry.clone());
        Ok(Table::new(self.shared.clone(), entry))
    }

    /// The names of all tables, in order.
    #[must_use]
    pub fn tables(&self) -> Vec<String> {
        self.shared.directory.read().keys().cloned().collect()
    }

    /// Removes a table and all its pairs: false if there is none of this name.
    ///
    /// # Errors
    /// [`Error::TableInUse`] while there are handles on the table.
    pub fn drop_table(&self, name: &str) -> Result<bool, Error> {
        let mut tables = self.shared.directory.write();
        let Some(entry) = tables.get_mut(name) else { return Ok(false) };
        // New handles are made from existing ones and from the directory, which is locked.
        let Some(&mut Entry { root, .. }) = Arc::get_mut(entry) else {
            return Err(Error::TableInUse { name: name.to_owned() });
        };
        tables.remove(name);
        drop(tables);
        self.shared.abandon(root);
        Ok(true)
    }

    /// Runs reads together; `reads` then has their answers.
    ///
    /// # Errors
    /// [`Error::ForeignTable`]; [`Error::Accelerator`] if the accelerator breaks its contract.
    pub fn read(&self, reads: &mut Reads) -> Result<(), Error> {
        reads.tables().iter().try_for_each(|table| table.check_store(&self.shared))?;
        reads.run(&self.shared.lanes)
    }

    /// Applies a batch: all of it at one moment and under one version, or nothing.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ValueLength`], [`Error::BatchTooLarge`], [`Error::ForeignTable`],
    /// [`Error::OutOfMemory`]; [`Error::MvccOff`] if ranges are to be unchanged and there are no versions. A
    /// write that is refused, and a range that has changed, is no error, but [`BatchOutcome::Refused`].
    pub fn apply(&self, batch: &Batch) -> Result<BatchOutcome, Error> {
        batch.tables().iter().try_for_each(|table| table.check_store(&self.shared))?;
        self.shared.look_after(batch.len());
        let entries = batch.entries();
        let apply = |forest: &Forest| forest.apply_entries(&entries);
        let outcome =
            if batch.only_removes() { self.shared.remove(apply) } else { self.shared.write(apply) }?;
        if let BatchOutcome::Applied { outcomes, .. } = &outcome {
            outcomes.iter().enumerate().for_each(|(index, outcome)| batch.table(index).note(outcome));
        }
        Ok(outcome)
    }

    /// Carries out the writes of a batch one after the other, each for itself, and tells `done` what came of
    /// each. It takes less time than one call for each: what they read of memory is asked for ahead. There
    /// may be any number of them.
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
    /// [`Error::ForeignTable`], [`Error::NotOneWrite`], and nothing is written. `done` is told the errors of
    /// a single write.
    pub fn apply_each(
        &self,
        batch: &Batch,
        mut done: impl FnMut(usize, Result<Outcome, Error>),
    ) -> Result<(), Error> {
        batch.tables().iter().try_for_each(|table| table.check_store(&self.shared))?;
        self.shared.write_each(&batch.operations()?, |index, result| {
            if let Ok(outcome) = &result {
                batch.table(index).note(outcome);
            }
            done(index, result);
        });
        Ok(())
    }

    /// A snapshot of what is visible now, with the limits of [`Config::lease`].
    ///
    /// # Errors
    /// [`Error::MvccOff`], [`Error::TooManySnapshots`].
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        self.snapshot_with(self.shared.lease_limits)
    }

    /// A snapshot of what is visible now, with limits of its own.
    ///
    /// # Errors
    /// As [`Store::snapshot`].
    pub fn snapshot_with(&self, limits: LeaseLimits) -> Result<Snapshot, Error> {
        Snapshot::take(&self.shared, limits)
    }

    /// Another handle on a snapshot whose token was taken.
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`] if the snapshot has ended, [`Error::UnknownSnapshot`] if there never was
    /// such a token.
    pub fn resume(&self, token: SnapshotToken) -> Result<Snapshot, Error> {
        Snapshot::resume(&self.shared, token)
    }

    /// Goes on with what gives memory back although nobody writes: compaction, which joins nodes that deletes
    /// left sparse, and reclaiming. It looks at about as many leaves as `leaves` says, each for up to a
    /// microsecond, and joins those that fit into fewer, some microseconds each. True if there is more to do
    /// now.
    ///
    /// Writes do this as well, every 32nd of a thread and each that finds no room. So who writes need not
    /// call it. After it has returned false the nodes take at most twice the memory that the pairs take when
    /// they are loaded, but for what the last 64th of all bytes to be deleted has left, and 64 KiB.
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
        let more = self.shared.compaction.maintain(&self.shared, leaves);
        self.shared.forest.memory().reclaim();
        more
    }

    /// What the store holds and what has happened in it.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        Statistics::of(&self.shared)
    }

    /// Bytes of the arena that are free, and bytes that will be once no operation and no snapshot needs them:
    /// a part of [`Store::statistics`].
    #[must_use]
    pub fn spare_bytes(&self) -> (usize, usize) {
        let memory = MemoryStatistics::of(&self.shared);
        (memory.free_bytes, memory.retired_bytes)
    }

    /// Versions, and how far readers had to go back: a part of [`Store::statistics`] that costs next to
    /// nothing.
    #[must_use]
    pub fn versions(&self) -> VersionStatistics {
        VersionStatistics::of(&self.shared)
    }

    /// What looking for keys has touched of memory: nodes, bytes and cache lines, by level and block. None if
    /// the accelerator does not count it; the software accelerator does if [`Software::count_touched`] says
    /// so.
    ///
    /// [`Software::count_touched`]: crate::Software::count_touched
    #[must_use]
    pub fn touched(&self) -> Option<AccessCounts> {
        self.shared.lanes.accelerator().touched()
    }

    /// Checks every invariant of every tree, and that every byte of the arena is accounted for. Takes the
    /// time of reading everything once.
    ///
    /// # Errors
    /// [`Error::InUse`] unless this is the only handle; [`Error::Corrupt`] says what is wrong.
    pub fn verify(&mut self) -> Result<Verified, Error> {
        let others = Arc::strong_count(&self.shared) - 1;
        let Some(shared) = Arc::get_mut(&mut self.shared) else { return Err(Error::InUse { others }) };
        let mut roots = shared.abandoned().clone();
        roots.extend(shared.directory.read().values().map(|entry| entry.root));
        // Nobody refers to the reserve's buffers: they would count as lost.
        shared.reserve.give_up(shared.forest.memory());
        shared.forest.verify(&roots).map_err(|violation| Error::Corrupt(violation.to_string()))
    }

    /// Writes an image of all tables as they are now: how many pairs that are. It is written under a
    /// snapshot, which is renewed with every page; without MVCC the caller has to see to it that nobody
    /// writes.
    ///
    /// # Errors
    /// [`Error::Image`] if `writer` fails; [`Error::TooManySnapshots`], [`Error::SnapshotTooOld`].
    pub fn save(&self, writer: impl Write) -> Result<u64, Error> {
        image::save(&self.shared, writer)
    }

    /// Adds the tables of an image: how many pairs they have. Nothing of them is visible before all are.
    /// Reads no further than to the image's end.
    ///
    /// # Errors
    /// [`Error::Image`] if `reader` fails or what it reads is not exactly what [`Store::save`] wrote;
    /// [`Error::TableExists`] if the store has a table of the image already; [`Error::OutOfMemory`]; and
    /// [`Error::KeyLength`] if this store's nodes are too small for the image's keys. The store's tables are
    /// as they were then.
    pub fn load(&self, reader: impl Read) -> Result<u64, Error> {
        image::load(&self.shared, reader)
    }

    fn handle(&self, entry: &Arc<Entry>) -> Table {
        Table::new(self.shared.clone(), entry.clone())
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("tables", &self.tables()).finish_non_exhaustive()
    }
}

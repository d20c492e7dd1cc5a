//! The index of deadlines: the pairs with a deadline, in the order of their deadlines.
//!
//! The index is a table of the store that clients cannot select. Its [keys](entry) begin with the deadline,
//! so the pairs that are due come first.
//!
//! 1. Every pair with a deadline has an entry. A write that sets a deadline puts pair and entry in one atomic
//!    batch, or it first puts the entry and then the pair, in a [window](windows). The envelope of the pair
//!    is authoritative: an entry that differs from it is stale.
//! 2. Stale entries remain after writes that replace a pair without reading it, after deletions and after
//!    `FLUSHDB`. The [reaper](crate::reaper) removes them.
//! 3. Each write of an entry has a unique stamp. To remove an entry, the reaper compares the stamp that it
//!    read before it read the pair. It therefore never removes an entry that was written since.
//! 4. Each new entry adds to a debt, and the reaper pays the debt by checking two entries for each new one.
//!    The index therefore has at most about twice as many entries as there are pairs with a deadline.

mod entry;
mod survey;
mod windows;

use std::cell::{Cell, RefCell};

use honeycomb_memory::sync::{AtomicU64, Ordering};
use honeycomb_store::{Batch, Error, Scan, Store, Table, TableHandle};

use crate::deadlines::windows::Windows;
use crate::envelope::Envelope;
pub(crate) use entry::{Due, due_until};
pub(crate) use survey::Survey;
pub(crate) use windows::{Stamp, Window};

/// The name of the table. It is not a number, so no client can select it.
pub(crate) const TABLE_NAME: &str = ".deadlines";
/// Entries that the reaper checks for each new entry.
const CHECKS_PER_WRITE: u64 = 2;
/// Maximum number of expired pairs that a core records for the reaper. The reaper finds further ones later.
const RECORDED_MAX: usize = 256;
/// Maximum number of overdue entries that are counted.
const OVERDUE_MAX: usize = 1 << 16;

thread_local! {
    /// Expired pairs that this core has found since the reaper last ran.
    static EXPIRED: RefCell<Vec<Due>> = const { RefCell::new(Vec::new()) };
    /// Entries that this core has written since the reaper last ran.
    static WRITTEN: Cell<u64> = const { Cell::new(0) };
}

/// The index of deadlines.
#[derive(Debug)]
pub(crate) struct Deadlines {
    table: Table,
    /// The tables with the pairs, by slot. A table keeps its slot when `SWAPDB` changes its number.
    tables: Vec<TableHandle>,
    stamps: AtomicU64,
    /// Entries that the reaper still has to check.
    debt: AtomicU64,
    /// Entries whose pairs are not written yet.
    windows: Windows,
}

impl Deadlines {
    /// Opens the index for some tables of a store, whose names are their slots, and a number of cores.
    pub(crate) fn open(store: &Store, tables: &[TableHandle], cores: usize) -> Result<Self, Error> {
        let (table, windows) = (store.table(TABLE_NAME)?, Windows::of(cores));
        // Other stamps than those of entries that an earlier process has written.
        let first = store.recovery().map_or(0, |recovery| recovery.version);
        let (stamps, debt) = (AtomicU64::new(first), AtomicU64::new(0));
        Ok(Self { table, tables: tables.to_vec(), stamps, debt, windows })
    }

    /// Returns whether a write changes the index: it sets a deadline that the old value is not known to have.
    pub(crate) fn concerns(seen: Option<&[u8]>, change: Option<&[u8]>) -> bool {
        change.is_some() && deadline(change) != deadline(seen)
    }

    /// Adds the changes of the index by a write to a batch. `seen` is the old value of the pair, if it is
    /// known.
    pub(crate) fn write_into(
        &self,
        batch: &mut Batch,
        table: &TableHandle,
        key: &[u8],
        seen: Option<&[u8]>,
        change: Option<&[u8]>,
    ) {
        let (before, after) = (deadline(seen), deadline(change));
        if before == after {
            return;
        }
        let due = |deadline: Option<u64>| Due::of(slot(table)?, key, deadline?);
        if let Some(before) = due(before) {
            batch.delete(&self.table, &before.index_key(&self.table));
        }
        if let Some(after) = due(after) {
            self.put_into(batch, &after, self.stamp());
        }
    }

    /// Adds the entry of a pair to a batch that is applied before the pair is written. Returns the stamp of
    /// the entry. Both writes must happen in a [window](Self::open_window) that begins with this stamp or an
    /// earlier one.
    pub(crate) fn put_ahead(
        &self,
        batch: &mut Batch,
        table: &TableHandle,
        key: &[u8],
        deadline: u64,
    ) -> Stamp {
        let stamp = self.stamp();
        if let Some(due) = slot(table).and_then(|slot| Due::of(slot, key, deadline)) {
            self.put_into(batch, &due, stamp);
        }
        stamp
    }

    /// Removes an entry whose pair was not written, unless a later write has renewed it.
    pub(crate) fn remove_entry(
        &self,
        table: &TableHandle,
        key: &[u8],
        deadline: u64,
        stamp: Stamp,
    ) -> Result<(), Error> {
        let Some(due) = slot(table).and_then(|slot| Due::of(slot, key, deadline)) else { return Ok(()) };
        let (key, value) = (due.index_key(&self.table), due.index_value(&self.table, stamp));
        self.table.compare_and_delete(&key, &value).map(drop)
    }

    /// Opens a window in which a core writes entries with stamps from `first` on, and then their pairs. These
    /// entries are not stale until the window is dropped.
    pub(crate) fn open_window(&self, core: usize, first: Stamp) -> Window<'_> {
        self.windows.open(core, first)
    }

    /// Returns whether the pair of an entry may not be written yet. The caller must check this after it has
    /// read the entry and before it reads the pair.
    pub(crate) fn is_pending(&self, index_value: &[u8]) -> bool {
        entry::stamp(index_value).is_some_and(|stamp| self.windows.contain(stamp))
    }

    fn put_into(&self, batch: &mut Batch, due: &Due, stamp: Stamp) {
        batch.put(&self.table, &due.index_key(&self.table), &due.index_value(&self.table, stamp));
        self.debt.fetch_add(CHECKS_PER_WRITE, Ordering::Relaxed);
        WRITTEN.set(WRITTEN.get() + 1);
    }

    /// Adds the entry of a pair that existed before the server started.
    pub(crate) fn add(&self, slot: usize, key: &[u8], deadline: u64) -> Result<(), Error> {
        let Some(due) = Due::of(slot, key, deadline) else { return Ok(()) };
        self.table.put(&due.index_key(&self.table), &due.index_value(&self.table, self.stamp()))
    }

    /// Records an expired pair for the reaper.
    #[cold]
    pub(crate) fn record_expired(table: &TableHandle, key: &[u8], deadline: u64) {
        let Some(due) = slot(table).and_then(|slot| Due::of(slot, key, deadline)) else { return };
        EXPIRED.with_borrow_mut(|found| {
            if found.len() < RECORDED_MAX {
                found.push(due);
            }
        });
    }

    /// Returns whether this core has recorded any.
    #[inline]
    pub(crate) fn has_recorded() -> bool {
        EXPIRED.with_borrow(|found| !found.is_empty())
    }

    /// Removes and returns one recorded pair.
    pub(crate) fn take_recorded() -> Option<Due> {
        EXPIRED.with_borrow_mut(Vec::pop)
    }

    /// Returns the number of entries that this core has written since the last call.
    pub(crate) fn take_write_count() -> u64 {
        WRITTEN.take()
    }

    /// Returns the tables with the pairs, by slot.
    pub(crate) fn tables(&self) -> &[TableHandle] {
        &self.tables
    }

    /// Returns the table with the entries.
    pub(crate) fn index(&self) -> &Table {
        &self.table
    }

    /// Returns the number of entries, including stale ones.
    pub(crate) fn entries(&self) -> u64 {
        self.table.pair_count()
    }

    /// Returns the number of entries past their deadline, including stale ones, up to [`OVERDUE_MAX`].
    pub(crate) fn overdue(&self, now: u64) -> Result<u64, Error> {
        let until = due_until(now);
        let scan = Scan::range(..&until[..]).keys_only().limit(OVERDUE_MAX);
        Ok(self.table.scan(&scan)?.len() as u64)
    }

    /// Returns the overdue entries in percent of all entries.
    pub(crate) fn overdue_percent(&self, now: u64) -> f64 {
        let overdue = self.overdue(now).unwrap_or(0) as f64;
        100.0 * overdue / self.entries().max(1) as f64
    }

    /// Returns the number of entries to check.
    #[inline]
    pub(crate) fn debt(&self) -> u64 {
        self.debt.load(Ordering::Relaxed)
    }

    /// Changes the debt. It never falls below zero.
    pub(crate) fn owe(&self, more: u64, less: u64) {
        let change = |debt: u64| Some((debt + more).saturating_sub(less));
        let _ = self.debt.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
    }

    fn stamp(&self) -> Stamp {
        self.stamps.fetch_add(1, Ordering::Relaxed) as Stamp
    }
}

/// Returns the deadline in a stored value, or `None` if the pair has no deadline, does not exist or is
/// unknown.
fn deadline(value: Option<&[u8]>) -> Option<u64> {
    Envelope::open(value?)?.expires_at
}

/// Returns the slot of a table, which is its constant name.
pub(crate) fn slot(table: &TableHandle) -> Option<usize> {
    table.name().parse().ok()
}

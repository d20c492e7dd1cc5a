//! The index of deadlines: which pairs expire, in the order in which they do.
//!
//! A table of the store that clients cannot select. Its [keys](entry) begin with the deadline, so the pairs
//! that are due are the first ones.
//!
//! 1. Every pair that expires has its entry: a write that gives a pair a deadline puts both in one atomic
//!    batch, or first the entry and then the pair, in a [window](windows). The pair's own envelope is what
//!    counts; an entry that it does not agree with is stale.
//! 2. Stale entries are left behind by writes that do not read the pair that they replace, by deletions and
//!    by `FLUSHDB`. The [reaper](crate::reaper) removes them.
//! 3. Each entry has a stamp that no other write of it has. Who removes an entry compares the stamp that it
//!    read before it read the pair: so it removes none that was put since.
//! 4. Every entry that is put adds to a debt, which the reaper pays by looking at two entries each: so there
//!    are at most about twice as many entries as pairs that expire.

mod entry;
mod survey;
mod windows;

use std::cell::{Cell, RefCell};

use honeycomb_memory::sync::{AtomicU64, Ordering};
use honeycomb_store::{Batch, Error, Scan, Store, Table};

pub(crate) use entry::{Due, due_until};
pub(crate) use survey::Survey;
pub(crate) use windows::{Stamp, Window};

use crate::deadlines::windows::Windows;
use crate::envelope::Envelope;

/// The name of the table. No number that clients select is written like this.
pub(crate) const TABLE_NAME: &str = ".deadlines";
/// Entries that are looked at for each one that is put.
const CHECKS_A_PUT: u64 = 2;
/// Pairs found expired that a core keeps for the reaper; what is more than that is found by it later.
const FOUND_MAX: usize = 256;
/// Entries that are counted as past their time, at most.
const OVERDUE_MAX: usize = 1 << 16;

thread_local! {
    /// What this core has found expired since the reaper last asked.
    static FOUND: RefCell<Vec<Due>> = const { RefCell::new(Vec::new()) };
    /// Entries that this core has put since the reaper last asked.
    static PUT: Cell<u64> = const { Cell::new(0) };
}

/// The index.
#[derive(Debug)]
pub(crate) struct Deadlines {
    table: Table,
    /// The tables with the pairs, by slot: a table keeps its slot, whatever number clients select it by.
    tables: Vec<Table>,
    stamps: AtomicU64,
    /// Entries that the reaper is still to look at.
    debt: AtomicU64,
    /// Entries whose pairs are about to be written.
    windows: Windows,
}

impl Deadlines {
    /// The index of some tables of a store, whose names are their slots, for a server of so many cores.
    pub(crate) fn open(store: &Store, tables: &[Table], cores: usize) -> Result<Self, Error> {
        let (table, windows) = (store.table(TABLE_NAME)?, Windows::of(cores));
        let (stamps, debt) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Self { table, tables: tables.to_vec(), stamps, debt, windows })
    }

    /// Whether a write changes the index: the pair gets a deadline that it is not known to have.
    pub(crate) fn concerns(seen: Option<&[u8]>, change: Option<&[u8]>) -> bool {
        change.is_some() && deadline(change) != deadline(seen)
    }

    /// Adds to a batch what a write changes in the index. `seen` is the pair's value before, if it is known.
    pub(crate) fn write_into(
        &self,
        batch: &mut Batch,
        table: &Table,
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

    /// Adds the entry of a pair to a batch that is applied before the pair is put. Both are to happen in a
    /// [window](Self::open_window) that begins with the stamp which this returns, or an earlier one.
    pub(crate) fn put_ahead(&self, batch: &mut Batch, table: &Table, key: &[u8], deadline: u64) -> Stamp {
        let stamp = self.stamp();
        if let Some(due) = slot(table).and_then(|slot| Due::of(slot, key, deadline)) {
            self.put_into(batch, &due, stamp);
        }
        stamp
    }

    /// Removes an entry that was put ahead of its pair, unless it was put again since.
    pub(crate) fn take_back(
        &self,
        table: &Table,
        key: &[u8],
        deadline: u64,
        stamp: Stamp,
    ) -> Result<(), Error> {
        let Some(due) = slot(table).and_then(|slot| Due::of(slot, key, deadline)) else { return Ok(()) };
        let (key, value) = (due.index_key(&self.table), due.index_value(&self.table, stamp));
        self.table.compare_and_delete(&key, &value).map(drop)
    }

    /// A core puts entries with stamps from `first` on, and then their pairs: until the window is dropped
    /// none of them is stale.
    pub(crate) fn open_window(&self, core: usize, first: Stamp) -> Window<'_> {
        self.windows.open(core, first)
    }

    /// Whether the pair of an entry may be about to be put. Who has read the entry is to ask this before he
    /// reads the pair.
    pub(crate) fn is_being_put(&self, index_value: &[u8]) -> bool {
        entry::stamp(index_value).is_some_and(|stamp| self.windows.hold(stamp))
    }

    fn put_into(&self, batch: &mut Batch, due: &Due, stamp: Stamp) {
        batch.put(&self.table, &due.index_key(&self.table), &due.index_value(&self.table, stamp));
        self.debt.fetch_add(CHECKS_A_PUT, Ordering::Relaxed);
        PUT.set(PUT.get() + 1);
    }

    /// Adds the entry of a pair that was in the store before the server was.
    pub(crate) fn add(&self, slot: usize, key: &[u8], deadline: u64) -> Result<(), Error> {
        let Some(due) = Due::of(slot, key, deadline) else { return Ok(()) };
        self.table.put(&due.index_key(&self.table), &due.index_value(&self.table, self.stamp()))
    }

    /// Notes for the reaper that a pair was found expired.
    #[cold]
    pub(crate) fn found_expired(table: &Table, key: &[u8], deadline: u64) {
        let Some(due) = slot(table).and_then(|slot| Due::of(slot, key, deadline)) else { return };
        FOUND.with_borrow_mut(|found| {
            if found.len() < FOUND_MAX {
                found.push(due);
            }
        });
    }

    /// Whether this core has noted any.
    #[inline]
    pub(crate) fn has_found() -> bool {
        FOUND.with_borrow(|found| !found.is_empty())
    }

    /// One that this core has noted, which is forgotten.
    pub(crate) fn take_found() -> Option<Due> {
        FOUND.with_borrow_mut(Vec::pop)
    }

    /// How many entries this core has put since this was last asked.
    pub(crate) fn take_put() -> u64 {
        PUT.take()
    }

    /// The tables with the pairs, by slot.
    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The table with the entries.
    pub(crate) fn index(&self) -> &Table {
        &self.table
    }

    /// How many entries there are, stale ones included.
    pub(crate) fn entries(&self) -> u64 {
        self.table.pair_count()
    }

    /// Entries whose time has come and that are there still, stale ones included; as far as they are counted.
    pub(crate) fn overdue(&self, now: u64) -> Result<u64, Error> {
        let until = due_until(now);
        let scan = Scan::range(..&until[..]).keys_only().limit(OVERDUE_MAX);
        Ok(self.table.scan(&scan)?.len() as u64)
    }

    /// The same in percent of all entries.
    pub(crate) fn overdue_percent(&self, now: u64) -> f64 {
        let overdue = self.overdue(now).unwrap_or(0) as f64;
        100.0 * overdue / self.entries().max(1) as f64
    }

    /// Entries that are to be looked at.
    #[inline]
    pub(crate) fn debt(&self) -> u64 {
        self.debt.load(Ordering::Relaxed)
    }

    /// Changes the debt, which is never less than zero.
    pub(crate) fn owe(&self, more: u64, less: u64) {
        let change = |debt: u64| Some((debt + more).saturating_sub(less));
        let _ = self.debt.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
    }

    fn stamp(&self) -> Stamp {
        self.stamps.fetch_add(1, Ordering::Relaxed) as Stamp
    }
}

/// When a pair of some value expires; none if it lasts, or is not there or not known.
fn deadline(value: Option<&[u8]>) -> Option<u64> {
    Envelope::open(value?)?.expires_at
}

/// The slot of a table: its name, which it keeps.
pub(crate) fn slot(table: &Table) -> Option<usize> {
    table.name().parse().ok()
}

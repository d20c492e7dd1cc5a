//! Allocates the units of the arena: a buddy system under a lock, and lock-free lists of node buffers in
//! front of it.
//!
//! 1. `buddy`: only under its lock.
//! 2. A buffer of kind `FreeNode` is in exactly one of `lists`, or the thread that moves it between a list
//!    and the buddy system owns it. A thread prefers the list of its number, but may use the others.
//! 3. A caller that allocates a buffer owns it, and frees it at most once: the ledger checks this.

use crate::buddy::Buddy;
use crate::commit_ahead::CommitAhead;
use crate::error::MemoryError;
use crate::free_list::{FreeList, Links, new_links};
use crate::ledger::{Extent, Kind, Ledger, PAGE_UNITS};
use crate::sync::{AtomicU32, Mutex, Padded, lock, thread_number};

/// Number of node buffers that move from the buddy system to a free list at once.
const REFILL: usize = 8;
/// Maximum number of node buffers in a list. Beyond it, half of them return to the buddy system.
const LIST_MAX: usize = 8 * REFILL;

#[derive(Debug)]
pub(crate) struct Allocator {
    buddy: Padded<Mutex<Buddy>>,
    lists: Box<[Padded<FreeList>]>,
    links: Links,
    pub(crate) ledger: Ledger,
    pub(crate) commit_ahead: CommitAhead,
    node_units: usize,
}

impl Allocator {
    pub(crate) fn new(units: usize, node_units: usize, stripes: usize) -> Result<Self, MemoryError> {
        Ok(Self {
            buddy: Padded(Mutex::new(Buddy::new(units)?)),
            lists: (0..stripes).map(|_| Padded(FreeList::new())).collect(),
            links: new_links(units.div_ceil(node_units))?,
            ledger: Ledger::new(units, stripes)?,
            commit_ahead: CommitAhead::new(units),
            node_units,
        })
    }

    /// Allocates the buffer of a node, of kind `PrivateNode`. Returns its first unit.
    pub(crate) fn allocate_node(&self) -> Option<usize> {
        let stripe = thread_number();
        let unit = self.pop(stripe).or_else(|| self.refill(stripe)).or_else(|| self.steal(stripe))?;
        self.ledger.change(stripe, self.node(unit), Kind::FreeNode, Kind::PrivateNode);
        Some(unit)
    }

    /// Frees the buffer of a node, of kind `from`.
    pub(crate) fn free_node(&self, unit: usize, from: Kind) {
        let stripe = thread_number();
        self.ledger.change(stripe, self.node(unit), from, Kind::FreeNode);
        self.push(stripe, unit);
        if self.list(stripe).length() > LIST_MAX {
            self.flush(stripe, LIST_MAX / 2);
        }
    }

    /// Allocates the buffer of a value, of kind `PrivateValue`. Returns its first unit.
    pub(crate) fn allocate_value(&self, units: usize) -> Option<usize> {
        let start = self.allocate(units)?;
        self.ledger.begin(thread_number(), Extent { start, units }, Kind::PrivateValue);
        Some(start)
    }

    /// Allocates a page of an unordered table, of kind `LiveTablePage`. Returns its first unit.
    pub(crate) fn allocate_table_page(&self) -> Option<usize> {
        let start = self.allocate(PAGE_UNITS)?;
        self.ledger.begin(thread_number(), Extent { start, units: PAGE_UNITS }, Kind::LiveTablePage);
        Some(start)
    }

    /// Frees the buffer of a value, or a page of an unordered table, of kind `from`.
    pub(crate) fn free_value(&self, extent: Extent, from: Kind) {
        self.ledger.end(thread_number(), extent, from);
        lock(&self.buddy.0).free(extent.start, extent.units);
    }

    /// Moves the node buffers of all lists to the buddy system, which merges them to larger blocks.
    pub(crate) fn flush_all(&self) {
        for stripe in 0..self.lists.len() {
            self.flush(stripe, usize::MAX);
        }
    }

    /// Number of units in the buddy system.
    pub(crate) fn free_units(&self) -> usize {
        lock(&self.buddy.0).free_units()
    }

    /// Bytes of the allocator's own structures.
    pub(crate) fn overhead_bytes(&self) -> usize {
        let links = self.links.len() * size_of::<AtomicU32>();
        lock(&self.buddy.0).overhead_bytes() + links + self.ledger.overhead_bytes()
    }

    pub(crate) fn node(&self, unit: usize) -> Extent {
        Extent { start: unit, units: self.node_units }
    }

    fn allocate(&self, units: usize) -> Option<usize> {
        let start = lock(&self.buddy.0).allocate(units)?;
        self.commit_ahead.note_allocated(start + units);
        Some(start)
    }

    fn list(&self, stripe: usize) -> &FreeList {
        &self.lists[stripe % self.lists.len()].0
    }

    fn pop(&self, stripe: usize) -> Option<usize> {
        self.list(stripe).pop(&self.links).map(|index| index as usize * self.node_units)
    }

    fn push(&self, stripe: usize, unit: usize) {
        self.list(stripe).push(&self.links, (unit / self.node_units) as u32);
    }

    /// Allocates buffers from the buddy system: one for the caller, the others for the list of the stripe.
    fn refill(&self, stripe: usize) -> Option<usize> {
        let mut buddy = lock(&self.buddy.0);
        let mut allocate = || {
            let unit = buddy.allocate(self.node_units)?;
            self.ledger.begin(stripe, self.node(unit), Kind::FreeNode);
            Some(unit)
        };
        let unit = allocate()?;
        for _ in 1..REFILL {
            let Some(further) = allocate() else { break };
            self.push(stripe, further);
        }
        let end = buddy.end();
        drop(buddy);
        self.commit_ahead.note_allocated(end);
        Some(unit)
    }

    fn steal(&self, stripe: usize) -> Option<usize> {
        (1..self.lists.len()).find_map(|other| self.pop(stripe + other))
    }

    fn flush(&self, stripe: usize, count: usize) {
        let mut buddy = lock(&self.buddy.0);
        for unit in std::iter::from_fn(|| self.pop(stripe)).take(count) {
            self.ledger.end(stripe, self.node(unit), Kind::FreeNode);
            buddy.free(unit, self.node_units);
        }
    }
}

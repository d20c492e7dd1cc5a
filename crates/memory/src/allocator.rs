//! Hands out the units of the arena: the buddy system under a lock, and in front of it free lists of node
//! buffers without one.
//!
//! 1. `buddy`: under its lock.
//! 2. A node's buffer that is `FreeNode` is in exactly one of `lists`, or in the hands of the thread that
//!    moves it between a list and the buddy system. Threads use the list of their number first; to take from
//!    another's is allowed.
//! 3. Whoever gets a buffer from here owns it, and gives it back at most once: the ledger checks that.

use crate::buddy::Buddy;
use crate::error::MemoryError;
use crate::free_list::{FreeList, Links, new_links};
use crate::ledger::{Extent, Kind, Ledger};
use crate::sync::{AtomicU32, Mutex, Padded, lock, thread_number};

/// Node buffers that move between a free list and the buddy system at once.
const REFILL: usize = 8;
/// Node buffers in a list beyond which some go back to the buddy system.
const LIST_MAX: usize = 8 * REFILL;

#[derive(Debug)]
pub(crate) struct Allocator {
    buddy: Padded<Mutex<Buddy>>,
    lists: Box<[Padded<FreeList>]>,
    links: Links,
    pub(crate) ledger: Ledger,
    node_units: usize,
}

impl Allocator {
    pub(crate) fn new(units: usize, node_units: usize, stripes: usize) -> Result<Self, MemoryError> {
        Ok(Self {
            buddy: Padded(Mutex::new(Buddy::new(units)?)),
            lists: (0..stripes).map(|_| Padded(FreeList::new())).collect(),
            links: new_links(units.div_ceil(node_units))?,
            ledger: Ledger::new(units, stripes)?,
            node_units,
        })
    }

    /// A node's buffer, by its first unit; of kind `PrivateNode`.
    pub(crate) fn allocate_node(&self) -> Option<usize> {
        let stripe = thread_number();
        let unit = self.pop(stripe).or_else(|| self.refill(stripe)).or_else(|| self.steal(stripe))?;
        self.ledger.change(stripe, self.node(unit), Kind::FreeNode, Kind::PrivateNode);
        Some(unit)
    }

    /// Takes back a node's buffer of kind `from`.
    pub(crate) fn free_node(&self, unit: usize, from: Kind) {
        let stripe = thread_number();
        self.ledger.change(stripe, self.node(unit), from, Kind::FreeNode);
        self.push(stripe, unit);
        if self.list(stripe).length() > LIST_MAX {
            self.flush(stripe, LIST_MAX / 2);
        }
    }

    /// A value's buffer, by its first unit; of kind `PrivateValue`.
    pub(crate) fn allocate_value(&self, units: usize) -> Option<usize> {
        let start = lock(&self.buddy.0).allocate(units)?;
        self.ledger.begin(thread_number(), Extent { start, units }, Kind::PrivateValue);
        Some(start)
    }

    /// Takes back a value's buffer of kind `from`.
    pub(crate) fn free_value(&self, extent: Extent, from: Kind) {
        self.ledger.end(thread_number(), extent, from);
        lock(&self.buddy.0).free(extent.start, extent.units);
    }

    /// Moves the node buffers of all lists to the buddy system, where they join to larger blocks.
    pub(crate) fn flush_all(&self) {
        for stripe in 0..self.lists.len() {
            self.flush(stripe, usize::MAX);
        }
    }

    /// Units in the buddy system.
    pub(crate) fn free_units(&self) -> usize {
        lock(&self.buddy.0).free_units()
    }

    /// Bytes of all that is kept beside the arena.
    pub(crate) fn overhead_bytes(&self) -> usize {
        let links = self.links.len() * size_of::<AtomicU32>();
        lock(&self.buddy.0).overhead_bytes() + links + self.ledger.overhead_bytes()
    }

    pub(crate) fn node(&self, unit: usize) -> Extent {
        Extent { start: unit, units: self.node_units }
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

    /// Takes some buffers from the buddy system: one for the caller, the others for its list.
    fn refill(&self, stripe: usize) -> Option<usize> {
        let mut buddy = lock(&self.buddy.0);
        let mut take = || {
            let unit = buddy.allocate(self.node_units)?;
            self.ledger.begin(stripe, self.node(unit), Kind::FreeNode);
            Some(unit)
        };
        let unit = take()?;
        for _ in 1..REFILL {
            let Some(more) = take() else { break };
            self.push(stripe, more);
        }
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

//! A reserve of room, so that a full store can be emptied: removals make new nodes before old ones can go.
//!
//! It is made of buffers of values as long as a node, to which nobody refers. A removal that finds no room
//! gives them up; any other write takes them back first, so what removals free becomes the reserve again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_memory::sync::{AtomicBool, Ordering};
use honeycomb_memory::{BusAddress, Memory, MemoryError, Retired};

/// Most nodes in the reserve: what removals in a tree of a few levels need, with room to spare.
const NODES_MAX: usize = 16;
/// The reserve takes at most this fraction of the arena: none of a very small one.
const ARENA_FRACTION: usize = 32;

pub(crate) struct Reserve {
    buffers: Mutex<Vec<BusAddress>>,
    /// How many buffers there are to be.
    wanted: usize,
    buffer_bytes: usize,
    is_full: AtomicBool,
}

impl Reserve {
    /// A full reserve.
    pub(crate) fn new(memory: &Memory) -> Result<Self, MemoryError> {
        let buffer_bytes = memory.node_bytes();
        let nodes = memory.accounting().arena_bytes / buffer_bytes;
        let wanted = (nodes / ARENA_FRACTION).min(NODES_MAX);
        let reserve =
            Self { buffers: Mutex::default(), wanted, buffer_bytes, is_full: AtomicBool::new(false) };
        reserve.fill(memory)?;
        Ok(reserve)
    }

    /// Takes back what was given up.
    #[inline]
    pub(crate) fn fill(&self, memory: &Memory) -> Result<(), MemoryError> {
        // Relaxed: who sees an old value fills up what is full, or leaves that to the next write.
        if self.is_full.load(Ordering::Relaxed) { Ok(()) } else { self.refill(memory) }
    }

    #[cold]
    fn refill(&self, memory: &Memory) -> Result<(), MemoryError> {
        let mut buffers = self.lock();
        while buffers.len() < self.wanted {
            buffers.push(memory.allocate_value(&vec![0; self.buffer_bytes])?.keep());
        }
        self.is_full.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Gives up all there is.
    pub(crate) fn give_up(&self, memory: &Memory) {
        let mut buffers = self.lock();
        self.is_full.store(false, Ordering::Relaxed);
        memory.retire(buffers.drain(..).map(|address| Retired::Value(address, self.buffer_bytes)));
    }

    /// How many buffers it has now.
    pub(crate) fn buffers(&self) -> usize {
        self.lock().len()
    }

    /// How many bytes it has now.
    pub(crate) fn bytes(&self) -> usize {
        self.buffers() * self.buffer_bytes
    }

    fn lock(&self) -> MutexGuard<'_, Vec<BusAddress>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

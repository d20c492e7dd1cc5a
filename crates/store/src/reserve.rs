//! A reserve of memory that lets deletes succeed in a full store: a delete builds new nodes before it can
//! free the old ones.
//!
//! The reserve consists of value buffers of the size of a node that no tree refers to. A delete that finds no
//! room frees them. Every other write first refills the reserve, so the memory that deletes free becomes the
//! reserve again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_memory::sync::{AtomicBool, Ordering};
use honeycomb_memory::{BusAddress, Memory, MemoryError, Retired};

/// Most buffers in the reserve: the need of a delete in a tree of a few levels, and a margin.
const NODES_MAX: usize = 16;
/// The reserve occupies at most this fraction of the arena: a very small arena has none.
const ARENA_FRACTION: usize = 32;

pub(crate) struct Reserve {
    buffers: Mutex<Vec<BusAddress>>,
    /// Buffers of a full reserve.
    target: usize,
    buffer_bytes: usize,
    is_full: AtomicBool,
}

impl Reserve {
    /// Allocates a full reserve.
    pub(crate) fn new(memory: &Memory) -> Result<Self, MemoryError> {
        let buffer_bytes = memory.node_bytes();
        let nodes = memory.accounting().arena_bytes / buffer_bytes;
        let target = (nodes / ARENA_FRACTION).min(NODES_MAX);
        let reserve =
            Self { buffers: Mutex::default(), target, buffer_bytes, is_full: AtomicBool::new(false) };
        reserve.fill(memory)?;
        Ok(reserve)
    }

    /// Refills the reserve.
    #[inline]
    pub(crate) fn fill(&self, memory: &Memory) -> Result<(), MemoryError> {
        // Relaxed: a thread that reads an old value refills a full reserve, or leaves the refill to the next
        // write.
        if self.is_full.load(Ordering::Relaxed) { Ok(()) } else { self.refill(memory) }
    }

    #[cold]
    fn refill(&self, memory: &Memory) -> Result<(), MemoryError> {
        let mut buffers = self.lock();
        while buffers.len() < self.target {
            buffers.push(memory.allocate_value(&vec![0; self.buffer_bytes])?.keep());
        }
        self.is_full.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Frees all buffers of the reserve.
    pub(crate) fn release(&self, memory: &Memory) {
        let mut buffers = self.lock();
        self.is_full.store(false, Ordering::Relaxed);
        memory.retire(buffers.drain(..).map(|address| Retired::Value(address, self.buffer_bytes)));
    }

    /// The current number of buffers.
    pub(crate) fn buffers(&self) -> usize {
        self.lock().len()
    }

    /// The current number of bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.buffers() * self.buffer_bytes
    }

    fn lock(&self) -> MutexGuard<'_, Vec<BusAddress>> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The state of a task in the background that its core and the background thread share.

use honeycomb_memory::sync::{AtomicBool, AtomicUsize, Ordering};

/// The shared state of a task in the background.
#[derive(Debug, Default)]
pub(crate) struct AwayTask {
    is_cancelled: AtomicBool,
    memory_bytes: AtomicUsize,
    /// The part of the memory that is charged. It does not change.
    charged_bytes: usize,
}

impl AwayTask {
    /// Returns the state of a task that goes to the background.
    pub(crate) fn new(memory_bytes: usize, charged_bytes: usize) -> Self {
        let memory_bytes = AtomicUsize::new(memory_bytes);
        Self { is_cancelled: AtomicBool::new(false), memory_bytes, charged_bytes }
    }

    /// Returns the bytes of its memory that are charged.
    pub(crate) fn charged_bytes(&self) -> usize {
        self.charged_bytes
    }

    /// Returns the bytes of memory of the task.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes.load(Ordering::Relaxed)
    }

    /// Records the bytes of memory of the task.
    pub(crate) fn record_memory(&self, bytes: usize) {
        self.memory_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Returns whether the client has disconnected.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Records that the client has disconnected.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }
}

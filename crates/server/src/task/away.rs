//! The state of a task in the background that its core and the background thread share.

use std::sync::{Mutex, PoisonError};

use honeycomb_memory::sync::{AtomicBool, AtomicUsize, Ordering};

use crate::charge::{ByteTotal, Charge};

/// The shared state of a task in the background.
#[derive(Debug, Default)]
pub(crate) struct AwayTask {
    is_cancelled: AtomicBool,
    memory_bytes: AtomicUsize,
    /// The part of the memory that is charged. It does not change.
    charged_bytes: usize,
    /// Its memory after its client has disconnected, until nobody refers to the task any more.
    departed: Mutex<Charge>,
}

impl AwayTask {
    /// Returns the state of a task that goes to the background.
    pub(crate) fn new(memory_bytes: usize, charged_bytes: usize) -> Self {
        let memory_bytes = AtomicUsize::new(memory_bytes);
        Self { memory_bytes, charged_bytes, ..Self::default() }
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

    /// Counts the memory of the task as that of a departed client.
    pub(crate) fn depart(&self, departed: &ByteTotal) {
        let bytes = self.memory_bytes().saturating_sub(self.charged_bytes);
        *self.departed.lock().unwrap_or_else(PoisonError::into_inner) = Charge::new(departed, bytes);
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_task_counts_until_nobody_refers_to_it() {
        let (total, away) = (ByteTotal::default(), Arc::new(AwayTask::new(100, 30)));
        let of_the_thread = away.clone();
        away.record_memory(110);
        away.depart(&total);
        away.cancel();
        drop(away);
        assert_eq!(total.get(), 80);
        assert!(of_the_thread.is_cancelled());
        drop(of_the_thread);
        assert_eq!(total.get(), 0);
    }
}

//! A device: a participant that numbers its operations and publishes the window of those in flight.

use crate::epochs::Epochs;
use crate::error::MemoryError;
use crate::sync::Arc;

/// A participant with many operations in flight that end in any order, such as an accelerator. Dropping it
/// ends all its operations.
#[derive(Debug)]
pub struct Device {
    epochs: Arc<Epochs>,
    index: usize,
    /// The number of the last operation of the previous owners. The epochs continue their numbers; the
    /// numbers of this device begin at 1.
    base: u64,
    oldest_in_flight: u64,
    newest_started: u64,
}

impl Device {
    pub(crate) fn new(epochs: Arc<Epochs>) -> Result<Self, MemoryError> {
        let acquired = epochs.acquire_device();
        let (index, base) = acquired.ok_or(MemoryError::TooManyDevices { max: epochs.device_count() })?;
        Ok(Self { epochs, index, base, oldest_in_flight: 1, newest_started: 0 })
    }

    /// Publishes the window of operations in flight: from `oldest_in_flight` to `newest_started`, empty if
    /// the former is one greater. Operations are numbered from 1. An operation must be in the window before
    /// its first read, and may leave it only after its last read.
    ///
    /// # Panics
    /// If a number decreases, or `oldest_in_flight` is greater than `newest_started + 1`.
    pub fn publish_window(&mut self, oldest_in_flight: u64, newest_started: u64) {
        assert!(
            oldest_in_flight >= self.oldest_in_flight && newest_started >= self.newest_started,
            "window {oldest_in_flight}..={newest_started} decreases from {}..={}",
            self.oldest_in_flight,
            self.newest_started
        );
        assert!(
            oldest_in_flight <= newest_started + 1,
            "window {oldest_in_flight}..={newest_started} ends operations that were not started"
        );
        (self.oldest_in_flight, self.newest_started) = (oldest_in_flight, newest_started);
        self.epochs.publish_window(self.index, self.base + oldest_in_flight, self.base + newest_started);
    }

    /// Whether operations are in flight.
    pub(crate) fn is_in_flight(&self) -> bool {
        self.oldest_in_flight <= self.newest_started
    }

    /// Whether this device belongs to these epochs, so that its window prevents their memory from being
    /// reclaimed.
    pub(crate) fn is_guarded_by(&self, epochs: &Epochs) -> bool {
        std::ptr::eq(&*self.epochs, epochs)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.epochs.release_device(self.index);
    }
}

//! A device: a participant that numbers its operations and tells which of them are in flight.

use crate::epochs::Epochs;
use crate::error::MemoryError;
use crate::sync::Arc;

/// A participant with many operations in flight that end in any order, such as an accelerator. Dropping it
/// says that none is in flight any more.
#[derive(Debug)]
pub struct Device {
    epochs: Arc<Epochs>,
    index: usize,
    /// Operations that former holders of the place have started: numbers there go on, the device's begin at
    /// 1.
    base: u64,
    oldest_in_flight: u64,
    newest_started: u64,
}

impl Device {
    pub(crate) fn new(epochs: Arc<Epochs>) -> Result<Self, MemoryError> {
        let taken = epochs.take_device();
        let (index, base) = taken.ok_or(MemoryError::TooManyDevices { max: epochs.device_count() })?;
        Ok(Self { epochs, index, base, oldest_in_flight: 1, newest_started: 0 })
    }

    /// Publishes which operations are in flight: all from `oldest_in_flight` to `newest_started`, none if the
    /// former is one greater. Operations are numbered from 1. An operation must be in a window before it
    /// reads anything, and out of it only after it has read all.
    ///
    /// # Panics
    /// If a number decreases, or `oldest_in_flight` is greater than `newest_started + 1`.
    pub fn publish_window(&mut self, oldest_in_flight: u64, newest_started: u64) {
        assert!(
            oldest_in_flight >= self.oldest_in_flight && newest_started >= self.newest_started,
            "window {oldest_in_flight}..={newest_started} goes back behind {}..={}",
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

    /// Whether the window of this device holds back the reclaiming of what these epochs guard.
    pub(crate) fn is_guarded_by(&self, epochs: &Epochs) -> bool {
        std::ptr::eq(&*self.epochs, epochs)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.epochs.give_back_device(self.index);
    }
}

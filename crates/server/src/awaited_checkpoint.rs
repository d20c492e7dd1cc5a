//! A checkpoint that somebody waits for.

use honeycomb_store::Store;

use crate::failure::Failure;

/// A checkpoint that begins after its request.
#[derive(Debug)]
pub(crate) struct AwaitedCheckpoint {
    /// The number of checkpoints since the start of the server when it is complete.
    number: u64,
}

impl AwaitedCheckpoint {
    /// Requests a checkpoint that begins after now.
    pub(crate) fn request(store: &Store) -> Result<Self, Failure> {
        let begun = store.durability_statistics().map_or(0, |statistics| statistics.begun_checkpoints);
        store.request_checkpoint()?;
        Ok(Self { number: begun + 1 })
    }

    /// Returns whether the checkpoint is complete, or its error.
    pub(crate) fn is_complete(&self, store: &Store) -> Result<bool, Failure> {
        let statistics = store.durability_statistics().unwrap_or_default();
        let is_complete = statistics.checkpoints + statistics.failed_checkpoints >= self.number;
        match statistics.checkpoint_error {
            Some(error) if is_complete => Err(Failure::other(error)),
            _ => Ok(is_complete),
        }
    }
}

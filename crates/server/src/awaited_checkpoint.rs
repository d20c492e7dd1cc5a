//! A checkpoint that somebody waits for.

use honeycomb_store::{DurabilityStatistics, Store};

use crate::failure::Failure;

/// A checkpoint that begins after its request.
#[derive(Debug)]
pub(crate) struct AwaitedCheckpoint {
    /// Its number, counted in the order of the begins since the start of the server.
    number: u64,
}

impl AwaitedCheckpoint {
    /// Requests a checkpoint that begins after now.
    pub(crate) fn request(store: &Store) -> Result<Self, Failure> {
        let begun = store.durability_statistics().map_or(0, |statistics| statistics.begun_checkpoints);
        store.request_checkpoint()?;
        Ok(Self { number: begun + 1 })
    }

    /// Returns whether the checkpoint is complete, or its error. Later checkpoints may have ended before this
    /// call. One that succeeded has all that the client waits for. One that failed takes nothing back.
    pub(crate) fn is_complete(&self, store: &Store) -> Result<bool, Failure> {
        self.outcome(&store.durability_statistics().unwrap_or_default())
    }

    fn outcome(&self, statistics: &DurabilityStatistics) -> Result<bool, Failure> {
        if statistics.newest_checkpoint >= self.number {
            return Ok(true);
        }
        let has_ended = statistics.checkpoints + statistics.failed_checkpoints >= self.number;
        match &statistics.checkpoint_error {
            Some(error) if has_ended => Err(Failure::other(error)),
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(newest_checkpoint: u64, checkpoints: u64, failed_checkpoints: u64) -> Result<bool, Failure> {
        // The last one has failed, unless it is the newest one that did not.
        let is_error = newest_checkpoint < checkpoints + failed_checkpoints;
        let checkpoint_error = is_error.then(|| "the last one has failed".to_owned());
        let statistics = DurabilityStatistics {
            newest_checkpoint,
            checkpoints,
            failed_checkpoints,
            checkpoint_error,
            ..DurabilityStatistics::default()
        };
        AwaitedCheckpoint { number: 3 }.outcome(&statistics)
    }

    #[test]
    fn the_failure_of_an_other_checkpoint_is_not_that_of_the_awaited_one() {
        let failed = Err(Failure::other("the last one has failed"));
        assert_eq!(outcome(2, 2, 0), Ok(false), "it is in progress");
        assert_eq!(outcome(1, 1, 1), Ok(false), "the one before it has failed");
        assert_eq!(outcome(3, 3, 0), Ok(true));
        assert_eq!(outcome(3, 3, 1), Ok(true), "the one after it has failed");
        assert_eq!(outcome(2, 2, 1), failed);
        assert_eq!(outcome(2, 2, 2), failed, "both have failed");
        assert_eq!(outcome(4, 3, 1), Ok(true), "the one after it has all that it would have had");
    }
}

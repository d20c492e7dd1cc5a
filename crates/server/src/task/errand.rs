//! Errands: commands that wait for the store or for a disk. The background thread executes their steps, so no
//! other client waits.

use crate::context::Context;
use crate::failure::Failure;
use crate::task::progress::Progress;

/// A command that the background thread executes step by step.
pub(crate) trait Errand: Send {
    /// Executes a step. After [`Progress::Wait`] the same step executes again later.
    fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure>;

    /// Makes the next step the first one again, after the loss of its snapshot. Returns false if the command
    /// fails instead.
    fn restart(&mut self) -> bool {
        false
    }

    /// Returns the bytes of memory that the errand has between two steps, apart from its arguments.
    fn memory_bytes(&self) -> usize {
        0
    }
}

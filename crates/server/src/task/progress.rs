//! The progress of a task.

/// The outcome of a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The reply is complete.
    Done,
    /// The task needs another slice.
    More,
    /// No snapshot is available, or memory is short. The same slice executes again later.
    Wait,
    /// The task continues on the background thread.
    Background,
    /// The task continues on the background thread for which all cores wait.
    Exclusive,
}

//! The progress of a task.

/// How far a slice has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The reply is whole.
    Done,
    /// Another slice is needed.
    More,
    /// Others hold all snapshots, or memory is short: the same slice is to be executed again.
    Wait,
}

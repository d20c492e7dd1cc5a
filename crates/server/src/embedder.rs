//! Calls into functions of the embedding program. One that panics ends the command of a client with an error;
//! it must not end the thread of a core, on which other clients wait.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// A function of the embedding program has panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a function of the embedding program panicked: the error output of the server has the reason")]
pub(crate) struct Panicked;

/// Calls a function that calls those of the embedding program. After a panic the caller must not use what the
/// function may have changed.
pub(crate) fn call<T>(function: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(function)).map_err(|_| {
        tracing::error!("a function of the embedding program panicked");
        Panicked
    })
}

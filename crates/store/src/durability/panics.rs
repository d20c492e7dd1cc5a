//! Panics on the thread of checkpoints, whose disks may be those of an embedding program. They must not end
//! the thread: everybody who requests a checkpoint later would wait for ever.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls a function, and returns the message of its panic as an error. All that the function shares with
/// others is behind locks and guards, which stay valid.
pub(super) fn catch<T>(function: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(function)).map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

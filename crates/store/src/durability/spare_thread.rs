//! The thread that creates spare log files: it writes many zero bytes, for which no group should wait.
//!
//! If the log needs a file earlier, the log thread creates one itself.

use std::thread;
use std::time::Duration;

use honeycomb_log::LogError;
use honeycomb_memory::sync::Ordering;

use super::log_state::{Health, LogState};
use super::spare::Spare;

/// The time between two attempts to create a file on a full disk.
const FULL_INTERVAL: Duration = Duration::from_millis(50);

/// Creates a spare file whenever there is none, until the state is stopped or a file cannot be created.
pub(crate) fn run(state: &LogState) {
    while !state.stop.load(Ordering::Acquire) {
        match prepare(state) {
            Ok(()) => thread::park(),
            Err(error) if error.is_full() => {
                // Now, while the current file has room for the records of writes in progress.
                state.set_health(Health::Full);
                state.spare.set(Spare::NoRoom);
                state.wake_waiting();
                thread::park_timeout(FULL_INTERVAL);
            }
            Err(error) => return state.fail(&error),
        }
    }
}

fn prepare(state: &LogState) -> Result<(), LogError> {
    // In a statement of its own: the lock must not be held while the file is created.
    let missing = state.lock_writer().missing_spare();
    if let Some(missing) = missing {
        let created = missing.create()?;
        state.lock_writer().add_spare(created)?;
    }
    let is_new = state.spare.set(Spare::Present) == Spare::NoRoom;
    // If a record waits for room, the thread that writes it states the health, and sees the spare file: it
    // unblocks the log before it unlocks the writer, and loads the state of the spare file afterwards.
    let is_blocked = {
        let _writer = state.lock_writer();
        state.is_blocked()
    };
    if is_new && !is_blocked {
        state.set_health(Health::Good);
    }
    state.wake_waiting();
    Ok(())
}

//! The thread that writes the log, unless threads that wait for it write it themselves.

use std::thread;
use std::time::{Duration, Instant};

use honeycomb_btree::Forest;
use honeycomb_memory::sync::Ordering;

use super::config::SyncPolicy;
use super::log_state::LogState;

/// The time in which records gather for a group that need not be durable at once.
const GATHER_TIME: Duration = Duration::from_millis(2);
/// The time between two attempts to write to a full disk.
const FULL_INTERVAL: Duration = Duration::from_millis(50);
/// The time in which the records of a store that is dropped are retried on a full disk.
const FULL_TIME_AT_END: Duration = Duration::from_secs(5);
/// The longest sleep.
const IDLE_TIME: Duration = Duration::from_millis(100);

/// Writes the log until the state is stopped and all records are written, or the disk stays full.
pub(crate) fn run(state: &LogState, forest: &Forest) {
    let mut stopped_at = None;
    while step(state, forest, &mut stopped_at) {}
}

/// Writes a group and waits for the next one. Returns false at the end.
fn step(state: &LogState, forest: &Forest, stopped_at: &mut Option<Instant>) -> bool {
    let stop = state.stop.load(Ordering::Acquire);
    let (has_room, has_failed, taken) = {
        let mut groups = state.lock_groups();
        let has_room = groups.step(state, forest.read_version(), stop);
        (has_room, groups.has_failed(), state.queue.taken())
    };
    if !has_room {
        thread::sleep(FULL_INTERVAL);
        return !stop || waits_for_room(state, stopped_at);
    }
    // Whether every version that was taken by a writer was taken from the queue as well.
    let is_idle = || forest.newest_version() == taken;
    if stop && is_idle() {
        return false;
    }
    rest(state, is_idle, has_failed);
    true
}

/// Whether a store that is dropped waits for room on a full disk. Under `Always` its records were never
/// acknowledged. Under the other policies they were, and only a power cut may lose them, but the drop must
/// end.
fn waits_for_room(state: &LogState, stopped_at: &mut Option<Instant>) -> bool {
    let stopped_at = stopped_at.get_or_insert_with(Instant::now);
    state.policy() != SyncPolicy::Always && stopped_at.elapsed() < FULL_TIME_AT_END
}

/// Waits until there is work.
fn rest(state: &LogState, is_idle: impl Fn() -> bool, has_failed: bool) {
    let is_always = state.policy() == SyncPolicy::Always;
    state.sleeper.prepare();
    let is_requested = state.requested.load(Ordering::Relaxed) > state.durable_version();
    let has_work = !is_idle() || is_requested && !has_failed;
    if state.stop.load(Ordering::Acquire) || has_work && is_requested {
        state.sleeper.end();
        // A writer between its version and its release needs the processor, perhaps.
        thread::yield_now();
        return;
    }
    if has_work && !is_always {
        // Records gather meanwhile; only a request ends the wait early.
        state.sleeper.end();
        thread::sleep(GATHER_TIME);
        return;
    }
    thread::park_timeout(IDLE_TIME);
    state.sleeper.end();
    if !is_always {
        thread::sleep(GATHER_TIME);
    }
}

//! The thread that writes the log: it takes the records of all versions that are visible, writes them as one
//! group, and states that they are durable.

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use honeycomb_btree::Forest;
use honeycomb_log::{Durability, LogError, Pending};
use honeycomb_memory::sync::Ordering;

use super::config::SyncPolicy;
use super::log_state::{Health, LogState};

/// The time between two syncs of [`SyncPolicy::EverySecond`].
const SYNC_INTERVAL: Duration = Duration::from_secs(1);
/// The time in which records gather for a group that need not be durable at once.
const GATHER_TIME: Duration = Duration::from_millis(2);
/// The time between two attempts to write to a full disk.
const FULL_INTERVAL: Duration = Duration::from_millis(50);
/// The longest sleep.
const IDLE_TIME: Duration = Duration::from_millis(100);

/// Writes the log until the state is stopped and all records are written.
pub(crate) fn run(state: &LogState, forest: &Forest) {
    let _guard = FailOnPanic(state);
    let taken = state.durable_version();
    let mut thread = LogThread {
        state,
        forest,
        records: VecDeque::new(),
        taken,
        written: taken,
        stated: 0,
        synced_at: state.clock.now(),
        has_failed: false,
    };
    while thread.step() {}
}

/// Makes the store read-only if the thread panics, so that no writer waits for it for ever.
struct FailOnPanic<'s>(&'s LogState);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.set_health(Health::Failed("the thread of the log has panicked".to_owned()));
        }
    }
}

struct LogThread<'s> {
    state: &'s LogState,
    forest: &'s Forest,
    /// Records that were taken from the queue but not written.
    records: VecDeque<Pending>,
    /// All records up to this version were taken.
    taken: u64,
    /// All records up to this version were written.
    written: u64,
    /// The last time that a record states.
    stated: u64,
    synced_at: Duration,
    has_failed: bool,
}

impl LogThread<'_> {
    /// Writes a group and waits for the next one. Returns false at the end.
    fn step(&mut self) -> bool {
        let stop = self.state.stop.load(Ordering::Acquire);
        let visible = self.forest.read_version();
        self.take(visible);
        if self.has_failed {
            self.records.clear();
        } else if let Err(error) = self.write(stop) {
            if error.is_full() {
                return self.wait_for_room(stop);
            }
            self.state.fail(&error);
            self.has_failed = true;
        }
        if stop && self.is_idle() {
            return false;
        }
        self.rest();
        true
    }

    /// Takes the records up to a visible version. The first of them states the time.
    fn take(&mut self, visible: u64) {
        let earlier = self.records.len();
        self.state.queue.take(self.taken, visible, &mut self.records);
        self.taken = visible;
        let now = self.state.clock.milliseconds();
        if now != self.stated
            && let Some(first) = self.records.get_mut(earlier)
        {
            first.changes.time(now);
            self.stated = now;
        }
    }

    fn write(&mut self, stop: bool) -> Result<(), LogError> {
        let syncs = self.is_sync_due(stop);
        let durability = if syncs { Durability::Now } else { Durability::Later };
        let records = self.records.len() as u64;
        if records > 0 || syncs && self.state.durable_version() < self.taken {
            let start = self.state.clock.now();
            let copies = self.copies();
            let mut writer = self.state.lock_writer();
            let before = writer.last_version();
            let written = writer.write(&mut self.records, durability);
            let is_known = written.as_ref().map_or_else(LogError::is_full, |()| true);
            if is_known && writer.last_version() > before {
                self.state.publish((before, writer.last_version()), copies);
            }
            written?;
            let counters = &self.state.counters;
            counters.record(&writer, records, self.state.clock.now().saturating_sub(start), syncs);
        }
        self.written = self.taken;
        if syncs {
            self.synced_at = self.state.clock.now();
            self.state.set_durable(self.written);
        }
        if !syncs && records > 0 && self.state.recent.readers() > 0 {
            self.state.notify();
        }
        if self.state.lock_writer().missing_spare().is_some() {
            self.state.wake_spare_thread();
        }
        // Relaxed: if the spare thread finds a full disk now, it states so again.
        if !self.state.lacks_spare.load(Ordering::Relaxed) {
            self.state.set_health(Health::Good);
        }
        Ok(())
    }

    /// Copies the records that are to be written, if somebody reads changes, and notes changes of tables.
    fn copies(&self) -> Vec<Pending> {
        let note = |record: &Pending| self.state.table_ids.note(record.version, record.changes.bytes());
        self.records.iter().for_each(note);
        let has_readers = self.state.recent.readers() > 0;
        if has_readers { self.records.iter().cloned().collect() } else { Vec::new() }
    }

    fn is_sync_due(&self, stop: bool) -> bool {
        let is_requested = self.state.requested.load(Ordering::Relaxed) > self.state.durable_version();
        let elapsed = self.state.clock.now().saturating_sub(self.synced_at);
        stop || is_requested
            || match self.state.policy() {
                SyncPolicy::Always => true,
                SyncPolicy::EverySecond => elapsed >= SYNC_INTERVAL,
                SyncPolicy::Never => false,
            }
    }

    /// Whether every version that was taken by a writer was taken from the queue as well.
    fn is_idle(&self) -> bool {
        self.forest.newest_version() == self.taken
    }

    /// Waits before the next attempt. A store that is dropped does not wait for a full disk: its records were
    /// never acknowledged.
    fn wait_for_room(&self, stop: bool) -> bool {
        self.state.set_health(Health::Full);
        thread::sleep(FULL_INTERVAL);
        !stop
    }

    /// Waits until there is work.
    fn rest(&self) {
        let is_always = self.state.policy() == SyncPolicy::Always;
        self.state.sleeper.prepare();
        let is_requested = self.state.requested.load(Ordering::Relaxed) > self.state.durable_version();
        let has_work = !self.is_idle() || is_requested && !self.has_failed;
        if self.state.stop.load(Ordering::Acquire) || has_work && is_requested {
            self.state.sleeper.end();
            // A writer between its version and its release needs the processor, perhaps.
            thread::yield_now();
            return;
        }
        if has_work && !is_always {
            // Records gather meanwhile; only a request ends the wait early.
            self.state.sleeper.end();
            thread::sleep(GATHER_TIME);
            return;
        }
        thread::park_timeout(IDLE_TIME);
        self.state.sleeper.end();
        if !is_always {
            thread::sleep(GATHER_TIME);
        }
    }
}

//! Groups: the records of all versions that are visible become one write of the log, and are durable
//! together. One thread at a time writes a group: the thread of the log, or a thread that would otherwise
//! wait for it.

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use honeycomb_btree::Version;
use honeycomb_log::{Durability, LogError, Pending};
use honeycomb_memory::sync::Ordering;

use super::config::SyncPolicy;
use super::log_state::{Health, LogState};

/// The time between two syncs of [`SyncPolicy::EverySecond`].
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// The records between the queue and the files.
pub(crate) struct Groups {
    /// Records that were taken from the queue but not written.
    records: VecDeque<Pending>,
    /// All records up to this version were taken.
    taken: Version,
    /// All records up to this version were written.
    written: Version,
    /// The last time that a record states.
    stated: u64,
    synced_at: Duration,
    has_failed: bool,
}

/// Makes the store read-only if a thread panics while it writes a group, so that no writer waits for ever.
struct FailOnPanic<'s>(&'s LogState);

impl Drop for FailOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.set_health(Health::Failed("a thread that wrote the log has panicked".to_owned()));
        }
    }
}

impl Groups {
    /// Begins after a version, whose record is durable.
    pub(super) fn new(taken: Version, now: Duration) -> Self {
        let (records, written, stated) = (VecDeque::new(), taken, 0);
        Self { records, taken, written, stated, synced_at: now, has_failed: false }
    }

    /// All records up to this version were taken from the queue.
    pub(super) fn taken(&self) -> Version {
        self.taken
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// States that nothing is known about the records any more.
    pub(super) fn fail(&mut self) {
        self.has_failed = true;
    }

    /// Writes the records up to a visible version. `stop`: the store is being dropped. Returns false if the
    /// disk is full.
    pub(super) fn step(&mut self, state: &LogState, visible: Version, stop: bool) -> bool {
        let _guard = FailOnPanic(state);
        self.take(state, visible);
        if self.has_failed {
            self.records.clear();
        } else if let Err(error) = self.write(state, stop) {
            if error.is_full() {
                state.set_health(Health::Full);
                return false;
            }
            state.fail(&error);
            self.has_failed = true;
        }
        true
    }

    /// Takes the records up to a visible version. The first of them states the time.
    fn take(&mut self, state: &LogState, visible: Version) {
        let earlier = self.records.len();
        state.queue.take(self.taken, visible, &mut self.records);
        self.taken = self.taken.max(visible);
        let now = state.clock.milliseconds();
        if now != self.stated
            && let Some(first) = self.records.get_mut(earlier)
        {
            first.changes.time(now);
            self.stated = now;
        }
    }

    fn write(&mut self, state: &LogState, stop: bool) -> Result<(), LogError> {
        let syncs = self.is_sync_due(state, stop);
        let durability = if syncs { Durability::Now } else { Durability::Later };
        let records = self.records.len() as u64;
        if records > 0 || syncs && state.durable_version() < self.taken {
            let start = state.clock.now();
            let copies = self.copies(state);
            let mut writer = state.lock_writer();
            let before = writer.last_version();
            let written = writer.write(&mut self.records, durability);
            let is_known = written.as_ref().map_or_else(LogError::is_full, |()| true);
            if is_known && writer.last_version() > before {
                state.publish((before, writer.last_version()), copies);
            }
            written?;
            let time = state.clock.now().saturating_sub(start);
            state.counters.record(&writer, records, time, syncs);
        }
        self.written = self.taken;
        if syncs {
            self.synced_at = state.clock.now();
            state.set_durable(self.written);
        }
        if !syncs && records > 0 && state.recent.readers() > 0 {
            state.notify();
        }
        if state.lock_writer().missing_spare().is_some() {
            state.wake_spare_thread();
        }
        // Relaxed: if the spare thread finds a full disk now, it states so again.
        if !state.lacks_spare.load(Ordering::Relaxed) {
            state.set_health(Health::Good);
        }
        Ok(())
    }

    /// Copies the records that are to be written, if somebody reads changes, and notes changes of tables.
    fn copies(&self, state: &LogState) -> Vec<Pending> {
        let note = |record: &Pending| state.table_ids.note(record.version, record.changes.bytes());
        self.records.iter().for_each(note);
        let has_readers = state.recent.readers() > 0;
        if has_readers { self.records.iter().cloned().collect() } else { Vec::new() }
    }

    fn is_sync_due(&self, state: &LogState, stop: bool) -> bool {
        let is_requested = state.requested.load(Ordering::Relaxed) > state.durable_version();
        let elapsed = state.clock.now().saturating_sub(self.synced_at);
        stop || is_requested
            || match state.policy() {
                SyncPolicy::Always => true,
                SyncPolicy::EverySecond => elapsed >= SYNC_INTERVAL,
                SyncPolicy::Never => false,
            }
    }
}

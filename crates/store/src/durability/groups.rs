//! Groups: the records of all versions that are visible become one write of the log, and are durable
//! together. One thread at a time writes a group: the thread of the log, or a thread that would otherwise
//! wait for it.

use std::convert::Infallible;
use std::sync::MutexGuard;
use std::thread;
use std::time::Duration;

use honeycomb_btree::Version;
use honeycomb_log::{Changes, Durability, LogError, LogWriter};
use honeycomb_memory::sync::Ordering;

use super::config::SyncPolicy;
use super::log_state::{Health, LogState};
use super::recent::RecentRecord;
use super::spare::Spare;

/// The time between two syncs of [`SyncPolicy::EverySecond`].
const SYNC_INTERVAL: Duration = Duration::from_secs(1);

/// The state of the thread that writes groups.
pub(crate) struct Groups {
    /// All records up to this version were written.
    written: Version,
    /// The last time that a record states.
    stated: u64,
    synced_at: Duration,
    has_failed: bool,
}

/// The records of a group.
#[derive(Default)]
struct Group {
    records: u64,
    /// Copies of them, if somebody reads changes.
    copies: Vec<RecentRecord>,
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
    pub(super) fn new(written: Version, now: Duration) -> Self {
        Self { written, stated: 0, synced_at: now, has_failed: false }
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
        if self.has_failed {
            let Ok(()) = state.queue.take(visible, |_, _| Ok::<(), Infallible>(()));
        } else if let Err(error) = self.write(state, visible, stop) {
            if error.is_full() {
                state.set_blocked(true);
                state.set_health(Health::Full);
                return false;
            }
            self.has_failed = true;
            state.notify();
        }
        true
    }

    fn write(&mut self, state: &LogState, visible: Version, stop: bool) -> Result<(), LogError> {
        let syncs = self.is_sync_due(state, stop);
        let durability = if syncs { Durability::Now } else { Durability::Later };
        let (start, mut group, mut writer) = (state.clock.now(), Group::default(), state.lock_writer());
        let before = writer.last_version();
        let appended = self.append(state, visible, &mut writer, &mut group);
        let is_due = group.records > 0 || syncs && state.durable_version() < visible;
        let written = appended.and_then(|()| if is_due { writer.flush(durability) } else { Ok(()) });
        let is_known = written.as_ref().map_or_else(LogError::is_full, |()| true);
        if is_known && writer.last_version() > before {
            state.publish((before, writer.last_version()), group.copies);
        }
        if let Err(error) = written {
            if error.is_full() {
                self.state_full(state, writer, group.records, start);
            } else {
                // Before the writer is unlocked, so that no checkpoint ends after the failure.
                state.change_health(Health::Failed(error.to_string()));
            }
            return Err(error);
        }
        state.set_blocked(false);
        if is_due {
            let time = state.clock.now().saturating_sub(start);
            state.counters.record(&writer, group.records, time, syncs);
        }
        let misses_spare = writer.missing_spare().is_some();
        let waits = misses_spare && writer.is_half_full();
        drop(writer);
        if misses_spare {
            request_spare(state, waits);
        }
        self.written = self.written.max(visible);
        self.state_written(state, syncs, group.records);
        // If the spare thread finds a full disk now, it states so again.
        if state.spare.load() != Spare::NoRoom {
            state.set_health(Health::Good);
        }
        Ok(())
    }

    /// Appends the records up to a visible version to the log. The first of them states the time.
    fn append(
        &mut self,
        state: &LogState,
        visible: Version,
        writer: &mut LogWriter,
        group: &mut Group,
    ) -> Result<(), LogError> {
        let (has_readers, now) = (state.recent.readers() > 0, state.clock.milliseconds());
        state.queue.take(visible, |version, record| {
            let mut stated = Changes::default();
            let is_first = group.records == 0 && now != self.stated;
            if is_first {
                stated.extend(record);
                stated.time(now);
            }
            let record = if is_first { stated.bytes() } else { record };
            let last = writer.last_version();
            writer.append(version, record)?;
            if is_first {
                self.stated = now;
            }
            state.table_ids.note((last, version), record);
            if has_readers {
                group.copies.push(RecentRecord { version, changes: record.into() });
            }
            group.records += 1;
            Ok(())
        })
    }

    /// Makes the records of a group before the first one without room known. The log has made them durable
    /// before it has looked for a new file.
    fn state_full(
        &mut self,
        state: &LogState,
        writer: MutexGuard<'_, LogWriter>,
        records: u64,
        start: Duration,
    ) {
        // Each attempt fails at the same record, so most attempts have none before it.
        if records > 0 {
            state.counters.record(&writer, records, state.clock.now().saturating_sub(start), true);
        }
        drop(writer);
        self.written = self.written.max(state.queue.taken());
        self.state_written(state, true, records);
    }

    /// Makes the records that were written known to those who wait for them.
    fn state_written(&mut self, state: &LogState, syncs: bool, records: u64) {
        if syncs {
            self.synced_at = state.clock.now();
            state.set_durable(self.written);
        } else if records > 0 && state.recent.readers() > 0 {
            state.notify();
        }
    }

    fn is_sync_due(&self, state: &LogState, stop: bool) -> bool {
        let is_requested = state.requested.load(Ordering::Relaxed) > state.durable_version();
        // The first record of a start on a full disk must be durable before writes are admitted.
        let is_requested = is_requested || state.is_blocked();
        let elapsed = state.clock.now().saturating_sub(self.synced_at);
        stop || is_requested
            || match state.policy() {
                SyncPolicy::Always => true,
                SyncPolicy::EverySecond => elapsed >= SYNC_INTERVAL,
                SyncPolicy::Never => false,
            }
    }
}

/// Makes the spare thread create a file. `waits`: until it has created one, or found that the disk is full,
/// so that the store refuses writes while the current file has room for those in progress. Otherwise they
/// would wait for room, and all replies with them.
fn request_spare(state: &LogState, waits: bool) {
    state.spare.miss();
    state.wake_spare_thread();
    if waits {
        state.wait_for_spare();
    }
}

//! The log of a store as its threads share it: writers add records, one thread at a time writes them, callers
//! wait until they are durable.
//!
//! Access to the fields:
//! 1. `queue`: a writer puts the record of its version before it releases the version; the thread that has
//!    locked `groups` takes the records of versions up to the read version.
//! 2. `durable`: the same thread stores a version, release, after it has made all records up to it durable;
//!    any thread loads it, acquire.
//! 3. `written`: the same thread stores the version of the last record in the files, release, after it has
//!    added the records to `recent` and `table_ids`; readers of changes load it, acquire.
//! 4. `requested`: any thread raises it to a version that must become durable soon.
//! 5. `sleeper`: the log thread sleeps only after it has found no work; a thread that has work for it wakes
//!    it.
//! 6. `writer`: the thread that has locked `groups` locks it while it writes, a checkpoint while it recycles
//!    files, and the spare thread while it adds a file.
//! 7. `groups`: a thread locks it while it takes records from the queue and writes them. It locks `writer`
//!    meanwhile.
//! 8. `spare`: a thread that has written a group states that it misses a spare file; the spare thread states
//!    whether there is one, or no room for one.
//! 9. `is_blocked`: the thread that has locked `groups` stores it, release, after `durable`; a thread that
//!    does not wait for room loads it, acquire, before `durable`.

use std::cell::Cell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use honeycomb_btree::{Journal, Version};
use honeycomb_layout::wal_change;
use honeycomb_log::{Changes, LogError, LogWriter};
use honeycomb_memory::Sleeper;
use honeycomb_memory::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence, fence_after_exchange};

use super::config::{DurabilityConfig, SyncPolicy};
use super::groups::Groups;
use super::newest_writes::NewestWrites;
use super::queue::Queue;
use super::recent::{Recent, RecentRecord};
use super::spare::{Spare, SpareState};
use super::statistics::{LogCounters, LogPosition};
use super::table_ids::TableIds;
use crate::clock::Clock;
use crate::error::Error;

/// A function that the log thread calls.
pub(crate) type Callback = Arc<dyn Fn() + Send + Sync>;

/// The forest has this state as its journal, so it has no reference to the forest.
pub(crate) struct LogState {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) queue: Queue,
    pub(crate) newest_writes: NewestWrites,
    pub(crate) counters: LogCounters,
    queue_bytes_max: u64,
    load_bytes_max: u64,
    has_old_values: AtomicBool,
    policy: AtomicU32,
    durable: AtomicU64,
    written: AtomicU64,
    pub(crate) recent: Arc<Recent>,
    pub(crate) table_ids: TableIds,
    pub(crate) requested: AtomicU64,
    pub(crate) sleeper: Sleeper,
    pub(crate) stop: AtomicBool,
    pub(crate) thread: OnceLock<Thread>,
    pub(crate) spare_thread: OnceLock<Thread>,
    pub(crate) spare: SpareState,
    pub(crate) writer: Mutex<LogWriter>,
    groups: Mutex<Groups>,
    health: Mutex<Health>,
    /// Whether the health is not [`Health::Good`], to check it without the lock.
    is_unhealthy: AtomicBool,
    /// Whether the first record of the queue has found no room. The records before it are durable.
    is_blocked: AtomicBool,
    changed: Condvar,
    callbacks: Mutex<Vec<Callback>>,
}

/// Whether the log accepts records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Health {
    /// It does.
    Good,
    /// The disk is full. Writes are refused until it has room again.
    Full,
    /// A write or a sync has failed, so nothing is known about the bytes since the last sync. Writes are
    /// refused until the store is opened again.
    Failed(String),
}

thread_local! {
    static IS_IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread executes a callback of a log. It may be any thread that writes the log, and it may
/// hold its locks, so it must not wait for a thread of the store.
pub(crate) fn is_in_callback() -> bool {
    IS_IN_CALLBACK.try_with(Cell::get).unwrap_or(false)
}

/// Versions after which the log thread begins a group that nobody has requested: a fraction of the queue.
const GATHERED_VERSIONS: u64 = 2048;

/// How long a thread waits before it looks again, in case that nobody wakes it.
const WAIT: Duration = Duration::from_millis(100);

impl LogState {
    pub(crate) fn new(
        config: &DurabilityConfig,
        clock: Arc<dyn Clock>,
        writer: LogWriter,
        (version, table_ids, replayed): (Version, TableIds, LogPosition),
    ) -> Self {
        let groups = Mutex::new(Groups::new(version, clock.now()));
        // On a full disk, the record that each start writes has no room.
        let is_full = !writer.has_room();
        Self {
            clock,
            queue: Queue::new(version),
            newest_writes: NewestWrites::new(),
            counters: LogCounters::after(replayed),
            queue_bytes_max: config.queue_bytes_max,
            load_bytes_max: config.load_bytes_max,
            has_old_values: AtomicBool::new(config.old_values),
            policy: AtomicU32::new(config.policy as u32),
            durable: AtomicU64::new(version),
            // No record of this start is in the files.
            written: AtomicU64::new(0),
            recent: Arc::default(),
            table_ids,
            requested: AtomicU64::new(0),
            sleeper: Sleeper::default(),
            stop: AtomicBool::new(false),
            thread: OnceLock::new(),
            spare_thread: OnceLock::new(),
            spare: SpareState::new(),
            writer: Mutex::new(writer),
            groups,
            health: Mutex::new(if is_full { Health::Full } else { Health::Good }),
            is_unhealthy: AtomicBool::new(is_full),
            is_blocked: AtomicBool::new(is_full),
            changed: Condvar::new(),
            callbacks: Mutex::default(),
        }
    }

    pub(crate) fn policy(&self) -> SyncPolicy {
        // Relaxed: a group that is written meanwhile may follow either policy.
        match self.policy.load(Ordering::Relaxed) {
            0 => SyncPolicy::Always,
            1 => SyncPolicy::EverySecond,
            _ => SyncPolicy::Never,
        }
    }

    /// Changes the policy. A writer notes its keys only under `Always`, so gets depend on all writes up to
    /// `newest`, the newest version after the change.
    pub(crate) fn set_policy(&self, policy: SyncPolicy, newest: impl FnOnce() -> Version) {
        self.policy.store(policy as u32, Ordering::Relaxed);
        // Pairs with the fence of `append`: a writer that has loaded the old policy has taken its version
        // before, so `newest` is not below it.
        fence(Ordering::SeqCst);
        self.newest_writes.note_all(newest());
        self.wake();
    }

    /// Changes whether later writes have old values.
    pub(crate) fn set_old_values(&self, old_values: bool) {
        // Relaxed: each change states whether its old value is known, so a write may follow either setting.
        self.has_old_values.store(old_values, Ordering::Relaxed);
    }

    pub(crate) fn durable_version(&self) -> Version {
        self.durable.load(Ordering::Acquire)
    }

    pub(crate) fn set_durable(&self, version: Version) {
        if self.durable.load(Ordering::Relaxed) < version {
            self.durable.store(version, Ordering::Release);
            self.notify();
        }
    }

    /// The version of the last record in the files.
    pub(crate) fn written_version(&self) -> Version {
        self.written.load(Ordering::Acquire)
    }

    /// States that records are in the files, and wakes readers of changes. `copies` are the records, if
    /// there are readers.
    pub(crate) fn publish(&self, (before, last): (Version, Version), mut copies: Vec<RecentRecord>) {
        copies.truncate(copies.partition_point(|record| record.version <= last));
        if !copies.is_empty() {
            self.recent.add(before, copies);
        }
        self.written.store(last, Ordering::Release);
    }

    /// Waits until the files have a record after a version, for some time at most.
    pub(crate) fn wait_written(&self, version: Version, timeout: Duration) {
        let health = self.lock_health();
        let waits =
            |health: &mut Health| self.written_version() <= version && !matches!(health, Health::Failed(_));
        drop(self.changed.wait_timeout_while(health, timeout, waits));
    }

    pub(crate) fn on_durable(&self, callback: Callback) {
        self.callbacks.lock().unwrap_or_else(PoisonError::into_inner).push(callback);
    }

    pub(crate) fn health(&self) -> Health {
        self.lock_health().clone()
    }

    pub(crate) fn set_health(&self, health: Health) {
        if self.change_health(health) {
            self.notify();
        }
    }

    /// Changes the health without a notice. Returns whether the caller must give it, with
    /// [`LogState::notify`].
    pub(crate) fn change_health(&self, health: Health) -> bool {
        let mut current = self.lock_health();
        let changes = *current != health && !matches!(*current, Health::Failed(_));
        if changes {
            self.is_unhealthy.store(health != Health::Good, Ordering::Release);
            *current = health;
        }
        changes
    }

    pub(crate) fn fail(&self, error: &LogError) {
        self.set_health(Health::Failed(error.to_string()));
    }

    /// Whether a new record may be added now.
    #[inline]
    pub(crate) fn admits(&self) -> bool {
        !self.is_unhealthy.load(Ordering::Acquire) && self.has_room()
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.queue.long_bytes() <= self.queue_bytes_max
    }

    /// Returns when a new record may be added, or the error that writes are refused with.
    #[cold]
    pub(crate) fn wait_for_room(&self) -> Result<(), Error> {
        loop {
            self.check_health()?;
            if self.has_room() {
                return Ok(());
            }
            self.wake();
            let health = self.lock_health();
            drop(self.changed.wait_timeout(health, WAIT));
        }
    }

    /// Returns an error if the record of a bulk load would be too long with one more pair.
    pub(crate) fn check_load(&self, record: &Changes, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let bytes = record.bytes().len() + wal_change::SIZE + key.len() + value.len();
        let bytes_max = self.load_bytes_max;
        if bytes as u64 <= bytes_max { Ok(()) } else { Err(Error::LoadTooLarge { bytes_max }) }
    }

    /// Returns the error with which writes are refused, if they are.
    pub(crate) fn check_health(&self) -> Result<(), Error> {
        if !self.is_unhealthy.load(Ordering::Acquire) {
            return Ok(());
        }
        match self.health() {
            Health::Good => Ok(()),
            Health::Full => Err(Error::DiskFull),
            Health::Failed(reason) => Err(Error::ReadOnly { reason }),
        }
    }

    /// Returns an error if the log has failed. With the lock of the writer the answer stays true: a thread
    /// that writes a group states a failure before it unlocks the writer.
    pub(crate) fn check_failed(&self) -> Result<(), Error> {
        match self.check_health() {
            Err(Error::DiskFull) => Ok(()),
            checked => checked,
        }
    }

    /// Returns when all records up to a version are durable.
    pub(crate) fn wait_durable(&self, version: Version) -> Result<(), Error> {
        self.wait_durable_while(version, || Ok(()))
    }

    /// Waits as [`LogState::wait_durable`] does, but returns an error if a record up to the version finds no
    /// room on the disk, or with the error of `check`. A checkpoint must not wait for room that its own end
    /// may make.
    pub(crate) fn wait_durable_with_room(
        &self,
        version: Version,
        check: impl Fn() -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.wait_durable_while(version, || {
            check()?;
            let is_blocked = self.is_blocked();
            if is_blocked && self.durable_version() < version { Err(Error::DiskFull) } else { Ok(()) }
        })
    }

    /// Whether the first record of the queue has found no room.
    pub(crate) fn is_blocked(&self) -> bool {
        self.is_blocked.load(Ordering::Acquire)
    }

    /// States whether the first record of the queue has found no room.
    pub(crate) fn set_blocked(&self, is_blocked: bool) {
        self.is_blocked.store(is_blocked, Ordering::Release);
    }

    /// Waits until all records up to a version are durable, or `check` returns an error, which is called at
    /// intervals.
    fn wait_durable_while(
        &self,
        version: Version,
        check: impl Fn() -> Result<(), Error>,
    ) -> Result<(), Error> {
        while self.durable_version() < version {
            if self.write(version) {
                continue;
            }
            self.request(version);
            let health = self.lock_health();
            if let Health::Failed(reason) = &*health {
                return Err(Error::NotDurable { reason: reason.clone() });
            }
            check()?;
            if self.durable_version() < version {
                drop(self.changed.wait_timeout(health, WAIT));
            }
        }
        Ok(())
    }

    /// Writes the records up to a version, which readers see, unless another thread writes now or the policy
    /// does not make a group durable. Returns whether all of them are durable.
    fn write(&self, version: Version) -> bool {
        if self.policy() != SyncPolicy::Always || self.is_unhealthy.load(Ordering::Acquire) {
            return false;
        }
        let Ok(mut groups) = self.groups.try_lock() else { return false };
        groups.step(self, version, false);
        self.durable_version() >= version
    }

    /// Requests that all records up to a version become durable soon.
    pub(crate) fn request(&self, version: Version) {
        if self.durable_version() < version {
            self.requested.fetch_max(version, Ordering::Relaxed);
            self.wake();
        }
    }

    /// Wakes the log thread if it sleeps.
    pub(crate) fn wake(&self) {
        if self.sleeper.must_wake() {
            self.unpark();
        }
    }

    fn unpark(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Makes the spare thread look for a missing spare file.
    pub(crate) fn wake_spare_thread(&self) {
        if let Some(thread) = self.spare_thread.get() {
            thread.unpark();
        }
    }

    /// Returns when the spare thread has looked for the missing spare file.
    pub(crate) fn wait_for_spare(&self) {
        while self.spare.load() == Spare::Missing && !self.stop.load(Ordering::Acquire) {
            let health = self.lock_health();
            if matches!(*health, Health::Failed(_)) {
                return;
            }
            if self.spare.load() == Spare::Missing {
                drop(self.changed.wait_timeout(health, WAIT));
            }
        }
    }

    pub(crate) fn lock_writer(&self) -> MutexGuard<'_, LogWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lock_groups(&self) -> MutexGuard<'_, Groups> {
        self.groups.lock().unwrap_or_else(|poisoned| {
            let mut groups = poisoned.into_inner();
            groups.fail();
            groups
        })
    }

    /// Wakes all threads that wait.
    pub(crate) fn wake_waiting(&self) {
        // The lock makes sure that a thread that has just checked its condition is waiting.
        drop(self.lock_health());
        self.changed.notify_all();
    }

    /// Wakes all threads that wait, and calls the callbacks.
    pub(crate) fn notify(&self) {
        self.wake_waiting();
        let callbacks = self.callbacks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_outer = IS_IN_CALLBACK.replace(true);
        callbacks.iter().for_each(|callback| callback());
        IS_IN_CALLBACK.set(is_outer);
    }

    fn lock_health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for LogState {
    #[inline]
    fn append(&self, version: Version, changes: &mut Changes) {
        // Pairs with the fences of `set_policy` and of `Sleeper::prepare`: the exchange before was that with
        // which this thread has taken the version, and the log thread sleeps only if no version was taken.
        fence_after_exchange();
        let is_always = self.policy() == SyncPolicy::Always;
        if is_always {
            self.newest_writes.note(version, changes);
        }
        self.queue.put(version, changes);
        // Under `Always`, threads that wait request their versions. Until then the records of a batch gather.
        if (!is_always || version.is_multiple_of(GATHERED_VERSIONS)) && self.sleeper.must_wake_after_fence() {
            self.unpark();
        }
    }

    #[inline]
    fn has_old_values(&self) -> bool {
        self.has_old_values.load(Ordering::Relaxed)
    }
}

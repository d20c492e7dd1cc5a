//! Replies that wait until everything that they depend on is durable.
//!
//! After an iteration of the event loop, every reply of it depends on no version above the read version. So
//! a connection marks the end of its replies with that version, and sends them up to a mark when the version
//! is durable. If it has executed only gets in the iteration, the version is that of the newest write to
//! their keys, which is durable in most cases. The thread of the log then wakes the cores that hold replies:
//! a core states that it holds replies and loads the durable version once more; the thread of the log stores
//! the durable version and reads the statements.

use std::collections::VecDeque;
use std::sync::Arc;

use honeycomb_memory::Sleeper;
use honeycomb_store::{Error, Store, SyncPolicy, Version};

use crate::server_state::ServerState;

/// The versions that decide which replies of an iteration may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hold {
    /// All replies so far depend on no later version.
    needed: Version,
    /// All versions up to this one are durable.
    durable: Version,
    /// Whether all replies wait, and not only those of clients that requested it.
    holds_all: bool,
    /// Whether the log has failed, so that held replies can never leave.
    pub(crate) has_failed: bool,
}

/// The marks in the replies of a connection.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// The end of replies in bytes since the connection was opened, and their version.
    marks: VecDeque<(u64, Version)>,
    /// Bytes that were sent, and that may be sent, since the connection was opened.
    sent: u64,
    released: u64,
    /// The end of replies to gets that follow the last mark without other replies between them, and the
    /// version that they depend on.
    gets: (u64, Version),
}

/// Whether each core holds replies.
#[derive(Debug)]
pub(crate) struct HoldingCores(Vec<Sleeper>);

impl Hold {
    /// Returns the versions for the replies so far; `None` if the store is in memory only.
    pub(crate) fn now(store: &Store) -> Option<Self> {
        let policy = store.sync_policy()?;
        let has_failed = has_failed(store);
        Some(Self {
            needed: store.read_version(),
            durable: store.durable_version(),
            holds_all: policy == SyncPolicy::Always,
            has_failed,
        })
    }

    /// Whether replies that depend on a version may leave now; `None`: they depend on the read version.
    pub(crate) fn releases(&self, version: Option<Version>) -> bool {
        !self.holds_all || self.has(version.unwrap_or(self.needed))
    }

    /// Whether a version is durable.
    pub(crate) fn has(&self, version: Version) -> bool {
        version <= self.durable
    }

    /// The version of the replies of this iteration.
    pub(crate) fn needed(&self) -> Version {
        self.needed
    }
}

impl Held {
    /// Records a reply to gets from byte `before` to byte `after` of the unsent bytes, which depends on
    /// `version`; 0 for a reply that depends on no pairs.
    pub(crate) fn got(&mut self, (before, after): (usize, usize), version: Version) {
        let (start, end) = (self.sent + before as u64, self.sent + after as u64);
        let marked = self.marked();
        if self.gets.0 < marked {
            self.gets = (marked, 0);
        }
        if self.gets.0 == start {
            self.gets = (end, self.gets.1.max(version));
        }
    }

    /// Marks the end of `unsent` bytes of replies, and releases those that may leave.
    pub(crate) fn update(&mut self, hold: Option<&Hold>, unsent: usize) {
        let end = self.sent + unsent as u64;
        let Some(hold) = hold else {
            self.released = end;
            return;
        };
        if end > self.marked() {
            let version = match self.gets {
                _ if !hold.holds_all => self.marks.back().map_or(0, |mark| mark.1),
                (got, version) if got == end => version,
                _ => hold.needed,
            };
            self.marks.push_back((end, version));
        }
        while let Some(&(end, version)) = self.marks.front() {
            if version > hold.durable {
                break;
            }
            self.released = self.released.max(end);
            self.marks.pop_front();
        }
    }

    /// Records that bytes were sent.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    /// The number of bytes that may be sent now.
    pub(crate) fn released(&self) -> usize {
        usize::try_from(self.released.saturating_sub(self.sent)).unwrap_or(usize::MAX)
    }

    /// The end of the replies of earlier iterations.
    fn marked(&self) -> u64 {
        self.marks.back().map_or(self.released, |(last, _)| *last)
    }

    /// Returns the bytes of memory in use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.marks.capacity() * size_of::<(u64, Version)>()
    }

    /// Whether replies wait.
    pub(crate) fn waits(&self) -> bool {
        !self.marks.is_empty()
    }
}

impl HoldingCores {
    pub(crate) fn new(cores: usize) -> Self {
        Self((0..cores).map(|_| Sleeper::default()).collect())
    }

    /// States that a core holds replies, and requests that they become durable. Returns whether more is
    /// durable than when the core looked, or the log has failed since, so that it must look again.
    pub(crate) fn wait(&self, core: usize, store: &Store, hold: &Hold) -> bool {
        self.0[core].prepare();
        let is_durable = store.request_durable(hold.needed);
        is_durable || store.durable_version() > hold.durable || has_failed(store) && !hold.has_failed
    }
}

/// Whether nothing becomes durable any more.
pub(crate) fn has_failed(store: &Store) -> bool {
    matches!(store.check_writable(), Err(Error::ReadOnly { .. }))
}

/// Makes the log of the store wake the cores that hold replies.
pub(crate) fn wake_cores(shared: &Arc<ServerState>) {
    // The store is part of the state, so a reference from here would keep both alive.
    let state = Arc::downgrade(shared);
    shared.store.on_durable(Arc::new(move || {
        let Some(shared) = state.upgrade() else { return };
        for (core, holds) in shared.holding.0.iter().enumerate() {
            if holds.must_wake() {
                shared.wake(core);
            }
        }
    }));
}

#[cfg(test)]
mod tests {
    use honeycomb_store::{Config, DurabilityConfig};
    use honeycomb_testing::{DiskFault, SimulatedDisk};

    use super::*;

    fn hold(needed: Version, durable: Version) -> Hold {
        Hold { needed, durable, holds_all: true, has_failed: false }
    }

    #[test]
    fn replies_leave_in_order_when_their_versions_are_durable() {
        let mut held = Held::default();
        held.update(Some(&hold(5, 4)), 10);
        assert_eq!((held.released(), held.waits()), (0, true));
        held.update(Some(&hold(7, 5)), 25);
        assert_eq!(held.released(), 10);
        held.sent(6);
        held.update(Some(&hold(9, 6)), 19);
        assert_eq!(held.released(), 4);
        held.update(Some(&hold(9, 9)), 19);
        assert_eq!((held.released(), held.waits()), (19, false));
    }

    /// Returns a store under the policy `always`, and its disk.
    fn open() -> (SimulatedDisk, Store) {
        let disk = SimulatedDisk::default();
        let durability = DurabilityConfig::with_storage(Arc::new(disk.clone()));
        let durability = Some(DurabilityConfig { writes_wait: false, ..durability });
        let config = Config { memory_bytes: 16 << 20, durability, ..Config::default() };
        (disk, Store::open(config).unwrap())
    }

    /// Fails the log with a write in progress. Returns what a core saw before.
    fn fail(disk: &SimulatedDisk, store: &Store) -> Hold {
        let table = store.table("t").unwrap();
        store.wait_durable(store.read_version()).unwrap();
        disk.fail_write(".log", DiskFault::PowerCut);
        table.put(b"key", b"value").unwrap();
        assert!(store.wait_durable(store.read_version()).is_err());
        // The log may fail at once, so a look at the store between write and failure would be a race.
        Hold { has_failed: false, ..Hold::now(store).unwrap() }
    }

    #[test]
    fn a_core_notices_a_failure_that_precedes_its_wait() {
        let ((disk, store), cores) = (open(), HoldingCores::new(1));
        let before = fail(&disk, &store);
        assert!(cores.wait(0, &store, &before));
        assert!(!cores.wait(0, &store, &Hold::now(&store).unwrap()), "it has noticed the failure");
    }

    /// A write that was accepted before the failure, and whose reply was to leave after it.
    #[test]
    fn a_reply_to_a_write_does_not_leave_after_a_failure() {
        let (disk, store) = open();
        fail(&disk, &store);
        let (hold, mut held) = (Hold::now(&store).unwrap(), Held::default());
        assert!(hold.has_failed && !hold.releases(None));
        held.update(Some(&hold), 5);
        assert_eq!((held.released(), held.waits()), (0, true));
    }

    #[test]
    fn marks_count_as_memory() {
        let mut held = Held::default();
        (1..=1000).for_each(|reply| held.update(Some(&hold(5, 4)), 5 * reply));
        assert!(held.memory_bytes() >= 1000 * 16);
    }

    #[test]
    fn gets_wait_for_their_keys_only() {
        let mut held = Held::default();
        held.got((0, 10), 3);
        held.got((10, 15), 2);
        held.update(Some(&hold(9, 3)), 15);
        assert_eq!((held.released(), held.waits()), (15, false));
        held.sent(15);
        // A get of a key that was just written.
        held.got((0, 4), 8);
        held.update(Some(&hold(9, 7)), 4);
        assert_eq!((held.released(), held.waits()), (0, true));
        held.update(Some(&hold(9, 8)), 4);
        assert_eq!((held.released(), held.waits()), (4, false));
    }

    #[test]
    fn gets_among_other_replies_wait_for_all() {
        let (early, late) = (hold(9, 5), hold(9, 9));
        let among: [&dyn Fn(&mut Held); 3] = [
            // Another reply before the get, after it, and between two.
            &|held| held.got((6, 10), 3),
            &|held| held.got((0, 4), 3),
            &|held| [(0, 4), (8, 10)].into_iter().for_each(|place| held.got(place, 3)),
        ];
        for get in among {
            let mut held = Held::default();
            get(&mut held);
            held.update(Some(&early), 10);
            assert_eq!((held.released(), held.waits()), (0, true));
            // A later get does not overtake them.
            held.got((10, 20), 1);
            held.update(Some(&early), 20);
            assert_eq!(held.released(), 0);
            held.update(Some(&late), 20);
            assert_eq!((held.released(), held.waits()), (20, false));
        }
    }

    #[test]
    fn replies_do_not_wait_under_other_policies_but_keep_their_order() {
        let later = Hold { holds_all: false, ..hold(5, 4) };
        let mut held = Held::default();
        held.update(Some(&later), 10);
        assert_eq!(held.released(), 10);
        held.update(Some(&hold(5, 4)), 30);
        // The policy has changed. This reply waits behind the earlier one.
        held.update(Some(&later), 40);
        assert_eq!(held.released(), 10);
        held.update(Some(&Hold { durable: 5, ..later }), 40);
        assert_eq!(held.released(), 40);
        held.update(None, 50);
        assert_eq!(held.released(), 50);
    }
}

//! Snapshots: reads of one version while a lease lasts.

use std::fmt;
use std::sync::Arc;

use honeycomb_btree::Version;
use honeycomb_memory::LeaseUse;

use crate::config::LeaseLimits;
use crate::error::Error;
use crate::lanes::ReadSource;
use crate::lease::ActiveLease;
use crate::pairs::Pairs;
use crate::scan::Scan;
use crate::store_state::{StoreState, ValuePart};
use crate::table::{Table, append_value};

/// A read-only view of all tables at one moment.
///
/// A snapshot prevents the memory of its version from being reclaimed, so it has a lease with
/// [limits](LeaseLimits). It ends when its time is over without a [`renew`](Snapshot::renew), when writes
/// have replaced more bytes than its limit, or when a write would otherwise find no room (the oldest snapshot
/// ends first). Every later use fails with [`Error::SnapshotTooOld`]; a use in flight succeeds. A result
/// never mixes versions.
///
/// It also ends when its last handle (this one, its clones, its iterators, [`Reads`](crate::Reads)) is
/// dropped, unless the program has called [`token`](Snapshot::token). Then it outlives its handles until its
/// limits or a [`release`](Snapshot::release) end it, and [`Store::resume`](crate::Store::resume) returns new
/// handles to it.
///
/// The store checks the limits whenever a snapshot is used or taken, and with every 256th write of a thread.
/// So a lease can exceed its limits by the bytes that those writes replace, and an unused lease lasts until a
/// thread writes.
///
/// ```
/// use honeycomb_store::{Config, Store};
///
/// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
/// let table = store.table("stock")?;
/// table.put(b"apples", b"10")?;
/// let snapshot = store.snapshot()?;
/// table.put(b"apples", b"3")?;
/// assert_eq!(snapshot.get(&table, b"apples")?.as_deref(), Some(&b"10"[..]));
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Clone)]
pub struct Snapshot {
    handle: Arc<Handle>,
}

/// Identifies a snapshot of one store for [`Store::resume`](crate::Store::resume). Tokens ascend and are not
/// secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotToken(u64);

impl SnapshotToken {
    /// Returns the token with a number that [`SnapshotToken::get`] returned.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number of the token.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

/// The state that the clones of a snapshot share.
struct Handle {
    state: Arc<StoreState>,
    lease: Arc<ActiveLease>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Without the token nobody can create another handle.
        if !self.lease.outlives_handles() {
            self.state.leases.end(&self.lease);
        }
    }
}

impl Snapshot {
    /// Takes a snapshot of the current state.
    pub(crate) fn take(state: &Arc<StoreState>, limits: LeaseLimits) -> Result<Self, Error> {
        if !state.forest.mvcc() {
            return Err(Error::MvccOff);
        }
        let lease = state.leases.acquire(&state.forest, limits)?;
        Ok(Self { handle: Arc::new(Handle { state: state.clone(), lease }) })
    }

    /// Returns another handle to the snapshot with this token.
    pub(crate) fn resume(state: &Arc<StoreState>, token: SnapshotToken) -> Result<Self, Error> {
        let lease = state.leases.find(token.get())?;
        state.leases.enter(&lease, state.forest.memory()).map(drop)?;
        Ok(Self { handle: Arc::new(Handle { state: state.clone(), lease }) })
    }

    /// Returns the version that the snapshot reads.
    #[must_use]
    pub fn version(&self) -> Version {
        self.handle.lease.version
    }

    /// Returns the token of the snapshot. From now on the snapshot outlives its handles.
    #[must_use]
    pub fn token(&self) -> SnapshotToken {
        self.handle.lease.outlive_handles();
        SnapshotToken(self.handle.lease.token)
    }

    /// Restarts the time limit. The byte limit does not restart: the snapshot still pins what it has pinned
    /// so far.
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`].
    pub fn renew(&self) -> Result<(), Error> {
        let Handle { state, lease } = &*self.handle;
        state.leases.renew(lease, state.forest.memory())
    }

    /// Ends the snapshot for all its handles.
    pub fn release(self) {
        self.handle.state.leases.end(&self.handle.lease);
    }

    /// Returns the value of a key, or `None` if the key is absent.
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`], [`Error::KeyLength`], [`Error::ForeignTable`].
    pub fn get(&self, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut value = Vec::new();
        Ok(self.get_into(table, key, &mut value)?.then_some(value))
    }

    /// Replaces the contents of `value` with the value of a key. Returns false, with `value` empty, if the
    /// key is absent. Does not allocate if the capacity of `value` suffices.
    ///
    /// # Errors
    /// The same as for [`Snapshot::get`].
    pub fn get_into(&self, table: &Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Error> {
        value.clear();
        self.check_table(table)?;
        self.read(table, |source| self.handle.state.get(source, key, |found| append_value(found, value)))
    }

    /// Appends at most `length` bytes of a value to `out`, beginning at byte `offset`. Returns the length of
    /// the whole value, or `None` if the key is absent. The time depends on the length of the part, not of
    /// the value, so a program can read a long value in parts between other work. [`Table::get_part`] has an
    /// example.
    ///
    /// # Errors
    /// The same as for [`Snapshot::get`].
    pub fn get_part(
        &self,
        table: &Table,
        key: &[u8],
        offset: usize,
        length: usize,
        out: &mut Vec<u8>,
    ) -> Result<Option<usize>, Error> {
        self.check_table(table)?;
        let in_use = self.enter()?;
        let state = self.state();
        let reader = state.forest.reader_at(&in_use, self.version());
        state.get_part(&reader, table.root(), key, ValuePart { offset, length }, out)
    }

    /// Returns the pairs that a scan finds: at most
    /// [`Config::scan_pairs_max`](crate::Config::scan_pairs_max).
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`], [`Error::ForeignTable`].
    pub fn scan(&self, table: &Table, scan: &Scan<'_>) -> Result<Pairs, Error> {
        let mut pairs = Pairs::default();
        self.scan_into(table, scan, &mut pairs)?;
        Ok(pairs)
    }

    /// Replaces the contents of `pairs` with the pairs that [`Snapshot::scan`] would return, and reuses its
    /// buffers.
    ///
    /// # Errors
    /// The same as for [`Snapshot::scan`].
    pub fn scan_into(&self, table: &Table, scan: &Scan<'_>, pairs: &mut Pairs) -> Result<(), Error> {
        pairs.clear();
        self.check_table(table)?;
        self.read(table, |source| self.handle.state.scan_into(source, scan, pairs))
    }

    pub(crate) fn state(&self) -> &StoreState {
        &self.handle.state
    }

    pub(crate) fn check_table(&self, table: &Table) -> Result<(), Error> {
        table.check_store(&self.handle.state)
    }

    /// Returns the lease, to read a table at its version.
    pub(crate) fn lease_of(&self, table: &Table) -> Result<&ActiveLease, Error> {
        self.check_table(table)?;
        Ok(&self.handle.lease)
    }

    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handle.lease, &other.handle.lease)
    }

    /// Enters the lease.
    pub(crate) fn enter(&self) -> Result<LeaseUse<'_>, Error> {
        let Handle { state, lease } = &*self.handle;
        state.leases.enter(lease, state.forest.memory())
    }

    /// Calls `read` under the lease.
    pub(crate) fn read<T>(
        &self,
        table: &Table,
        read: impl FnOnce(ReadSource) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let _in_use = self.enter()?;
        read(table.source_at(self.version()))
    }
}

impl Table {
    /// Takes a snapshot of the store, as [`Store::snapshot`](crate::Store::snapshot) does.
    ///
    /// # Errors
    /// The same as for [`Store::snapshot`](crate::Store::snapshot).
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        Snapshot::take(self.state(), self.state().lease_limits)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("version", &self.version()).finish_non_exhaustive()
    }
}

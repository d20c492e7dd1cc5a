//! Snapshots: reads of one version for as long as a lease lasts.

use std::fmt;
use std::ops::RangeBounds;
use std::sync::Arc;

use honeycomb_btree::Version;
use honeycomb_memory::LeaseUse;

use crate::config::LeaseLimits;
use crate::error::Error;
use crate::iter::{Iter, Pages};
use crate::lanes::ReadSource;
use crate::lease::Held;
use crate::pairs::Pairs;
use crate::range;
use crate::scan::Scan;
use crate::shared::{Part, StoreState};
use crate::table::{Table, append_found};

/// All tables as they were at one moment.
///
/// A snapshot keeps what it sees from being reclaimed, so it is leased: it ends when its time is over without
/// a [`renew`](Snapshot::renew), when writes have replaced more bytes than its limit since it was taken, or
/// when a write would find no room otherwise (of several snapshots the oldest goes first). From then on every
/// use is [`Error::SnapshotTooOld`]; a use under way ends well. No answer is ever of another version.
///
/// It also ends when its last handle (this, its clones, its iterators) is dropped, unless its
/// [`token`](Snapshot::token) was asked for. Then it lasts without handles until its limits or a
/// [`release`](Snapshot::release) end it, and [`Store::resume`](crate::Store::resume) makes handles for it.
///
/// Limits are looked at whenever a snapshot is used or taken, and by every 256th write of a thread: so a
/// lease may run over by what those writes replace, and one that nobody uses lasts until somebody writes.
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

/// Names a snapshot of one store, for [`Store::resume`](crate::Store::resume). Tokens count up: no secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotToken(u64);

impl SnapshotToken {
    /// The token of that number, as [`SnapshotToken::get`] gave it.
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }
}

/// What the clones of a snapshot share.
struct Handle {
    shared: Arc<StoreState>,
    held: Arc<Held>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Without the token nobody can make another handle.
        if !self.held.is_kept() {
            self.shared.leases.end(&self.held);
        }
    }
}

impl Snapshot {
    /// A snapshot of what is visible now.
    pub(crate) fn take(shared: &Arc<StoreState>, limits: LeaseLimits) -> Result<Self, Error> {
        if !shared.forest.mvcc() {
            return Err(Error::MvccOff);
        }
        let held = shared.leases.take(&shared.forest, limits)?;
        Ok(Self { handle: Arc::new(Handle { shared: shared.clone(), held }) })
    }

    /// Another handle.
    pub(crate) fn resume(shared: &Arc<StoreState>, token: SnapshotToken) -> Result<Self, Error> {
        let held = shared.leases.find(token.get())?;
        shared.leases.enter(&held, shared.forest.memory()).map(drop)?;
        Ok(Self { handle: Arc::new(Handle { shared: shared.clone(), held }) })
    }

    /// The version it sees.
    #[must_use]
    pub fn version(&self) -> Version {
        self.handle.held.version
    }

    /// Its token. From now on the snapshot lasts without handles.
    #[must_use]
    pub fn token(&self) -> SnapshotToken {
        self.handle.held.keep();
        SnapshotToken(self.handle.held.token)
    }

    /// Lets its time begin again. What it may pin in bytes stays as it is: it still pins what it has pinned.
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`].
    pub fn renew(&self) -> Result<(), Error> {
        let Handle { shared, held } = &*self.handle;
        shared.leases.renew(held, shared.forest.memory())
    }

    /// Ends it, for all its handles.
    pub fn release(self) {
        self.handle.shared.leases.end(&self.handle.held);
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`], [`Error::KeyLength`], [`Error::ForeignTable`].
    pub fn get(&self, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let mut value = Vec::new();
        Ok(self.get_into(table, key, &mut value)?.then_some(value))
    }

    /// Puts the value of a key in place of what `value` holds: whether there is one. Allocates nothing if
    /// there is room in `value`.
    ///
    /// # Errors
    /// As [`Snapshot::get`].
    pub fn get_into(&self, table: &Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Error> {
        value.clear();
        self.check_table(table)?;
        self.read(table, |source| self.handle.shared.get(source, key, |found| append_found(found, value)))
    }

    /// Appends at most `length` bytes of a value to `out`, from byte `offset` on: how long the whole value
    /// is. Takes time for the part, not for the value, so that a long value can be read in parts between
    /// other work; [`Table::get_part`] shows how.
    ///
    /// # Errors
    /// As [`Snapshot::get`].
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
        let shared = self.shared();
        let reader = shared.forest.reader_at(&in_use, self.version());
        shared.get_part(&reader, table.root(), key, Part { offset, length }, out)
    }

    /// The pairs that a scan finds: at most [`Config::scan_pairs_max`](crate::Config::scan_pairs_max).
    ///
    /// # Errors
    /// [`Error::SnapshotTooOld`], [`Error::ForeignTable`].
    pub fn scan(&self, table: &Table, scan: &Scan<'_>) -> Result<Pairs, Error> {
        let mut pairs = Pairs::default();
        self.scan_into(table, scan, &mut pairs)?;
        Ok(pairs)
    }

    /// As [`Snapshot::scan`], into buffers that are used again.
    ///
    /// # Errors
    /// As [`Snapshot::scan`].
    pub fn scan_into(&self, table: &Table, scan: &Scan<'_>, pairs: &mut Pairs) -> Result<(), Error> {
        pairs.clear();
        self.check_table(table)?;
        self.read(table, |source| self.handle.shared.scan_into(source, scan, pairs))
    }

    /// Iterates over a range, forward and backward; [`Table::range`] says more.
    ///
    /// # Errors
    /// [`Error::ForeignTable`]. The items can be [`Error::SnapshotTooOld`].
    pub fn iter<'k, K: AsRef<[u8]> + ?Sized + 'k>(
        &self,
        table: &Table,
        range: impl RangeBounds<&'k K>,
    ) -> Result<Iter, Error> {
        self.check_table(table)?;
        Ok(Iter::new(Pages::At(self.clone()), table.clone(), range::bounds(&range)))
    }

    pub(crate) fn shared(&self) -> &StoreState {
        &self.handle.shared
    }

    pub(crate) fn check_table(&self, table: &Table) -> Result<(), Error> {
        table.check_store(&self.handle.shared)
    }

    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handle.held, &other.handle.held)
    }

    /// Begins a use of the lease.
    pub(crate) fn enter(&self) -> Result<LeaseUse<'_>, Error> {
        let Handle { shared, held } = &*self.handle;
        shared.leases.enter(held, shared.forest.memory())
    }

    /// One use of the lease.
    pub(crate) fn read<T>(
        &self,
        table: &Table,
        read: impl FnOnce(ReadSource) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let _in_use = self.enter()?;
        read(table.source_at(self.version()))
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("version", &self.version()).finish_non_exhaustive()
    }
}

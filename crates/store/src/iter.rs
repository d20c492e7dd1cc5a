//! Iterators: pages of pairs. Each page continues after the last key of the page before, at the same version.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

use crate::error::Error;
use crate::pairs::Pairs;
use crate::range::{self, Bounds};
use crate::snapshot::Snapshot;
use crate::store_state::StoreState;
use crate::table::Table;

/// Pairs of the first page. It is small, for callers that need only a few pairs; each further page is four
/// times as long as the one before.
const PAGE_PAIRS_MIN: usize = 64;
/// Most pairs of a page.
const PAGE_PAIRS_MAX: usize = 4096;
/// Bytes at which a page ends.
const PAGE_BYTES_MAX: u32 = 1 << 20;

/// Iterates over the pairs of a range in ascending order of their keys, or in descending order with
/// [`Iterator::rev`]. All pairs are of one version, even while other threads write. Without MVCC only the
/// pairs of one page are.
///
/// If the snapshot of the iterator ends, the last item is [`Error::SnapshotTooOld`].
pub struct Iter {
    source: PageSource,
    table: Table,
    /// The range that neither side has read yet.
    unread: OwnedBounds,
    front: Side,
    back: Side,
}

/// The source of an iterator.
#[derive(Clone)]
pub(crate) enum PageSource {
    /// The state at the time of each page.
    Now(Arc<StoreState>),
    At(Snapshot),
}

type OwnedBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// One end of an iterator: a page in the order in which this side returns its pairs.
struct Side {
    page: Pairs,
    left: Range<usize>,
    page_pairs: usize,
}

impl Iter {
    pub(crate) fn new(source: PageSource, table: Table, (lower, upper): Bounds<'_>) -> Self {
        let unread = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        Self { source, table, unread, front: Side::new(), back: Side::new() }
    }

    /// Returns the next page from the front. It is empty at the end.
    pub(crate) fn next_page(&mut self) -> Result<&Pairs, Error> {
        self.read_page(false)?;
        Ok(&self.front.page)
    }

    fn step(&mut self, backward: bool) -> Option<<Self as Iterator>::Item> {
        let side = if backward { &self.back } else { &self.front };
        if side.left.is_empty()
            && let Err(error) = self.read_page(backward)
        {
            self.end();
            return Some(Err(error));
        }
        let (near, far) =
            if backward { (&mut self.back, &mut self.front) } else { (&mut self.front, &mut self.back) };
        // When the whole range was read, the remaining pairs are in the page of the other side, and its last
        // pair is the next one here.
        let (page, index) = match near.left.next() {
            Some(index) => (&near.page, index),
            None => (&far.page, far.left.next_back()?),
        };
        page.get(index).map(|(key, value)| Ok((key.to_vec(), value.to_vec())))
    }

    fn read_page(&mut self, backward: bool) -> Result<(), Error> {
        let side = if backward { &mut self.back } else { &mut self.front };
        side.page.clear();
        let limit = side.page_pairs;
        side.page_pairs = PAGE_PAIRS_MAX.min(4 * limit);
        let bounds = (as_slice(&self.unread.0), as_slice(&self.unread.1));
        let page = &mut side.page;
        if let Some((lower, upper)) = range::normalize(bounds, false, self.table.key_bytes_max()) {
            let request = honeycomb_btree::Scan { lower, upper, backward, limit, ..Default::default() };
            self.source.read(&self.table, &request, page)?;
        }
        side.left = 0..side.page.len();
        let last = side.page.last().filter(|_| side.page.more());
        match last.map(|(key, _)| Bound::Excluded(key.to_vec())) {
            None => self.unread = empty_bounds(),
            Some(bound) if backward => self.unread.1 = bound,
            Some(bound) => self.unread.0 = bound,
        }
        Ok(())
    }

    /// Ends the iteration for both sides.
    fn end(&mut self) {
        self.unread = empty_bounds();
        self.front.left = 0..0;
        self.back.left = 0..0;
    }
}

impl Side {
    fn new() -> Self {
        Self { page: Pairs::default(), left: 0..0, page_pairs: PAGE_PAIRS_MIN }
    }
}

impl PageSource {
    /// A new snapshot, if the store has versions.
    pub(crate) fn of(state: &Arc<StoreState>) -> Result<Self, Error> {
        if !state.forest.mvcc() {
            return Ok(Self::Now(state.clone()));
        }
        Snapshot::take(state, state.lease_limits).map(Self::At)
    }

    /// Renews the lease of the snapshot.
    pub(crate) fn renew(&self) -> Result<(), Error> {
        match self {
            Self::Now(_) => Ok(()),
            Self::At(snapshot) => snapshot.renew(),
        }
    }

    fn read(
        &self,
        table: &Table,
        request: &honeycomb_btree::Scan<'_>,
        page: &mut Pairs,
    ) -> Result<(), Error> {
        match self {
            Self::Now(state) => state.fill(table.source(), request, PAGE_BYTES_MAX, page),
            Self::At(snapshot) => {
                snapshot.read(table, |source| snapshot.state().fill(source, request, PAGE_BYTES_MAX, page))
            }
        }
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// The bounds of an empty range.
fn empty_bounds() -> OwnedBounds {
    (Bound::Unbounded, Bound::Excluded(Vec::new()))
}

impl Table {
    /// Iterates over all pairs, as [`Table::range`] does over those of a range.
    ///
    /// # Errors
    /// The same as for [`Table::range`].
    pub fn iter(&self) -> Result<Iter, Error> {
        self.range::<[u8]>(..)
    }

    /// Iterates over the current pairs with keys in a range, forward and backward. The iterator reads a
    /// [`Snapshot`](crate::Snapshot) with the store's lease limits. Without MVCC there is no snapshot, and
    /// only the pairs of one page are of one version.
    ///
    /// ```
    /// use honeycomb_store::{Config, Store};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let table = store.table("letters")?;
    /// for key in [b"a", b"b", b"c", b"d"] {
    ///     table.put(key, b"")?;
    /// }
    /// let pairs: Vec<_> = table.range("b"..)?.rev().collect::<Result<_, _>>()?;
    /// assert!(pairs.iter().map(|(key, _)| key).eq([b"d", b"c", b"b"]));
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooManySnapshots`]. The items can be [`Error::SnapshotTooOld`].
    pub fn range<'k, K: AsRef<[u8]> + ?Sized + 'k>(
        &self,
        range: impl RangeBounds<&'k K>,
    ) -> Result<Iter, Error> {
        Ok(Iter::new(PageSource::of(self.state())?, self.clone(), range::bounds(&range)))
    }
}

impl Snapshot {
    /// Iterates over the pairs with keys in a range, forward and backward, as [`Table::range`] does.
    ///
    /// # Errors
    /// [`Error::ForeignTable`]. The items can be [`Error::SnapshotTooOld`].
    pub fn iter<'k, K: AsRef<[u8]> + ?Sized + 'k>(
        &self,
        table: &Table,
        range: impl RangeBounds<&'k K>,
    ) -> Result<Iter, Error> {
        self.check_table(table)?;
        Ok(Iter::new(PageSource::At(self.clone()), table.clone(), range::bounds(&range)))
    }
}

impl Iterator for Iter {
    type Item = Result<(Vec<u8>, Vec<u8>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(false)
    }
}

impl DoubleEndedIterator for Iter {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step(true)
    }
}

impl FusedIterator for Iter {}

impl fmt::Debug for Iter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter")
            .field("table", &self.table)
            .field("unread", &self.unread)
            .finish_non_exhaustive()
    }
}

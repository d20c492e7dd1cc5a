//! Iterators: pages of pairs, each continuing after the last key of the one before, at one version.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Bound, Range};
use std::sync::Arc;

use crate::error::Error;
use crate::pairs::Pairs;
use crate::range::{self, Bounds};
use crate::shared::StoreState;
use crate::snapshot::Snapshot;
use crate::table::Table;

/// Pairs of the first page. Who wants only a few reads only a few; each page is four times the one before.
const PAGE_PAIRS_MIN: usize = 64;
/// Pairs of the largest page.
const PAGE_PAIRS_MAX: usize = 4096;
/// Bytes after which a page takes no further pair.
const PAGE_BYTES_MAX: u32 = 1 << 20;

/// Iterates over the pairs of a range in the order of their keys, or from the end with [`Iterator::rev`]. All
/// pairs are of one version, whatever is written meanwhile; without MVCC only each page is read in one go.
///
/// If the iterator's snapshot ends, the last item is [`Error::SnapshotTooOld`].
pub struct Iter {
    source: Pages,
    table: Table,
    /// The keys that neither side has read yet.
    unread: OwnedBounds,
    front: Side,
    back: Side,
}

/// What an iterator reads from.
#[derive(Clone)]
pub(crate) enum Pages {
    /// What is visible at each read.
    Now(Arc<StoreState>),
    At(Snapshot),
}

type OwnedBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// One end of an iterator: a page in the order in which this side hands it out.
struct Side {
    page: Pairs,
    left: Range<usize>,
    page_pairs: usize,
}

impl Iter {
    pub(crate) fn new(source: Pages, table: Table, (lower, upper): Bounds<'_>) -> Self {
        let unread = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        Self { source, table, unread, front: Side::new(), back: Side::new() }
    }

    /// The next page from the front, which is empty at the end.
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
        // When all is read, what is left is in the page of the other side, whose last pair is the next here.
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
        if let Some((lower, upper)) = range::allowed(bounds, false, self.table.key_bytes_max()) {
            let request = honeycomb_btree::Scan { lower, upper, backward, limit, ..Default::default() };
            self.source.read(&self.table, &request, page)?;
        }
        side.left = 0..side.page.len();
        let last = side.page.last().filter(|_| side.page.more());
        match last.map(|(key, _)| Bound::Excluded(key.to_vec())) {
            None => self.unread = nothing(),
            Some(bound) if backward => self.unread.1 = bound,
            Some(bound) => self.unread.0 = bound,
        }
        Ok(())
    }

    /// Makes this the end, for both sides.
    fn end(&mut self) {
        self.unread = nothing();
        self.front.left = 0..0;
        self.back.left = 0..0;
    }
}

impl Side {
    fn new() -> Self {
        Self { page: Pairs::default(), left: 0..0, page_pairs: PAGE_PAIRS_MIN }
    }
}

impl Pages {
    /// A snapshot, if the store has such.
    pub(crate) fn of(shared: &Arc<StoreState>) -> Result<Self, Error> {
        if !shared.forest.mvcc() {
            return Ok(Self::Now(shared.clone()));
        }
        Snapshot::take(shared, shared.lease_limits).map(Self::At)
    }

    /// Lets the snapshot's time begin again.
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
            Self::Now(shared) => shared.fill(table.source(), request, PAGE_BYTES_MAX, page),
            Self::At(snapshot) => {
                snapshot.read(table, |source| snapshot.shared().fill(source, request, PAGE_BYTES_MAX, page))
            }
        }
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// Bounds that no key is between.
fn nothing() -> OwnedBounds {
    (Bound::Unbounded, Bound::Excluded(Vec::new()))
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

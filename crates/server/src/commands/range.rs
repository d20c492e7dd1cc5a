//! Ranges of keys, and walks through the pairs of a range that have not expired.
//!
//! A walk reads one page at a time, so the server can execute other clients' commands between the pages of a
//! long range. All pages are of one version: a walk reads a short range with one scan, and a longer one from
//! a snapshot or within a transaction.

use std::ops::{Bound, ControlFlow};

use honeycomb_store::{Pairs, Scan, Snapshot, Store, Table};

use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::transaction::OptimisticTransaction;

/// A range of keys, and the direction and limit of a scan or walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range<'a> {
    pub(crate) lower: Bound<&'a [u8]>,
    pub(crate) upper: Bound<&'a [u8]>,
    pub(crate) backward: bool,
    /// Floor start: a forward walk begins at the largest key that is not greater than the lower bound.
    pub(crate) floor_start: bool,
    /// Maximum number of pairs.
    pub(crate) limit: usize,
}

/// Maximum number of pairs that one scan of the present version reads.
pub(crate) const PAIRS_AT_ONCE: usize = 1024;
/// Maximum bytes of these pairs; the last pair may exceed it.
const BYTES_AT_ONCE: usize = 1 << 18;
/// Maximum number of pairs and bytes of a page; the last pair may exceed the bytes.
const PAGE_PAIRS: usize = 256;
const PAGE_BYTES: usize = 1 << 16;

impl<'a> Range<'a> {
    /// Returns the range of all pairs, forward and without limit.
    pub(crate) fn all() -> Self {
        let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
        Self { lower, upper, backward: false, floor_start: false, limit: usize::MAX }
    }

    /// Returns a scan of at most `limit` first pairs, bounded in bytes.
    pub(crate) fn scan(&self, limit: usize) -> Scan<'a> {
        self.scan_of(limit, BYTES_AT_ONCE)
    }

    /// Returns a scan of the first page.
    pub(crate) fn page(&self) -> Scan<'a> {
        self.scan_of(PAGE_PAIRS, PAGE_BYTES)
    }

    fn scan_of(&self, pairs: usize, bytes: usize) -> Scan<'a> {
        let range = Scan::range::<[u8]>((self.lower, self.upper));
        let scan = range.limit(self.limit.min(pairs)).bytes_max(bytes);
        match (self.backward, self.floor_start) {
            (true, _) => scan.backward(),
            (false, true) => scan.floor_start(),
            (false, false) => scan,
        }
    }

    /// Returns the part of the range that a walk visits first, up to and including a key.
    pub(crate) fn up_to(mut self, key: &'a [u8]) -> Self {
        *(if self.backward { &mut self.lower } else { &mut self.upper }) = Bound::Included(key);
        self
    }
}

/// A walk through a range. It continues where the last page ended.
pub(crate) struct Walk {
    table: Table,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    backward: bool,
    floor_start: bool,
    /// Number of pairs left before the limit.
    remaining: usize,
    pairs: Pairs,
}

/// The version that a walk reads.
pub(crate) enum Origin<'o> {
    Snapshot(&'o Snapshot),
    Transaction(&'o mut OptimisticTransaction),
}

impl Walk {
    pub(crate) fn new(table: &Table, range: &Range<'_>) -> Self {
        let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
        Self {
            table: table.clone(),
            lower: owned(range.lower),
            upper: owned(range.upper),
            backward: range.backward,
            floor_start: range.floor_start,
            remaining: range.limit,
            pairs: Pairs::default(),
        }
    }

    /// Returns a new walk through the rest of the range.
    pub(crate) fn rest(&self) -> Self {
        Self::new(&self.table, &self.range())
    }

    /// Returns the bytes of memory in use: bounds, and the last page.
    pub(crate) fn memory_bytes(&self) -> usize {
        bound_bytes(&self.lower) + bound_bytes(&self.upper) + self.pairs.memory_bytes()
    }

    /// Passes all pairs to `visit` if one scan of the present version reads them all and none has expired.
    /// Returns whether more pairs follow the limit, or `None` when it passed no pairs.
    pub(crate) fn single_page(
        &mut self,
        now: u64,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Option<bool>, Failure> {
        let (range, mut pairs) = (self.range(), Pairs::default());
        self.table.scan_into(&range.scan(PAIRS_AT_ONCE), &mut pairs)?;
        let mut alive = pairs.iter().filter_map(|(key, value)| Some((key, data(value, now)?)));
        let is_whole =
            alive.clone().count() == pairs.len() && (pairs.len() == self.remaining || !pairs.more());
        if !is_whole {
            return Ok(None);
        }
        Ok(Some(alive.try_for_each(|(key, data)| visit(key, data)).is_break() || pairs.more()))
    }

    /// Passes the pairs of the next page to `visit`. Returns `None` when pages are left. Otherwise returns
    /// whether more pairs follow the limit, or the pair at which `visit` broke off.
    pub(crate) fn page(
        &mut self,
        origin: &mut Origin<'_>,
        now: u64,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Option<bool>, Failure> {
        self.find_floor(origin, now)?;
        let (mut remaining, mut stopped) = (self.remaining, false);
        let last = self.next_page(origin, |key, value| {
            let Some(data) = data(value, now) else { return ControlFlow::Continue(()) };
            if remaining == 0 {
                stopped = true;
                return ControlFlow::Break(());
            }
            remaining -= 1;
            let flow = visit(key, data);
            stopped |= flow.is_break();
            flow
        })?;
        self.remaining = remaining;
        match last {
            _ if stopped => Ok(Some(true)),
            Some(last) if remaining > 0 => {
                self.continue_after(last);
                Ok(None)
            }
            last => Ok(Some(last.is_some())),
        }
    }

    /// Reads a page of stored pairs, including expired ones. Returns the last key if more pairs follow.
    fn next_page(
        &mut self,
        origin: &mut Origin<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let mut pairs = std::mem::take(&mut self.pairs);
        // One pair past the limit shows whether more exist.
        let range = Range { limit: self.remaining.saturating_add(1), ..self.range() };
        let last = match origin {
            Origin::Transaction(transaction) => transaction.page(&self.table, &range, &mut pairs, visit)?,
            Origin::Snapshot(snapshot) => {
                snapshot.scan_into(&self.table, &range.page(), &mut pairs)?;
                let _ = pairs.iter().try_for_each(|(key, value)| visit(key, value));
                pairs.last().filter(|_| pairs.more()).map(|(key, _)| key.to_vec())
            }
        };
        self.pairs = pairs;
        Ok(last)
    }

    /// Replaces the lower bound of a floor start by the largest key not above it whose pair has not expired.
    fn find_floor(&mut self, origin: &mut Origin<'_>, now: u64) -> Result<(), Failure> {
        if !std::mem::take(&mut self.floor_start) {
            return Ok(());
        }
        let (Bound::Included(key) | Bound::Excluded(key)) = &self.lower else { return Ok(()) };
        let below = Range { upper: Bound::Included(key), backward: true, limit: 1, ..Range::all() };
        let (mut walk, mut floor) = (Self::new(&self.table, &below), None);
        let record = |floor: &mut Option<Vec<u8>>, key: &[u8]| {
            *floor = Some(key.to_vec());
            ControlFlow::Break(())
        };
        while walk.page(origin, now, |key, _| record(&mut floor, key))?.is_none() {}
        if let Some(floor) = floor {
            self.lower = Bound::Included(floor);
        }
        Ok(())
    }

    fn continue_after(&mut self, key: Vec<u8>) {
        *(if self.backward { &mut self.upper } else { &mut self.lower }) = Bound::Excluded(key);
    }

    fn range(&self) -> Range<'_> {
        let (lower, upper) = (self.lower.as_ref(), self.upper.as_ref());
        Range {
            lower: lower.map(Vec::as_slice),
            upper: upper.map(Vec::as_slice),
            backward: self.backward,
            floor_start: self.floor_start,
            limit: self.remaining,
        }
    }
}

/// Returns the bytes of the key of a bound.
pub(crate) fn bound_bytes(bound: &Bound<Vec<u8>>) -> usize {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => key.capacity(),
        Bound::Unbounded => 0,
    }
}

/// Passes the visible pairs of a range to `visit`, in order, until it breaks off. Returns whether more pairs
/// follow.
pub(crate) fn for_each_pair(
    (store, table): (&Store, &Table),
    range: &Range<'_>,
    now: u64,
    mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<bool, Failure> {
    let mut walk = Walk::new(table, range);
    if let Some(more) = walk.single_page(now, &mut visit)? {
        return Ok(more);
    }
    let snapshot = store.snapshot()?;
    loop {
        if let Some(more) = walk.page(&mut Origin::Snapshot(&snapshot), now, &mut visit)? {
            return Ok(more);
        }
    }
}

/// Returns the data of a stored value, or `None` when the pair has expired.
fn data(value: &[u8], now: u64) -> Option<&[u8]> {
    Some(Envelope::open(value).filter(|envelope| envelope.is_alive(now))?.data)
}

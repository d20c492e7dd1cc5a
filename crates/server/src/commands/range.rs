//! Ranges of keys, and walks through the pairs of a range that have not expired.
//!
//! A walk reads a page at a time, so that the pages of a long range alternate with the commands of other
//! clients. All its pages are of one version: a range that fits one page is one scan, and a longer one is
//! read from a snapshot or within a transaction.

use std::ops::{Bound, ControlFlow};

use honeycomb_store::{Pairs, Scan, Snapshot, Store, Table};

use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::transaction::OptimisticTransaction;

/// A range, and the direction and limit of a walk through it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Range<'a> {
    pub(crate) lower: Bound<&'a [u8]>,
    pub(crate) upper: Bound<&'a [u8]>,
    pub(crate) backward: bool,
    /// Forward: begin at the largest key that is not above the lower bound.
    pub(crate) floor_start: bool,
    /// Most pairs.
    pub(crate) limit: usize,
}

/// Most pairs of a range that one scan reads at the present version.
pub(crate) const PAIRS_AT_ONCE: usize = 1024;
/// Bytes of them; the last may go beyond.
const BYTES_AT_ONCE: usize = 1 << 18;
/// Pairs of a page, and bytes of them; the last may go beyond.
const PAGE_PAIRS: usize = 256;
const PAGE_BYTES: usize = 1 << 16;

impl<'a> Range<'a> {
    /// All pairs.
    pub(crate) fn all() -> Self {
        let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
        Self { lower, upper, backward: false, floor_start: false, limit: usize::MAX }
    }

    /// A scan for its first pairs, of no more bytes than one scan reads.
    pub(crate) fn scan(&self, limit: usize) -> Scan<'a> {
        self.scan_of(limit, BYTES_AT_ONCE)
    }

    /// A scan for a page of its first pairs.
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

    /// Its beginning, up to a key.
    pub(crate) fn up_to(mut self, key: &'a [u8]) -> Self {
        *(if self.backward { &mut self.lower } else { &mut self.upper }) = Bound::Included(key);
        self
    }
}

/// A walk through a range, which goes on where the last page ended.
pub(crate) struct Walk {
    table: Table,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    backward: bool,
    floor_start: bool,
    /// Pairs that are still wanted.
    left: usize,
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
            left: range.limit,
            pairs: Pairs::default(),
        }
    }

    /// The same walk, from where it is now.
    pub(crate) fn again(&self) -> Self {
        Self::new(&self.table, &self.range())
    }

    /// Passes all pairs to `take` if one scan of the present version finds them and none has expired. Returns
    /// whether more follow the limit, or nothing if it has passed none.
    pub(crate) fn at_once(
        &mut self,
        now: u64,
        mut take: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Option<bool>, Failure> {
        let (range, mut pairs) = (self.range(), Pairs::default());
        self.table.scan_into(&range.scan(PAIRS_AT_ONCE), &mut pairs)?;
        let mut alive = pairs.iter().filter_map(|(key, value)| Some((key, data(value, now)?)));
        let is_whole = alive.clone().count() == pairs.len() && (pairs.len() == self.left || !pairs.more());
        if !is_whole {
            return Ok(None);
        }
        Ok(Some(alive.try_for_each(|(key, data)| take(key, data)).is_break() || pairs.more()))
    }

    /// Passes the pairs of the next page to `take`. Returns nothing if pages are left, else whether more
    /// pairs follow the limit, or the place where `take` broke off.
    pub(crate) fn page(
        &mut self,
        origin: &mut Origin<'_>,
        now: u64,
        mut take: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Option<bool>, Failure> {
        self.find_floor(origin, now)?;
        let (mut left, mut stopped) = (self.left, false);
        let last = self.next_page(origin, |key, value| {
            let Some(data) = data(value, now) else { return ControlFlow::Continue(()) };
            if left == 0 {
                stopped = true;
                return ControlFlow::Break(());
            }
            left -= 1;
            let flow = take(key, data);
            stopped |= flow.is_break();
            flow
        })?;
        self.left = left;
        match last {
            _ if stopped => Ok(Some(true)),
            Some(last) if left > 0 => {
                self.go_on_after(last);
                Ok(None)
            }
            last => Ok(Some(last.is_some())),
        }
    }

    /// Reads a page of pairs as the store holds them. Returns the last key if more pairs follow.
    fn next_page(
        &mut self,
        origin: &mut Origin<'_>,
        mut take: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let mut pairs = std::mem::take(&mut self.pairs);
        // One pair beyond the limit tells whether there are more.
        let range = Range { limit: self.left.saturating_add(1), ..self.range() };
        let last = match origin {
            Origin::Transaction(transaction) => transaction.page(&self.table, &range, &mut pairs, take)?,
            Origin::Snapshot(snapshot) => {
                snapshot.scan_into(&self.table, &range.page(), &mut pairs)?;
                let _ = pairs.iter().try_for_each(|(key, value)| take(key, value));
                pairs.last().filter(|_| pairs.more()).map(|(key, _)| key.to_vec())
            }
        };
        self.pairs = pairs;
        Ok(last)
    }

    /// Moves the lower bound of a floor start to the next lower key whose pair has not expired.
    fn find_floor(&mut self, origin: &mut Origin<'_>, now: u64) -> Result<(), Failure> {
        if !std::mem::take(&mut self.floor_start) {
            return Ok(());
        }
        let (Bound::Included(key) | Bound::Excluded(key)) = &self.lower else { return Ok(()) };
        let below = Range { upper: Bound::Included(key), backward: true, limit: 1, ..Range::all() };
        let (mut walk, mut floor) = (Self::new(&self.table, &below), None);
        let take = |floor: &mut Option<Vec<u8>>, key: &[u8]| {
            *floor = Some(key.to_vec());
            ControlFlow::Break(())
        };
        while walk.page(origin, now, |key, _| take(&mut floor, key))?.is_none() {}
        if let Some(floor) = floor {
            self.lower = Bound::Included(floor);
        }
        Ok(())
    }

    fn go_on_after(&mut self, key: Vec<u8>) {
        *(if self.backward { &mut self.upper } else { &mut self.lower }) = Bound::Excluded(key);
    }

    fn range(&self) -> Range<'_> {
        let (lower, upper) = (self.lower.as_ref(), self.upper.as_ref());
        Range {
            lower: lower.map(Vec::as_slice),
            upper: upper.map(Vec::as_slice),
            backward: self.backward,
            floor_start: self.floor_start,
            limit: self.left,
        }
    }
}

/// Passes the pairs of a range that are visible now to `take`, in order, until it breaks off. Returns
/// whether more follow.
pub(crate) fn each(
    (store, table): (&Store, &Table),
    range: &Range<'_>,
    now: u64,
    mut take: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<bool, Failure> {
    let mut walk = Walk::new(table, range);
    if let Some(more) = walk.at_once(now, &mut take)? {
        return Ok(more);
    }
    let snapshot = store.snapshot()?;
    loop {
        if let Some(more) = walk.page(&mut Origin::Snapshot(&snapshot), now, &mut take)? {
            return Ok(more);
        }
    }
}

/// The data of a pair that has not expired.
fn data(value: &[u8], now: u64) -> Option<&[u8]> {
    Some(Envelope::open(value).filter(|envelope| envelope.is_alive(now))?.data)
}

//! Pairs of a range that have not expired, all of one version.

use std::cell::RefCell;
use std::ops::Bound;

use honeycomb_store::{Pairs, Scan, Snapshot, Store, Table};

use crate::envelope::Envelope;
use crate::failure::Failure;

/// A range, and how to go through it.
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

/// Keys and values. There may be more than the limit allowed.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) pairs: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) more: bool,
}

/// Where to look.
pub(crate) struct Source<'s> {
    pub(crate) store: &'s Store,
    pub(crate) table: &'s Table,
    pub(crate) now: u64,
}

/// Pairs that are looked for at once.
pub(crate) const PAGE: usize = 1024;
/// Bytes of pairs above which a core gives back the memory that it found them in.
const KEPT_BYTES: usize = 1 << 20;

thread_local! {
    /// What a core finds pairs in: most ranges are short, and to make it costs more than to fill it.
    static PAIRS: RefCell<Pairs> = RefCell::default();
}

impl<'a> Range<'a> {
    /// All pairs.
    pub(crate) fn all() -> Self {
        let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
        Self { lower, upper, backward: false, floor_start: false, limit: usize::MAX }
    }

    pub(crate) fn scan(&self, limit: usize) -> Scan<'a> {
        let scan = Scan::range::<[u8]>((self.lower, self.upper)).limit(limit);
        match (self.backward, self.floor_start) {
            (true, _) => scan.backward(),
            (false, true) => scan.floor_start(),
            (false, false) => scan,
        }
    }

    /// What is left of it after a key.
    fn after(mut self, key: &'a [u8]) -> Self {
        *(if self.backward { &mut self.upper } else { &mut self.lower }) = Bound::Excluded(key);
        self.floor_start = false;
        self
    }
}

impl Source<'_> {
    /// The pairs of a range that are visible now.
    pub(crate) fn collect(&self, range: &Range<'_>) -> Result<Found, Failure> {
        let mut found = Found::default();
        let all_alive = PAIRS.with_borrow_mut(|pairs| self.collect_page(range, pairs, &mut found))?;
        if all_alive && (found.pairs.len() == range.limit || !found.more) {
            return Ok(found);
        }
        // It takes more than one scan: of one version only if they are of a snapshot.
        self.collect_at(&self.store.snapshot()?, range)
    }

    /// The first pairs of a range: whether none of them has expired.
    fn collect_page(&self, range: &Range<'_>, pairs: &mut Pairs, found: &mut Found) -> Result<bool, Failure> {
        self.table.scan_into(&range.scan(range.limit.min(PAGE)), pairs)?;
        self.append(pairs, found);
        let all_alive = found.pairs.len() == pairs.len();
        let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.len()).sum();
        if bytes > KEPT_BYTES {
            *pairs = Pairs::default();
        }
        Ok(all_alive)
    }

    /// The pairs of a range in a snapshot.
    pub(crate) fn collect_at(&self, snapshot: &Snapshot, range: &Range<'_>) -> Result<Found, Failure> {
        let floor = if range.floor_start { self.floor(snapshot, range)? } else { None };
        let lower = floor.as_deref().map_or(range.lower, Bound::Included);
        let range = Range { lower, floor_start: false, ..*range };
        let (mut found, mut last) = (Found::default(), None::<Vec<u8>>);
        loop {
            let rest = last.as_deref().map_or(range, |last| range.after(last));
            let limit = (range.limit - found.pairs.len()).min(PAGE);
            let pairs = snapshot.scan(self.table, &rest.scan(limit))?;
            self.append(&pairs, &mut found);
            match pairs.last() {
                Some((key, _)) if found.more && found.pairs.len() < range.limit => last = Some(key.to_vec()),
                _ => return Ok(found),
            }
        }
    }

    fn append(&self, pairs: &Pairs, found: &mut Found) {
        let alive = |value| Envelope::open(value).filter(|envelope| envelope.is_alive(self.now));
        let alive = pairs.iter().filter_map(|(key, value)| Some((key, alive(value)?.data)));
        found.pairs.extend(alive.map(|(key, data)| (key.to_vec(), data.to_vec())));
        found.more = pairs.more();
    }

    /// Where the floor start of a range leads: the next lower key whose pair has not expired.
    fn floor(&self, snapshot: &Snapshot, range: &Range<'_>) -> Result<Option<Vec<u8>>, Failure> {
        let (Bound::Included(key) | Bound::Excluded(key)) = range.lower else { return Ok(None) };
        let below = Range { upper: Bound::Included(key), backward: true, limit: 1, ..Range::all() };
        Ok(self.collect_at(snapshot, &below)?.pairs.pop().map(|(floor, _)| floor))
    }
}

//! Functions that run inside a scan of an ordered table, so that only their results are copied.
//!
//! The calling thread visits the pairs in pages of 1,024 ([`RangePage`]), with a reader of the accelerator if
//! it executes functions there, and otherwise with one of the store. The pages share a lease, or a snapshot
//! of the caller: between two pages it can end, and memory can be reclaimed. A caller that executes a
//! function part by part passes the same snapshot to all parts.

use std::fmt;
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::sync::Arc;

use honeycomb_accelerator::{Count, RangePage, Ranking, Reduction, ValueView};
use honeycomb_btree::{Pair, Reader};
use honeycomb_hashtable::{Condition, Element, Fold};

use crate::error::Error;
use crate::first_pairs::{FirstPairs, OwnedPair};
use crate::lease::ActiveLease;
use crate::range;
use crate::snapshot::Snapshot;
use crate::table::Table;

/// Pairs of a page.
const PAGE_PAIRS: usize = 1024;

/// A range of an ordered table, and conditions on its pairs. Its functions see the pairs of one version; in a
/// store without versions, only 1,024 adjacent pairs are of one moment.
///
/// ```
/// use honeycomb_store::unordered::{BuiltIn, Element};
/// use honeycomb_store::{Config, Store};
///
/// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
/// let sales = store.table("sales")?;
/// for (day, amount, price) in [("01", 3_u16, 20_u16), ("02", 9, 12), ("03", 4, 15)] {
///     sales.put(day.as_bytes(), &[amount.to_le_bytes(), price.to_le_bytes()].concat())?;
/// }
/// let (greater, add) = (BuiltIn::Greater.number(Element::U16), BuiltIn::Add.number(Element::U16));
/// let expensive = sales.push_down("01".."04").only(2, greater, &14_u16.to_le_bytes());
/// assert_eq!(expensive.count()?, 2);
/// assert_eq!(expensive.reduce(0, add, &[0, 0])?, 7_u16.to_le_bytes());
/// assert_eq!(expensive.top(1, 0, Element::U16)?[0].0, b"03");
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PushDown<'t> {
    table: &'t Table,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    conditions: Vec<StoredCondition>,
    view: Option<SharedView>,
    bytes_max: usize,
    snapshot: Option<Snapshot>,
}

#[derive(Debug, Clone)]
struct StoredCondition {
    offset: usize,
    function: u32,
    operands: Vec<u8>,
}

/// The result of a function for the first part of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangePart<T> {
    /// The result.
    pub result: T,
    /// The key after which the rest of the range begins; `None` if there is no rest.
    pub last: Option<Vec<u8>>,
}

#[derive(Clone)]
struct SharedView(Arc<dyn ValueView>);

impl fmt::Debug for SharedView {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedView")
    }
}

type OwnedPairs = Vec<OwnedPair>;

impl Table {
    /// Returns a range whose pairs [`PushDown`] filters and reduces inside the scan.
    pub fn push_down<'k, K: AsRef<[u8]> + ?Sized + 'k>(
        &self,
        range: impl RangeBounds<&'k K>,
    ) -> PushDown<'_> {
        let (lower, upper) = range::bounds(&range);
        let (lower, upper) = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        let (conditions, view, snapshot) = (Vec::new(), None, None);
        PushDown { table: self, lower, upper, conditions, view, bytes_max: usize::MAX, snapshot }
    }
}

impl<'t> PushDown<'t> {
    /// Makes all functions and conditions see only a part of each value. Pairs that `view` omits do not
    /// count. [`PushDown::pairs`] and [`PushDown::top`] return whole values.
    #[must_use]
    pub fn seeing(mut self, view: impl ValueView + 'static) -> Self {
        self.view = Some(SharedView(Arc::new(view)));
        self
    }

    /// Keeps only pairs whose values satisfy a predicate: that of a number, with these operands, on the
    /// element at byte `offset` of the value. A value that is too short does not satisfy it.
    #[must_use]
    pub fn only(mut self, offset: usize, function: u32, operands: &[u8]) -> Self {
        self.conditions.push(StoredCondition { offset, function, operands: operands.to_vec() });
        self
    }

    /// Limits the keys and values that [`PushDown::pairs`] and [`PushDown::top`] return to this number of
    /// bytes together: they return fewer pairs, but at least one.
    #[must_use]
    pub fn bytes_max(mut self, bytes: usize) -> Self {
        self.bytes_max = bytes;
        self
    }

    /// Makes the functions see the pairs of the version of a snapshot. They do not renew it.
    #[must_use]
    pub fn at(mut self, snapshot: &Snapshot) -> Self {
        self.snapshot = Some(snapshot.clone());
        self
    }

    /// Counts the pairs.
    ///
    /// # Errors
    /// [`Error::Function`] if a condition is invalid; [`Error::TooManySnapshots`],
    /// [`Error::SnapshotTooOld`]; [`Error::ForeignTable`] if the snapshot is of another store.
    pub fn count(&self) -> Result<u64, Error> {
        self.count_part(usize::MAX).map(|part| part.result)
    }

    /// As [`PushDown::count`], for at most the first `pages` pages of 1,024 pairs of the range.
    ///
    /// # Errors
    /// The same as for [`PushDown::count`].
    pub fn count_part(&self, pages: usize) -> Result<RangePart<u64>, Error> {
        let mut count = Count::default();
        let last = self.visit_values(pages, &mut count)?;
        Ok(RangePart { result: count.0, last })
    }

    /// Folds the elements at byte `offset` of all values, in the order of the keys, with the function of a
    /// number, which has one operand. Values that are too short do not count. A sum is of the type of the
    /// elements; that of floating-point numbers is rounded in another order.
    ///
    /// # Errors
    /// The same as for [`PushDown::count`], also for the function.
    pub fn reduce(&self, offset: usize, function: u32, initial: &[u8]) -> Result<Vec<u8>, Error> {
        self.reduce_part(usize::MAX, offset, function, initial).map(|part| part.result)
    }

    /// As [`PushDown::reduce`], for at most the first `pages` pages of 1,024 pairs of the range.
    ///
    /// # Errors
    /// The same as for [`PushDown::reduce`].
    pub fn reduce_part(
        &self,
        pages: usize,
        offset: usize,
        function: u32,
        initial: &[u8],
    ) -> Result<RangePart<Vec<u8>>, Error> {
        let functions = self.table.state().functions();
        let mut fold = Fold::new(functions, function, initial, offset)?;
        let last = self.visit_values(pages, &mut fold)?;
        Ok(RangePart { result: fold.into_result(), last })
    }

    /// Returns the `count` pairs with the greatest elements at byte `offset` of their values, the greatest
    /// first. Of equal ones, the first in the order of the keys. Values that are too short do not count.
    ///
    /// # Errors
    /// The same as for [`PushDown::count`].
    pub fn top(&self, count: usize, offset: usize, element: Element) -> Result<OwnedPairs, Error> {
        let mut ranking = Ranking::new(count, self.bytes_max);
        self.rank_part(usize::MAX, offset, element, &mut ranking)?;
        Ok(ranking.take_pairs())
    }

    /// Offers the pairs of at most the first `pages` pages of 1,024 pairs of the range to a ranking by the
    /// elements at byte `offset`. Returns the key after which the rest begins; `None` if there is no rest.
    ///
    /// # Errors
    /// The same as for [`PushDown::count`].
    pub fn rank_part(
        &self,
        pages: usize,
        offset: usize,
        element: Element,
        ranking: &mut Ranking,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.visit_pages(pages, |reader, page| {
            page.rank(reader, self.table.root(), (element, offset), ranking)
        })
    }

    /// Returns the first `max` pairs in the order of their keys.
    ///
    /// # Errors
    /// The same as for [`PushDown::count`].
    pub fn pairs(&self, max: usize) -> Result<OwnedPairs, Error> {
        let mut first = FirstPairs::new(max, self.bytes_max);
        self.first_part(usize::MAX, &mut first)?;
        Ok(first.take_pairs())
    }

    /// Returns the pairs of at most the first `pages` pages of 1,024 pairs of the range.
    ///
    /// # Errors
    /// The same as for [`PushDown::count`].
    pub fn pairs_part(&self, pages: usize) -> Result<RangePart<OwnedPairs>, Error> {
        let mut first = FirstPairs::new(usize::MAX, self.bytes_max);
        let last = self.first_part(pages, &mut first)?;
        Ok(RangePart { result: first.take_pairs(), last })
    }

    /// Offers the pairs of at most the first `pages` pages of 1,024 pairs of the range to `first` until it is
    /// full. Returns the key after which the rest begins; `None` if there is no rest.
    ///
    /// # Errors
    /// The same as for [`PushDown::count`].
    pub fn first_part(&self, pages: usize, first: &mut FirstPairs) -> Result<Option<Vec<u8>>, Error> {
        let pages = if first.is_full() { 0 } else { pages };
        let last = self.visit(pages, |pair, _| first.offer(pair))?;
        let last_pair = first.last_key().filter(|_| first.is_full()).map(<[u8]>::to_vec);
        Ok(last_pair.or(last))
    }

    /// Passes the visible parts of the values that satisfy all conditions to a reduction.
    fn visit_values(&self, pages: usize, reduction: &mut impl Reduction) -> Result<Option<Vec<u8>>, Error> {
        self.visit_pages(pages, |reader, page| page.reduce(reader, self.table.root(), reduction))
    }

    /// Passes the pairs that satisfy all conditions, and the visible parts of their values, to `visit`, until
    /// it breaks.
    fn visit(
        &self,
        pages: usize,
        mut visit: impl FnMut(&Pair<'_>, &[u8]) -> ControlFlow<()>,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.visit_pages(pages, |reader, page| page.visit(reader, self.table.root(), &mut visit))
    }

    fn conditions(&self) -> Result<Vec<Condition<'_>>, Error> {
        let functions = self.table.state().functions();
        let new = |it: &StoredCondition| Condition::new(functions, it.function, &it.operands, it.offset);
        Ok(self.conditions.iter().map(new).collect::<Result<_, _>>()?)
    }

    /// Visits the range in pages, each under a pin. `visit` returns the last key of a page if there may be
    /// more. Returns the last key of the last page, unless there are no more.
    fn visit_pages(
        &self,
        pages: usize,
        mut visit: impl FnMut(&Reader<'_>, &RangePage<'_>) -> Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, Error> {
        let (conditions, view) = (&*self.conditions()?, self.view.as_ref().map(|view| &*view.0));
        let state = self.table.state();
        let held = (state.forest.mvcc() && self.snapshot.is_none())
            .then(|| state.leases.hold(&state.forest, state.lease_limits))
            .transpose()?;
        let lease = match &self.snapshot {
            Some(snapshot) => Some(snapshot.lease_of(self.table)?),
            None => held.as_deref(),
        };
        let (first, upper) = (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice));
        let (mut left, mut last) = (pages, None::<Vec<u8>>);
        loop {
            let lower = last.as_deref().map_or(first, Bound::Excluded);
            let Some((lower, upper)) = range::normalize((lower, upper), false, state.key_bytes_max) else {
                return Ok(None);
            };
            if left == 0 {
                return Ok(last);
            }
            left -= 1;
            let page = RangePage { lower, upper, pairs: PAGE_PAIRS, view, conditions };
            match self.visit_page(lease, |reader| visit(reader, &page))? {
                Some(key) => last = Some(key),
                None => return Ok(None),
            }
        }
    }

    /// Visits a page under a lease, if there is one, and renews it unless it is that of a snapshot.
    fn visit_page<T>(
        &self,
        lease: Option<&ActiveLease>,
        visit: impl FnOnce(&Reader<'_>) -> T,
    ) -> Result<T, Error> {
        let state = self.table.state();
        let Some(lease) = lease else { return Ok(visit(&state.page_reader(None))) };
        let in_use = state.leases.enter(lease, state.forest.memory())?;
        let visited = visit(&state.page_reader(Some((&in_use, lease.version))));
        if self.snapshot.is_none() {
            state.leases.renew(lease, state.forest.memory())?;
        }
        Ok(visited)
    }
}

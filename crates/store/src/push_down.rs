//! Functions that run inside a scan of an ordered table, so that only their results are copied.
//!
//! The calling thread visits the pairs in pages of 1,024 ([`RangePage`]), with a reader of the accelerator if
//! it executes functions there, and otherwise with one of the store. The pages share a lease: between two
//! pages the lease can end, and memory can be reclaimed.

use std::fmt;
use std::ops::{Bound, ControlFlow, RangeBounds};
use std::sync::Arc;

use honeycomb_accelerator::{Count, RangePage, Ranking, Reduction, ValueView};
use honeycomb_btree::{Pair, Reader};
use honeycomb_hashtable::{Condition, Element, Fold};

use crate::error::Error;
use crate::range;
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
    goes_on: Option<GoesOn<'t>>,
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

/// Whether the caller still needs the result.
#[derive(Clone, Copy)]
struct GoesOn<'t>(&'t (dyn Fn() -> bool + Sync));

impl fmt::Debug for GoesOn<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("GoesOn")
    }
}

#[derive(Clone)]
struct SharedView(Arc<dyn ValueView>);

impl fmt::Debug for SharedView {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedView")
    }
}

/// A key and a value.
type OwnedPair = (Vec<u8>, Vec<u8>);
type OwnedPairs = Vec<OwnedPair>;

impl Table {
    /// Returns a range whose pairs [`PushDown`] filters and reduces inside the scan.
    pub fn push_down<'k, K: AsRef<[u8]> + ?Sized + 'k>(
        &self,
        range: impl RangeBounds<&'k K>,
    ) -> PushDown<'_> {
        let (lower, upper) = range::bounds(&range);
        let (lower, upper) = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        let (conditions, view, goes_on) = (Vec::new(), None, None);
        PushDown { table: self, lower, upper, conditions, view, bytes_max: usize::MAX, goes_on }
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

    /// Makes the functions stop before the next 1,024 pairs, with [`Error::Cancelled`], as soon as `goes_on`
    /// returns false.
    #[must_use]
    pub fn while_needed(mut self, goes_on: &'t (dyn Fn() -> bool + Sync)) -> Self {
        self.goes_on = Some(GoesOn(goes_on));
        self
    }

    /// Counts the pairs.
    ///
    /// # Errors
    /// [`Error::Function`] if a condition is invalid; [`Error::TooManySnapshots`],
    /// [`Error::SnapshotTooOld`]; [`Error::Cancelled`] after [`PushDown::while_needed`].
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
        self.visit_pages(usize::MAX, |reader, page| {
            page.rank(reader, self.table.root(), (element, offset), &mut ranking)
        })?;
        Ok(ranking.take_pairs())
    }

    /// Returns the first `max` pairs in the order of their keys.
    ///
    /// # Errors
    /// The same as for [`PushDown::count`].
    pub fn pairs(&self, max: usize) -> Result<OwnedPairs, Error> {
        self.first_pairs(usize::MAX, max).map(|part| part.result)
    }

    /// Returns the pairs of at most the first `pages` pages of 1,024 pairs of the range.
    ///
    /// # Errors
    /// The same as for [`PushDown::count`].
    pub fn pairs_part(&self, pages: usize) -> Result<RangePart<OwnedPairs>, Error> {
        self.first_pairs(pages, usize::MAX)
    }

    fn first_pairs(&self, pages: usize, max: usize) -> Result<RangePart<OwnedPairs>, Error> {
        let (mut pairs, mut bytes, mut is_full) = (OwnedPairs::new(), 0, max == 0);
        let pages = if is_full { 0 } else { pages };
        let last = self.visit(pages, |pair, _| {
            bytes += bytes_of(pair);
            is_full = bytes > self.bytes_max && !pairs.is_empty();
            if !is_full {
                pairs.push(owned(pair));
                is_full = pairs.len() == max;
            }
            if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let last_pair = pairs.last().filter(|_| is_full).map(|(key, _)| key.clone());
        Ok(RangePart { last: last_pair.or(last), result: pairs })
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
        let limits = state.lease_limits;
        let lease = state.forest.mvcc().then(|| state.leases.hold(&state.forest, limits)).transpose()?;
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
            if !self.goes_on.is_none_or(|GoesOn(goes_on)| goes_on()) {
                return Err(Error::Cancelled);
            }
            left -= 1;
            let page = RangePage { lower, upper, pairs: PAGE_PAIRS, view, conditions };
            let visited = match &lease {
                None => Ok(visit(&state.page_reader(None), &page)),
                Some(lease) => state.leases.enter(lease, state.forest.memory()).and_then(|in_use| {
                    let visited = visit(&state.page_reader(Some((&in_use, lease.version))), &page);
                    state.leases.renew(lease, state.forest.memory())?;
                    Ok(visited)
                }),
            };
            match visited {
                Ok(Some(key)) => last = Some(key),
                end => return end,
            }
        }
    }
}

fn bytes_of(pair: &Pair<'_>) -> usize {
    pair.key_len() + pair.value().len()
}

fn owned(pair: &Pair<'_>) -> OwnedPair {
    let mut key = Vec::with_capacity(pair.key_len());
    pair.copy_key_into(&mut key);
    (key, pair.value().to_vec())
}

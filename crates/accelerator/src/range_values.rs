//! Functions that see only the values of a range, not the keys: counts and reductions. They consume the
//! values of many pairs at once, where these are.

use std::ops::ControlFlow;

use honeycomb_btree::{Emit, Pair, PairRun, ValueRun};
use honeycomb_hashtable::{Condition, Fold, ValueColumn};

use crate::page_end::PageEnd;
use crate::value_view::ValueView;

/// Consumes the parts of values that functions see.
pub trait Reduction {
    /// Adds values, in their order.
    fn add<'v>(&mut self, values: impl Iterator<Item = &'v [u8]>);

    /// As [`Reduction::add`], for the values of a column.
    fn add_column(&mut self, values: &ValueColumn<'_>);
}

/// The number of values.
#[derive(Debug, Default)]
pub struct Count(pub u64);

impl Reduction for Count {
    #[inline]
    fn add<'v>(&mut self, values: impl Iterator<Item = &'v [u8]>) {
        self.0 += values.count() as u64;
    }

    fn add_column(&mut self, values: &ValueColumn<'_>) {
        self.0 += values.len() as u64;
    }
}

impl Reduction for Fold<'_> {
    #[inline]
    fn add<'v>(&mut self, values: impl Iterator<Item = &'v [u8]>) {
        Fold::add(self, values);
    }

    fn add_column(&mut self, values: &ValueColumn<'_>) {
        Fold::add_column(self, values);
    }
}

/// Passes the values of a page to a reduction.
pub(crate) struct ValuePage<'p, R> {
    pub(crate) view: Option<&'p dyn ValueView>,
    pub(crate) conditions: &'p [Condition<'p>],
    pub(crate) reduction: &'p mut R,
    pub(crate) end: PageEnd,
}

impl<R: Reduction> ValuePage<'_, R> {
    fn add<'v>(&mut self, values: impl Iterator<Item = &'v [u8]>) {
        let Self { view, conditions, reduction, .. } = self;
        let matches = |value: &&[u8]| conditions.iter().all(|condition| condition.matches(value));
        match view {
            None => reduction.add(values.filter(matches)),
            Some(view) => reduction.add(values.filter_map(|value| view.part(value)).filter(matches)),
        }
    }

    /// Adds the visible parts of values that satisfy all conditions. There is no branch and no call for each
    /// value, except for those that satisfy conditions.
    fn add_column(&mut self, parts: &ValueColumn<'_>) {
        if self.conditions.is_empty() {
            return self.reduction.add_column(parts);
        }
        for parts in parts.parts() {
            let matching = |all, condition: &Condition<'_>| all & condition.matching(&parts);
            let selection = self.conditions.iter().fold(u64::MAX, matching);
            self.reduction.add(parts.selected(selection));
        }
    }
}

impl<R: Reduction> Emit for ValuePage<'_, R> {
    fn pair(&mut self, pair: &Pair<'_>) -> ControlFlow<()> {
        self.add(std::iter::once(pair.value()));
        self.end.pair(pair)
    }

    /// Leaves the last pair of a page to `pair`, which notes its key.
    fn run(&mut self, run: &mut PairRun<'_>) {
        let Some(values) = run.take_values(self.end.pairs_before_last()) else { return };
        self.end.count(values.count);
        let ValueRun { bytes, stride_bytes, value_bytes, count } = values;
        let values = ValueColumn::new(bytes, stride_bytes, value_bytes, count);
        match self.view.map_or(Some(values), |view| view.parts(values)) {
            Some(parts) => self.add_column(&parts),
            None => self.add(values.iter()),
        }
    }
}

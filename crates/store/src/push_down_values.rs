//! Functions that see only the values of a range, not the keys: counts and reductions. They consume the
//! values of many pairs at once, where these are.

use std::ops::ControlFlow;

use honeycomb_btree::{Emit, Pair, PairRun};
use honeycomb_hashtable::{Condition, Fold};

use crate::push_down::{PAGE_PAIRS, View};

/// Consumes the parts of values that functions see.
pub(crate) trait Reduction {
    fn add<'v>(&mut self, values: impl Iterator<Item = &'v [u8]>);
}

/// The number of values.
#[derive(Debug, Default)]
pub(crate) struct Count(pub(crate) u64);

impl Reduction for Count {
    #[inline]
    fn add<'v>(&mut self, values: impl Iterator<Item = &'v [u8]>) {
        self.0 += values.count() as u64;
    }
}

impl Reduction for Fold<'_> {
    #[inline]
    fn add<'v>(&mut self, values: impl Iterator<Item = &'v [u8]>) {
        Fold::add(self, values);
    }
}

/// Passes the values of a page to a reduction.
pub(crate) struct ValuePage<'p, R> {
    pub(crate) view: Option<&'p View>,
    pub(crate) conditions: &'p [Condition<'p>],
    pub(crate) reduction: &'p mut R,
    /// Number of pairs so far.
    pub(crate) pairs: usize,
    /// The last key of a full page.
    pub(crate) last: Option<Vec<u8>>,
}

impl<R: Reduction> ValuePage<'_, R> {
    fn add<'v>(&mut self, values: impl Iterator<Item = &'v [u8]>) {
        let Self { view, conditions, reduction, .. } = self;
        let matches = |value: &&[u8]| conditions.iter().all(|condition| condition.matches(value));
        match view {
            None if conditions.is_empty() => reduction.add(values),
            None => reduction.add(values.filter(matches)),
            Some(view) => reduction.add(values.filter_map(view).filter(matches)),
        }
    }
}

impl<R: Reduction> Emit for ValuePage<'_, R> {
    fn pair(&mut self, pair: &Pair<'_>) -> ControlFlow<()> {
        self.pairs += 1;
        self.add(std::iter::once(pair.value()));
        if self.pairs < PAGE_PAIRS {
            return ControlFlow::Continue(());
        }
        let mut key = Vec::new();
        pair.copy_key_into(&mut key);
        self.last = Some(key);
        ControlFlow::Break(())
    }

    /// Leaves the last pair of a page to `pair`, which notes its key.
    fn run(&mut self, run: &mut PairRun<'_>) {
        if let Some(values) = run.take_values(PAGE_PAIRS - 1 - self.pairs) {
            self.pairs += values.len();
            self.add(values.iter());
        }
    }
}

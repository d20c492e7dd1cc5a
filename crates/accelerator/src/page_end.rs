//! The end of a page of a range.

use std::ops::ControlFlow;

use honeycomb_btree::Pair;

/// Counts the pairs of a page, and notes the key of the last one, after which the next page begins.
#[derive(Debug)]
pub(crate) struct PageEnd {
    /// The pairs that the page still has room for: at least one, unless `last` is known.
    left: usize,
    last: Option<Vec<u8>>,
}

impl PageEnd {
    /// The end of a page of at most `pairs` pairs, at least one.
    pub(crate) fn after(pairs: usize) -> Self {
        Self { left: pairs, last: None }
    }

    /// Returns the number of pairs that may follow before the last one of the page.
    pub(crate) fn pairs_before_last(&self) -> usize {
        self.left - 1
    }

    /// Counts pairs before the last one.
    pub(crate) fn count(&mut self, pairs: usize) {
        assert!(pairs <= self.pairs_before_last());
        self.left -= pairs;
    }

    /// Counts a pair. Breaks after the last one.
    pub(crate) fn pair(&mut self, pair: &Pair<'_>) -> ControlFlow<()> {
        self.left -= 1;
        if self.left > 0 {
            return ControlFlow::Continue(());
        }
        self.last = Some(pair.key());
        ControlFlow::Break(())
    }

    /// Returns the last key of a full page.
    pub(crate) fn into_last(self) -> Option<Vec<u8>> {
        self.last
    }
}

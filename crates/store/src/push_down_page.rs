//! Pages of a function over a range: pairs that are scanned under one pin.

use std::ops::ControlFlow;

use honeycomb_btree::Pair;

/// Pairs of a page.
pub(crate) const PAGE_PAIRS: usize = 1024;

/// Counts the pairs of a page, and notes the key of the last one, after which the next page begins.
#[derive(Debug, Default)]
pub(crate) struct PageEnd {
    pairs: usize,
    last: Option<Vec<u8>>,
}

impl PageEnd {
    /// Returns the number of pairs that may follow before the last one of the page.
    pub(crate) fn pairs_before_last(&self) -> usize {
        PAGE_PAIRS - 1 - self.pairs
    }

    /// Counts pairs before the last one.
    pub(crate) fn count(&mut self, pairs: usize) {
        assert!(pairs <= self.pairs_before_last());
        self.pairs += pairs;
    }

    /// Counts a pair. Breaks after the last one.
    pub(crate) fn pair(&mut self, pair: &Pair<'_>) -> ControlFlow<()> {
        self.pairs += 1;
        if self.pairs < PAGE_PAIRS {
            return ControlFlow::Continue(());
        }
        let mut key = Vec::new();
        pair.copy_key_into(&mut key);
        self.last = Some(key);
        ControlFlow::Break(())
    }

    /// Returns the last key of a full page.
    pub(crate) fn into_last(self) -> Option<Vec<u8>> {
        self.last
    }
}

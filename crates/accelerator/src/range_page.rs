//! Pages of a function over a range: pairs that are scanned under one pin.
//!
//! This is the only loop over the pairs of such a function. The software accelerator executes it for
//! requests, and a store on the reader's CPU for functions that are not requests.

use std::ops::{Bound, ControlFlow};

use honeycomb_btree::{Pair, Reader, Root, Scan};
use honeycomb_hashtable::{Condition, Element};

use crate::page_end::PageEnd;
use crate::range_values::{Reduction, ValuePage};
use crate::ranking::Ranking;
use crate::value_view::ValueView;

/// The first pairs of a range, and the conditions that their values must satisfy.
#[derive(Clone, Copy)]
pub struct RangePage<'p> {
    /// The lower bound, of a valid length.
    pub lower: Bound<&'p [u8]>,
    /// The upper bound, of a valid length.
    pub upper: Bound<&'p [u8]>,
    /// Maximum number of pairs that are visited, at least one.
    pub pairs: usize,
    /// The part of each value that conditions and functions see; `None` for all of it.
    pub view: Option<&'p dyn ValueView>,
    /// Conditions on that part.
    pub conditions: &'p [Condition<'p>],
}

impl RangePage<'_> {
    /// Passes the visible parts of the values that satisfy all conditions to a reduction, in the order of the
    /// keys. Returns the last key of the page if there may be more pairs.
    pub fn reduce(&self, reader: &Reader<'_>, root: Root, reduction: &mut impl Reduction) -> Option<Vec<u8>> {
        let (view, conditions, end) = (self.view, self.conditions, PageEnd::after(self.pairs));
        let mut page = ValuePage { view, conditions, reduction, end };
        reader.scan_into(root, &self.scan(), &mut page);
        page.end.into_last()
    }

    /// Passes the pairs whose values satisfy all conditions, and the visible parts of these, to `visit`,
    /// until it breaks. Returns the last key of the page if there may be more pairs.
    pub fn visit(
        &self,
        reader: &Reader<'_>,
        root: Root,
        mut visit: impl FnMut(&Pair<'_>, &[u8]) -> ControlFlow<()>,
    ) -> Option<Vec<u8>> {
        let mut end = PageEnd::after(self.pairs);
        reader.scan(root, &self.scan(), |pair| {
            let whole = pair.value();
            let seen = self.view.map_or(Some(whole), |view| view.part(whole));
            if let Some(value) = seen.filter(|value| self.matches(value)) {
                visit(pair, value)?;
            }
            end.pair(pair)
        });
        end.into_last()
    }

    /// Offers the pairs whose values satisfy all conditions to a ranking by the element at an offset. Returns
    /// the last key of the page if there may be more pairs.
    pub fn rank(
        &self,
        reader: &Reader<'_>,
        root: Root,
        (element, offset): (Element, usize),
        ranking: &mut Ranking,
    ) -> Option<Vec<u8>> {
        self.visit(reader, root, |pair, value| {
            if let Some(rank) = element.rank(value, offset) {
                ranking.offer(rank, pair);
            }
            ControlFlow::Continue(())
        })
    }

    fn matches(&self, value: &[u8]) -> bool {
        self.conditions.iter().all(|condition| condition.matches(value))
    }

    fn scan(&self) -> Scan<'_> {
        Scan { lower: self.lower, upper: self.upper, limit: self.pairs, ..Scan::default() }
    }
}

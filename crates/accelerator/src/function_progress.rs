//! The progress of a function over a range that is a request. Between two quanta it consists of its terms and
//! its result so far, and, as every long scan, of a version and the key at which it continues.

use std::ops::{Bound, ControlFlow};

use honeycomb_btree::{Reader, Root};
use honeycomb_hashtable::{Condition, Element, Error, Fold, Functions};
use honeycomb_layout::{RANK_BYTES_MAX, RANK_PAIRS_MAX};

use crate::completion::Completions;
use crate::limits::Limits;
use crate::range_function::{Conditions, RangeForm, RangeFunction, RangeTerm};
use crate::range_page::RangePage;
use crate::range_values::Count;
use crate::ranking::Ranking;
use crate::status::Status;

pub(crate) struct FunctionProgress {
    result: ResultSoFar,
    /// The encoded conditions.
    conditions: Vec<u8>,
}

enum ResultSoFar {
    Count(u64),
    /// The fold, with the result as its initial element.
    Fold(RangeFold),
    /// The pairs are in completions. These are the limits of the further ones.
    Pairs(Limits),
    Rank(RangeRanking),
}

struct RangeRanking {
    offset: usize,
    /// The number of the maximum of the type of the elements.
    maximum: u32,
    ranking: Ranking,
}

struct RangeFold {
    offset: usize,
    function: u32,
    result: Vec<u8>,
}

/// A quantum of a function: the pairs that it visits now.
pub(crate) struct FunctionQuantum<'q> {
    pub(crate) identifier: u64,
    pub(crate) functions: &'q Functions,
    pub(crate) reader: &'q Reader<'q>,
    pub(crate) root: Root,
    pub(crate) lower: Bound<&'q [u8]>,
    pub(crate) upper: Bound<&'q [u8]>,
    /// Maximum number of pairs that are visited.
    pub(crate) pairs: usize,
}

/// The key after which the next quantum begins; `None` at the end of the function.
type Continuation = Option<Vec<u8>>;

impl FunctionProgress {
    pub(crate) fn new(function: &RangeFunction<'_>) -> Self {
        let fold = |term: RangeTerm<'_>| RangeFold {
            offset: term.offset(),
            function: term.function(),
            result: term.operands().to_vec(),
        };
        let result = match function.form {
            RangeForm::Count => ResultSoFar::Count(0),
            RangeForm::Reduce(term) => ResultSoFar::Fold(fold(term)),
            RangeForm::Filter { pairs_max, bytes_max } => {
                ResultSoFar::Pairs(Limits { pairs: pairs_max as usize, bytes: bytes_max as usize })
            }
            RangeForm::Rank { element, pairs_max, bytes_max } => ResultSoFar::Rank(RangeRanking {
                offset: element.offset(),
                maximum: element.function(),
                ranking: Ranking::new(
                    RANK_PAIRS_MAX.min(pairs_max as usize),
                    RANK_BYTES_MAX.min(bytes_max as usize),
                ),
            }),
        };
        Self { result, conditions: function.conditions.terms().to_vec() }
    }

    /// Executes a quantum. Appends the pairs of a filter that fit the limits, and the result of another
    /// function at the end of its range. Rejects the request if a term does not fit its function.
    pub(crate) fn execute(
        &mut self,
        quantum: &FunctionQuantum<'_>,
        completions: &mut Completions,
    ) -> Continuation {
        self.try_execute(quantum, completions).unwrap_or_else(|_| {
            completions.push_rejection(quantum.identifier, Status::InvalidFunction);
            None
        })
    }

    fn try_execute(
        &mut self,
        quantum: &FunctionQuantum<'_>,
        completions: &mut Completions,
    ) -> Result<Continuation, Error> {
        let conditions = conditions(quantum.functions, &self.conditions)?;
        let page = quantum.page(&conditions);
        let (last, result) = match &mut self.result {
            ResultSoFar::Pairs(left) => return Ok(quantum.filter(&page, left, completions)),
            ResultSoFar::Rank(RangeRanking { offset, maximum, ranking }) => {
                let element = Element::of_maximum(*maximum)?;
                return Ok(quantum.rank(&page, (element, *offset), ranking, completions));
            }
            ResultSoFar::Count(count) => {
                let mut counted = Count(*count);
                let last = page.reduce(quantum.reader, quantum.root, &mut counted);
                *count = counted.0;
                (last, &count.to_le_bytes()[..])
            }
            ResultSoFar::Fold(RangeFold { offset, function, result }) => {
                let mut fold = Fold::new(quantum.functions, *function, result, *offset)?;
                let last = page.reduce(quantum.reader, quantum.root, &mut fold);
                *result = fold.into_result();
                (last, &result[..])
            }
        };
        if last.is_none() {
            completions.push_get(quantum.identifier, quantum.reader.version(), Some((result, 0)));
        }
        Ok(last)
    }
}

fn conditions<'f>(functions: &'f Functions, terms: &[u8]) -> Result<Vec<Condition<'f>>, Error> {
    let new = |it: RangeTerm<'_>| Condition::new(functions, it.function(), it.operands(), it.offset());
    Conditions::new(terms).unwrap_or_default().iter().map(new).collect()
}

impl FunctionQuantum<'_> {
    fn page<'p>(&'p self, conditions: &'p [Condition<'p>]) -> RangePage<'p> {
        RangePage { lower: self.lower, upper: self.upper, pairs: self.pairs, view: None, conditions }
    }

    /// Appends the pairs that satisfy all conditions, up to the limits of the filter. One more such pair
    /// shows that a limit ends it.
    fn filter(&self, page: &RangePage<'_>, left: &mut Limits, completions: &mut Completions) -> Continuation {
        let mut writer = completions.begin_scan(self.identifier, self.reader.version());
        let mut is_limited = false;
        let last = page.visit(self.reader, self.root, |pair, _| {
            is_limited = left.are_reached();
            if is_limited {
                return ControlFlow::Break(());
            }
            writer.push(pair);
            left.count(pair.key_len(), pair.value_len());
            ControlFlow::Continue(())
        });
        match &last {
            Some(_) => writer.finish_part(),
            None => writer.finish(false, is_limited),
        }
        last
    }

    /// Offers the pairs that satisfy all conditions to a ranking. Appends it at the end of the range.
    fn rank(
        &self,
        page: &RangePage<'_>,
        element: (Element, usize),
        ranking: &mut Ranking,
        completions: &mut Completions,
    ) -> Continuation {
        let last = page.rank(self.reader, self.root, element, ranking);
        if last.is_none() {
            let mut writer = completions.begin_scan(self.identifier, self.reader.version());
            ranking.take_pairs().iter().for_each(|(key, value)| writer.push_bytes(key, value));
            writer.finish(false, ranking.is_limited());
        }
        last
    }
}

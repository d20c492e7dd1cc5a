//! Functions of batch datagrams over ranges, as `RI.COUNT`, `RI.REDUCE` and `RI.FILTER` have them. A
//! function visits a part of its range, because other clients wait meanwhile. The client goes on after the
//! last pair.

use honeycomb_protocol::batch::{Operation, RangeForm, RangeFunction, RangeTerm};
use honeycomb_store::{Error, PushDown, RangePart, Table};

use crate::datagrams::outcome::Outcome;
use crate::embedder;
use crate::envelope::{AliveAt, Envelope};

/// Pages of pairs that the functions of a packet visit together. Each function visits at least one.
pub(super) const PAGES_MAX: usize = 16;

/// Pairs, or the result of a count or a reduction with an empty key.
pub(super) type Answer = RangePart<Vec<(Vec<u8>, Vec<u8>)>>;

/// Applies a function to at most `pages` pages of its range, and returns at most about `bytes_max` bytes.
pub(super) fn apply(
    operation: &Operation<'_>,
    table: &Table,
    (now, pages, bytes_max): (u64, usize, usize),
) -> Result<Answer, Outcome> {
    let Operation::RangeFunction { from, to, function } = *operation else { return Err(Outcome::NotAllowed) };
    let RangeFunction { form, conditions } = RangeFunction::parse(function).ok_or(Outcome::NotApplicable)?;
    if conditions.len() > RangeFunction::CONDITIONS_MAX {
        return Err(Outcome::NotApplicable);
    }
    let range = range(table, from, to).bytes_max(bytes_max).seeing(AliveAt(now));
    let range = conditions.iter().fold(range, |range, RangeTerm { offset, function, operands }| {
        range.only((*offset).into(), (*function).into(), operands)
    });
    embedder::call(|| apply_to(&range, &form, pages))?.map_err(Outcome::from)
}

/// Applies a function to a range with its conditions.
fn apply_to(range: &PushDown<'_>, form: &RangeForm<'_>, pages: usize) -> Result<Answer, Error> {
    match *form {
        RangeForm::Count => range.count_part(pages).map(|part| result_of(part, |count| count.to_le_bytes())),
        RangeForm::Reduce(RangeTerm { offset, function, operands }) => {
            let part = range.reduce_part(pages, offset.into(), function.into(), operands);
            part.map(|part| result_of(part, |result| result))
        }
        RangeForm::Filter => range.pairs_part(pages).map(opened),
    }
}

/// Returns an answer of one result, with an empty key.
fn result_of<T, B: Into<Vec<u8>>>(part: RangePart<T>, bytes: impl Fn(T) -> B) -> Answer {
    RangePart { result: vec![(Vec::new(), bytes(part.result).into())], last: part.last }
}

/// Removes the envelopes of the values, all of which the range has opened.
fn opened(mut part: Answer) -> Answer {
    let open = |value: &[u8]| Envelope::open(value).map_or(Vec::new(), |it| it.data.to_vec());
    part.result.iter_mut().for_each(|(_, value)| *value = open(value));
    part
}

/// Returns the range between two keys, of which the second is excluded. An empty key is not a bound.
fn range<'t>(table: &'t Table, from: &[u8], to: &[u8]) -> PushDown<'t> {
    match (from, to) {
        (_, []) => table.push_down(from..),
        _ => table.push_down(from..to),
    }
}

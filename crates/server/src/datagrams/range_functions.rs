//! Functions of batch datagrams over ranges, as `RI.REDUCE` and `RI.FILTER` have them. A function visits a
//! part of its range, because other clients wait meanwhile. The client goes on after the last pair.

use honeycomb_protocol::batch::{Operation, RangeForm};
use honeycomb_store::{PushDown, RangePart, Table};

use crate::datagrams::outcome::Outcome;
use crate::envelope::{AliveAt, Envelope};

/// Pages of pairs that the functions of a packet visit together. Each function visits at least one.
pub(super) const PAGES_MAX: usize = 16;

/// Pairs, or the result of a reduction with an empty key.
pub(super) type Answer = RangePart<Vec<(Vec<u8>, Vec<u8>)>>;

/// Applies a function to at most `pages` pages of its range, and returns at most about `bytes_max` bytes.
pub(super) fn apply(
    operation: &Operation<'_>,
    table: &Table,
    (now, pages, bytes_max): (u64, usize, usize),
) -> Result<Answer, Outcome> {
    let Operation::RangeFunction { from, to, form, function, arguments } = *operation else {
        return Err(Outcome::NotAllowed);
    };
    let (offset, arguments) = arguments.split_first_chunk().ok_or(Outcome::NotApplicable)?;
    let (offset, function) = (u16::from_le_bytes(*offset).into(), function.into());
    let range = range(table, from, to).bytes_max(bytes_max).seeing(AliveAt(now));
    match form {
        RangeForm::Reduce => {
            let RangePart { result, last } = range.reduce_part(pages, offset, function, arguments)?;
            Ok(RangePart { result: vec![(Vec::new(), result)], last })
        }
        RangeForm::Filter => {
            let mut part = range.only(offset, function, arguments).pairs_part(pages)?;
            // The range has opened all values.
            let open = |value: &[u8]| Envelope::open(value).map_or(Vec::new(), |it| it.data.to_vec());
            part.result.iter_mut().for_each(|(_, value)| *value = open(value));
            Ok(part)
        }
    }
}

/// Returns the range between two keys, of which the second is excluded. An empty key is not a bound.
fn range<'t>(table: &'t Table, from: &[u8], to: &[u8]) -> PushDown<'t> {
    match (from, to) {
        (_, []) => table.push_down(from..),
        _ => table.push_down(from..to),
    }
}

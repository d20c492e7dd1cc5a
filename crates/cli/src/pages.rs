//! Scans of any length, page by page, all of one snapshot.

use crate::error::Error;
use honeycomb_store::{Pairs, Scan, Snapshot, Table};
use std::ops::Bound;

/// What to scan.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Where the keys begin.
    pub(crate) lower: Bound<Vec<u8>>,
    /// Where the keys end.
    pub(crate) upper: Bound<Vec<u8>>,
    /// Begin at the largest key that is not above `lower`, if there is one.
    pub(crate) floor_start: bool,
    /// In descending order.
    pub(crate) backward: bool,
    /// No values.
    pub(crate) keys_only: bool,
    /// At most so many pairs.
    pub(crate) limit: u64,
}

impl Default for Request {
    fn default() -> Request {
        let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
        Request { lower, upper, floor_start: false, backward: false, keys_only: false, limit: u64::MAX }
    }
}

impl Request {
    /// The pairs whose keys begin with `prefix`.
    pub(crate) fn prefix(prefix: &[u8]) -> Request {
        Request { lower: Bound::Included(prefix.to_vec()), upper: after_prefix(prefix), ..Request::default() }
    }
}

/// The end of the keys that begin with `prefix`.
fn after_prefix(prefix: &[u8]) -> Bound<Vec<u8>> {
    match prefix.iter().rposition(|byte| *byte < u8::MAX) {
        Some(last) => Bound::Excluded([&prefix[..last], &[prefix[last] + 1]].concat()),
        None => Bound::Unbounded,
    }
}

/// Calls `take` with every pair that `request` asks for.
///
/// # Errors
/// The store refuses, or an error of `take`.
pub(crate) fn for_each(
    snapshot: &Snapshot,
    table: &Table,
    mut request: Request,
    mut take: impl FnMut(&[u8], &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut pairs = Pairs::default();
    while request.limit > 0 {
        snapshot.scan_into(table, &scan(&request), &mut pairs)?;
        for (key, value) in pairs.iter() {
            take(key, value)?;
        }
        let Some((last, _)) = pairs.last().filter(|_| pairs.more()) else { break };
        request.limit -= pairs.len() as u64;
        request.floor_start = false;
        let rest = Bound::Excluded(last.to_vec());
        *if request.backward { &mut request.upper } else { &mut request.lower } = rest;
    }
    Ok(())
}

fn scan(request: &Request) -> Scan<'_> {
    let Request { lower, upper, .. } = request;
    let range = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
    let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
    let mut scan = Scan::range(range).limit(limit);
    if request.floor_start {
        scan = scan.floor_start();
    }
    if request.backward {
        scan = scan.backward();
    }
    if request.keys_only { scan.keys_only() } else { scan }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_where_its_last_byte_can_grow() {
        assert_eq!(after_prefix(b"ab"), Bound::Excluded(b"ac".to_vec()));
        assert_eq!(after_prefix(b"a\xff\xff"), Bound::Excluded(b"b".to_vec()));
        assert_eq!(after_prefix(b"\xff"), Bound::Unbounded);
        assert_eq!(after_prefix(b""), Bound::Unbounded);
    }
}

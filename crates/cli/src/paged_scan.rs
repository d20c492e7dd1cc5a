//! Scans of any length. One snapshot returns the pairs page by page.

use std::ops::Bound;

use honeycomb_store::{Pairs, Scan, Snapshot, Table, prefix_end};

use crate::error::Error;

/// The parameters of a scan.
#[derive(Clone, Debug)]
pub(crate) struct ScanRequest {
    /// The lower bound.
    pub(crate) lower: Bound<Vec<u8>>,
    /// The upper bound.
    pub(crate) upper: Bound<Vec<u8>>,
    /// Starts at the largest key that is not greater than `lower`, if there is one.
    pub(crate) floor_start: bool,
    /// Scans in descending order.
    pub(crate) backward: bool,
    /// Returns empty values.
    pub(crate) keys_only: bool,
    /// The maximum number of pairs.
    pub(crate) limit: u64,
}

impl Default for ScanRequest {
    fn default() -> ScanRequest {
        let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
        ScanRequest { lower, upper, floor_start: false, backward: false, keys_only: false, limit: u64::MAX }
    }
}

impl ScanRequest {
    /// Returns a scan of all keys with a prefix.
    pub(crate) fn prefix(prefix: &[u8]) -> ScanRequest {
        let upper = prefix_end(prefix).map_or(Bound::Unbounded, Bound::Excluded);
        ScanRequest { lower: Bound::Included(prefix.to_vec()), upper, ..ScanRequest::default() }
    }

    fn page(&self) -> Scan<'_> {
        let bounds = (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice));
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let mut scan = Scan::range(bounds).limit(limit);
        if self.floor_start {
            scan = scan.floor_start();
        }
        if self.backward {
            scan = scan.backward();
        }
        if self.keys_only { scan.keys_only() } else { scan }
    }
}

/// Calls `visit` with each pair of a scan.
///
/// # Errors
/// An error of the store or of `visit`.
pub(crate) fn for_each(
    snapshot: &Snapshot,
    table: &Table,
    mut request: ScanRequest,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut pairs = Pairs::default();
    while request.limit > 0 {
        snapshot.scan_into(table, &request.page(), &mut pairs)?;
        for (key, value) in pairs.iter() {
            visit(key, value)?;
        }
        let Some((last, _)) = pairs.last().filter(|_| pairs.more()) else { break };
        request.limit -= pairs.len() as u64;
        request.floor_start = false;
        let rest = Bound::Excluded(last.to_vec());
        *if request.backward { &mut request.upper } else { &mut request.lower } = rest;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_its_successor() {
        let upper = |prefix: &[u8]| ScanRequest::prefix(prefix).upper;
        assert_eq!(upper(b"ab"), Bound::Excluded(b"ac".to_vec()));
        assert_eq!(upper(b"a\xff\xff"), Bound::Excluded(b"b".to_vec()));
        assert_eq!(upper(b"\xff"), Bound::Unbounded);
        assert_eq!(upper(b""), Bound::Unbounded);
    }
}

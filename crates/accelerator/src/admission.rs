//! Requests on their way to be run: those of one version together, and no others.

use std::collections::BTreeMap;

use honeycomb_btree::Version;

use crate::completion::Completions;
use crate::request::{PlainGet, Rejected, Request, parse, parse_get, version_of};
use crate::status::Status;

/// Requests of one version, in the order of their submission.
pub(crate) struct Admission<'q> {
    rest: &'q [u8],
    version: Option<Version>,
}

impl<'q> Admission<'q> {
    /// The first requests of some, as far as they have one version.
    pub(crate) fn new(requests: &'q [u8]) -> Self {
        Self { rest: requests, version: version_of(requests) }
    }

    pub(crate) fn version(&self) -> Option<Version> {
        self.version
    }

    /// What has not been admitted.
    pub(crate) fn rest(&self) -> &'q [u8] {
        self.rest
    }

    /// Refuses all requests.
    pub(crate) fn refuse_all(&mut self, status: Status, completions: &mut Completions) {
        while let Some((request, _)) = self.next(completions) {
            completions.push_refusal(request.identifier, status);
        }
    }

    /// The next request, if it is an allowed get.
    #[inline]
    pub(crate) fn next_get(&mut self) -> Option<PlainGet<'q>> {
        let (get, length) = parse_get(self.rest, self.version)?;
        self.rest = &self.rest[length..];
        Some(get)
    }

    /// The next request, and its bytes; on the way there, what is none is refused.
    #[inline]
    pub(crate) fn next(&mut self, completions: &mut Completions) -> Option<(Request<'q>, &'q [u8])> {
        while !self.rest.is_empty() {
            let (parsed, length) = parse(self.rest);
            match parsed {
                Ok(request) if request.version != self.version => return None,
                Ok(request) => {
                    let (bytes, rest) = self.rest.split_at(length);
                    self.rest = rest;
                    return Some((request, bytes));
                }
                Err(Rejected { identifier, status }) => completions.push_refusal(identifier, status),
            }
            self.rest = &self.rest[length..];
        }
        None
    }
}

/// The same requests in an order in which those of one version follow each other, as they did before. What is
/// none comes last, as it may be cut off.
pub(crate) fn by_version(mut requests: &[u8]) -> Vec<u8> {
    let length = requests.len();
    let mut versions: BTreeMap<Option<Version>, Vec<u8>> = BTreeMap::new();
    let mut rejected = Vec::new();
    while !requests.is_empty() {
        let (parsed, length) = parse(requests);
        let (request, rest) = requests.split_at(length);
        let group = parsed.map_or(&mut rejected, |parsed| versions.entry(parsed.version).or_default());
        group.extend_from_slice(request);
        requests = rest;
    }
    let grouped: Vec<u8> = versions.into_values().chain([rejected]).flatten().collect();
    debug_assert_eq!(grouped.len(), length);
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Read, Requests};

    /// Identifiers, run by run.
    fn runs(mut requests: &[u8]) -> Vec<Vec<u64>> {
        let mut runs = Vec::new();
        while !requests.is_empty() {
            let (mut admission, mut refused) = (Admission::new(requests), Completions::default());
            let mut run = Vec::new();
            while let Some((request, _)) = admission.next(&mut refused) {
                run.push(request.identifier);
            }
            run.extend(refused.iter().map(|completion| completion.identifier));
            runs.push(run);
            requests = admission.rest();
        }
        runs
    }

    #[test]
    fn requests_of_a_version_come_together_and_what_is_cut_off_last() {
        let mut requests = Requests::default();
        for (identifier, version) in [(1, Some(7)), (2, None), (3, Some(9)), (4, Some(7)), (5, None)] {
            let read = Read::Get(b"key");
            requests.push(&Request { identifier, table: 0, version, read }).expect("a short key");
        }
        let whole = requests.bytes();
        assert_eq!(runs(whole), [[1].as_slice(), &[2], &[3], &[4], &[5]]);
        assert_eq!(runs(&by_version(whole)), [[2, 5].as_slice(), &[1, 4], &[3]]);
        // Of what is cut off only the identifier is known, and where it is last it is the end of any run.
        let cut_off = [whole, &whole[..9]].concat();
        assert_eq!(runs(&by_version(&cut_off)), [[2, 5].as_slice(), &[1, 4], &[3, 1]]);
    }
}

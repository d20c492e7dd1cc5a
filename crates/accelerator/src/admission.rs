//! The order in which a queue hands submitted requests to its executor: grouped by version.

use std::collections::BTreeMap;

use honeycomb_btree::Version;

use crate::completion::Completions;
use crate::request::{PlainGet, Rejected, Request, parse, parse_get, version_of};
use crate::status::Status;

/// Requests that read one version, in the order of their submission.
pub(crate) struct Admission<'q> {
    rest: &'q [u8],
    version: Option<Version>,
}

impl<'q> Admission<'q> {
    /// Admits the leading requests that read the same version as the first one.
    pub(crate) fn new(requests: &'q [u8]) -> Self {
        Self { rest: requests, version: version_of(requests) }
    }

    pub(crate) fn version(&self) -> Option<Version> {
        self.version
    }

    /// The requests that are not admitted.
    pub(crate) fn rest(&self) -> &'q [u8] {
        self.rest
    }

    /// Rejects all admitted requests.
    pub(crate) fn reject_all(&mut self, status: Status, completions: &mut Completions) {
        while let Some((request, _)) = self.next(completions) {
            completions.push_rejection(request.identifier, status);
        }
    }

    /// Removes the next request, if it is a valid get.
    #[inline]
    pub(crate) fn next_get(&mut self) -> Option<PlainGet<'q>> {
        let (get, length) = parse_get(self.rest, self.version)?;
        self.rest = &self.rest[length..];
        Some(get)
    }

    /// Removes the next request, and returns it with its bytes. Rejects the invalid requests before it.
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
                Err(Rejected { identifier, status }) => completions.push_rejection(identifier, status),
            }
            self.rest = &self.rest[length..];
        }
        None
    }
}

/// Groups requests by version. Requests of one version keep their order. Invalid requests come last, because
/// one of them may be truncated.
pub(crate) fn group_by_version(mut requests: &[u8]) -> Vec<u8> {
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

    /// The identifiers of each admission.
    fn groups(mut requests: &[u8]) -> Vec<Vec<u64>> {
        let mut groups = Vec::new();
        while !requests.is_empty() {
            let (mut admission, mut rejected) = (Admission::new(requests), Completions::default());
            let mut group = Vec::new();
            while let Some((request, _)) = admission.next(&mut rejected) {
                group.push(request.identifier);
            }
            group.extend(rejected.iter().map(|completion| completion.identifier));
            groups.push(group);
            requests = admission.rest();
        }
        groups
    }

    #[test]
    fn requests_are_grouped_by_version_with_a_truncated_one_last() {
        let mut requests = Requests::default();
        for (identifier, version) in [(1, Some(7)), (2, None), (3, Some(9)), (4, Some(7)), (5, None)] {
            let read = Read::Get(b"key");
            requests.push(&Request { identifier, table: 0, version, read }).expect("a short key");
        }
        let whole = requests.bytes();
        assert_eq!(groups(whole), [[1].as_slice(), &[2], &[3], &[4], &[5]]);
        assert_eq!(groups(&group_by_version(whole)), [[2, 5].as_slice(), &[1, 4], &[3]]);
        // Only the identifier of a truncated request is known. It ends the last group.
        let truncated = [whole, &whole[..9]].concat();
        assert_eq!(groups(&group_by_version(&truncated)), [[2, 5].as_slice(), &[1, 4], &[3, 1]]);
    }
}

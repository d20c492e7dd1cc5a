//! Requests on their way to be run: those of one version together, and no others.

use honeycomb_btree::Version;

use crate::completion::Completions;
use crate::request::{Rejected, Request, parse, version_of};
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

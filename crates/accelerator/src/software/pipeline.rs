//! The pipeline: many requests on their way down the tree, a step of each in turn.

use honeycomb_btree::{Descent, Reader, Version};
use smallvec::SmallVec;
use std::collections::VecDeque;

use crate::completion::Completions;
use crate::request::{Read, Rejected, Request, parse};
use crate::software::emission::Emission;
use crate::software::long_scan::LongScan;
use crate::software::{Known, Software};
use crate::status::Status;

/// Requests of one version, in the order of their submission.
pub(super) struct Admission<'q> {
    rest: &'q [u8],
    version: Option<Version>,
}

impl<'q> Admission<'q> {
    /// The first requests of some, as far as they have one version.
    pub(super) fn new(requests: &'q [u8]) -> Self {
        let version = parse(requests).0.map_or(None, |request| request.version);
        Self { rest: requests, version }
    }

    pub(super) fn version(&self) -> Option<Version> {
        self.version
    }

    /// What has not been admitted.
    pub(super) fn rest(&self) -> &'q [u8] {
        self.rest
    }

    /// Refuses all requests.
    pub(super) fn refuse_all(&mut self, status: Status, completions: &mut Completions) {
        while let Some((request, _)) = self.next(completions) {
            completions.push_refusal(request.identifier, status);
        }
    }

    /// The next request, and its bytes; on the way there, what is none is refused.
    #[inline]
    fn next(&mut self, completions: &mut Completions) -> Option<(Request<'q>, &'q [u8])> {
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

/// One run of requests at one version.
pub(super) struct Pipeline<'p, 'r> {
    pub(super) reader: &'r Reader<'r>,
    pub(super) known: &'p Known,
    pub(super) parameters: &'p Software,
    pub(super) long_scans: &'p mut VecDeque<LongScan>,
    pub(super) completions: &'p mut Completions,
}

/// A request on its way.
// Small: it is moved when it is admitted and when it is completed.
struct Flight<'r, 'q> {
    descent: Descent<'r, 'q>,
    identifier: u64,
    /// Of a scan: the request, to be parsed again when it is wanted.
    scan: Option<&'q [u8]>,
}

impl<'r> Pipeline<'_, 'r> {
    pub(super) fn run<'q>(mut self, admission: &mut Admission<'q>) {
        let mut flights: SmallVec<[Flight<'r, 'q>; 16]> = SmallVec::new();
        while flights.len() < self.parameters.in_flight
            && let Some(flight) = self.admit(admission)
        {
            flights.push(flight);
        }
        while !flights.is_empty() {
            let mut index = 0;
            while index < flights.len() {
                if flights[index].descent.step() {
                    index += 1;
                    continue;
                }
                self.complete(&mut flights[index]);
                match self.admit(admission) {
                    Some(next) => flights[index] = next,
                    None => drop(flights.swap_remove(index)),
                }
            }
        }
    }

    /// The next request that has a way to go. Those that have none are dealt with here.
    #[inline]
    fn admit<'q>(&mut self, admission: &mut Admission<'q>) -> Option<Flight<'r, 'q>> {
        loop {
            let (request, bytes) = admission.next(self.completions)?;
            let identifier = request.identifier;
            let Some(root) = self.known.roots.get(request.table) else {
                self.completions.push_refusal(identifier, Status::UnknownTable);
                continue;
            };
            match &request.read {
                Read::Get(key) => {
                    let descent = self.reader.descend_to_get(root, key);
                    return Some(Flight { descent, identifier, scan: None });
                }
                Read::Scan { scan, bytes_max } => {
                    if scan.limit > self.parameters.scan_pairs_a_turn && self.set_aside(&request) {
                        continue;
                    }
                    if let Some(key) = scan.start() {
                        let descent = self.reader.descend_to_scan(root, key, scan.limit);
                        return Some(Flight { descent, identifier, scan: Some(bytes) });
                    }
                    let version = self.reader.version();
                    let mut emission = Emission::of(self.completions, identifier, version, scan, *bytes_max);
                    self.reader.scan_into(root, &emission.scan(scan), &mut emission);
                    emission.finish();
                }
            }
        }
    }

    /// Sets a scan of many pairs aside, if there is a lease for it. If there is none, it is done in one go.
    fn set_aside(&mut self, request: &Request<'_>) -> bool {
        let scan = LongScan::new(self.known, request);
        let is_set_aside = scan.is_some();
        self.long_scans.extend(scan);
        is_set_aside
    }

    #[inline]
    fn complete(&mut self, flight: &mut Flight<'r, '_>) {
        let (identifier, version) = (flight.identifier, self.reader.version());
        let Some(bytes) = flight.scan else {
            let found = flight.descent.get().map(|found| (found.value, found.version));
            return self.completions.push_get(identifier, version, found);
        };
        let Ok(Request { read: Read::Scan { scan, bytes_max }, .. }) = parse(bytes).0 else {
            unreachable!("it was a scan when it was admitted")
        };
        let mut emission = Emission::of(self.completions, identifier, version, &scan, bytes_max);
        flight.descent.scan_into(&emission.scan(&scan), &mut emission);
        emission.finish();
    }
}

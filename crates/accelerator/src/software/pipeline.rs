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
        while let Some(request) = self.next(completions) {
            completions.push_refusal(request.identifier, status);
        }
    }

    /// The next request; on the way there, what is none is refused.
    #[inline]
    fn next(&mut self, completions: &mut Completions) -> Option<Request<'q>> {
        while !self.rest.is_empty() {
            let (parsed, length) = parse(self.rest);
            match parsed {
                Ok(request) if request.version != self.version => return None,
                Ok(request) => {
                    self.rest = &self.rest[length..];
                    return Some(request);
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
struct Flight<'r, 'q> {
    descent: Descent<'r, 'q>,
    request: Request<'q>,
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
                match self.admit(admission) {
                    Some(next) => self.complete(std::mem::replace(&mut flights[index], next)),
                    None => self.complete(flights.swap_remove(index)),
                }
                index += 1;
            }
        }
    }

    /// The next request that has a way to go. Those that have none are dealt with here.
    #[inline]
    fn admit<'q>(&mut self, admission: &mut Admission<'q>) -> Option<Flight<'r, 'q>> {
        loop {
            let request = admission.next(self.completions)?;
            let Some(root) = self.known.roots.get(request.table) else {
                self.completions.push_refusal(request.identifier, Status::UnknownTable);
                continue;
            };
            match &request.read {
                Read::Get(key) => {
                    let descent = self.reader.descend_to_get(root, key);
                    return Some(Flight { descent, request });
                }
                Read::Scan { scan, bytes_max } => {
                    if scan.limit > self.parameters.scan_pairs_a_turn && self.set_aside(&request) {
                        continue;
                    }
                    if let Some(key) = scan.start() {
                        let descent = self.reader.descend_to_scan(root, key);
                        return Some(Flight { descent, request });
                    }
                    let version = self.reader.version();
                    let mut emission =
                        Emission::of(self.completions, request.identifier, version, scan, *bytes_max);
                    self.reader.scan(root, &emission.scan(scan), |pair| emission.push(pair));
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
    fn complete(&mut self, flight: Flight<'r, '_>) {
        let (Flight { descent, request }, version) = (flight, self.reader.version());
        match &request.read {
            Read::Get(_) => {
                let found = descent.get().map(|found| (found.value, found.version));
                self.completions.push_get(request.identifier, version, found);
            }
            Read::Scan { scan, bytes_max } => {
                let mut emission =
                    Emission::of(self.completions, request.identifier, version, scan, *bytes_max);
                descent.scan(&emission.scan(scan), |pair| emission.push(pair));
                emission.finish();
            }
        }
    }
}

//! The pipeline: many requests on their way down the tree, a step of each in turn.

use honeycomb_btree::{Descent, Reader};
use smallvec::SmallVec;

use crate::admission::Admission;
use crate::completion::Completions;
use crate::known::Known;
use crate::long_scan::LongScans;
use crate::request::{Read, Request, parse};
use crate::software::Software;
use crate::software::emission::Emission;
use crate::status::Status;

/// One run of requests at one version.
pub(super) struct Pipeline<'p, 'r> {
    pub(super) reader: &'r Reader<'r>,
    pub(super) known: &'p Known,
    pub(super) parameters: &'p Software,
    pub(super) long_scans: &'p mut LongScans,
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
        // As long as others come, each takes the place of one that is completed.
        let mut ended = None;
        while ended.is_none() && !flights.is_empty() {
            ended = self.step_each(&mut flights, admission);
        }
        ended.map(|ended| flights.swap_remove(ended));
        while !flights.is_empty() {
            flights.retain(|flight| self.step(flight));
        }
    }

    /// A step of each, until one is completed and there is no other for its place: which one.
    #[inline]
    fn step_each<'q>(
        &mut self,
        flights: &mut [Flight<'r, 'q>],
        admission: &mut Admission<'q>,
    ) -> Option<usize> {
        for (index, flight) in flights.iter_mut().enumerate() {
            if !self.step(flight) {
                match self.admit(admission) {
                    Some(next) => *flight = next,
                    None => return Some(index),
                }
            }
        }
        None
    }

    /// A step of one. False if there is none: then it is completed.
    #[inline]
    fn step(&mut self, flight: &mut Flight<'r, '_>) -> bool {
        let goes_on = flight.descent.step();
        if !goes_on {
            self.complete(flight);
        }
        goes_on
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
                    if scan.limit > self.parameters.scan_pairs_a_turn
                        && self.long_scans.set_aside(self.known, &request)
                    {
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

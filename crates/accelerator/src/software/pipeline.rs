//! The pipeline: the interleaved descents of many requests.

use honeycomb_btree::{Descent, Reader, Root, Scan, descend_together};
use smallvec::SmallVec;

use crate::admission::Admission;
use crate::backend_state::BackendState;
use crate::completion::Completions;
use crate::direct_reader::GROUP;
use crate::function_progress::{FunctionProgress, FunctionQuantum};
use crate::long_scan::LongScans;
use crate::range_function::RangeFunction;
use crate::request::{PlainGet, Read, Request};
use crate::software::Software;
use crate::software::emission::Emission;
use crate::software::unordered_batch::UnorderedBatch;
use crate::status::Status;
use crate::unordered_tables::UnorderedTables;

/// Executes the requests of one admission.
pub(super) struct Pipeline<'p, 'r> {
    pub(super) reader: &'r Reader<'r>,
    pub(super) state: &'p BackendState,
    pub(super) unordered: &'p UnorderedTables,
    pub(super) parameters: &'p Software,
    pub(super) long_scans: &'p mut LongScans,
    pub(super) completions: &'p mut Completions,
    /// Whether a long scan that was set aside reads a newer version than the reader. Requests after the scan
    /// must not read an older version than it, so they wait for the next reader.
    pub(super) is_behind: bool,
}

/// A request in flight, without its descent.
#[derive(Clone, Copy)]
struct Flight<'q> {
    identifier: u64,
    /// The scan and its limit of bytes; `None` for a get.
    scan: Option<(Scan<'q>, u32)>,
}

/// Requests whose descents are interleaved.
struct Group<'r, 'q> {
    flights: SmallVec<[Flight<'q>; GROUP]>,
    descents: SmallVec<[Descent<'r, 'q>; GROUP]>,
}

impl<'r> Pipeline<'_, 'r> {
    /// Executes the admitted requests, up to a long scan of a newer version.
    pub(super) fn execute<'q>(mut self, admission: &mut Admission<'q>) {
        let mut group = Group { flights: SmallVec::new(), descents: SmallVec::new() };
        let mut batch = UnorderedBatch::new(self.unordered);
        loop {
            self.admit(admission, &mut group, &mut batch);
            if group.flights.is_empty() {
                return batch.execute(self.completions);
            }
            descend_together(&mut group.descents);
            self.complete(&group);
            group.flights.clear();
            group.descents.clear();
        }
    }

    /// Fills the group with the next requests. Completes the requests that need no descent.
    #[inline]
    fn admit<'q>(
        &mut self,
        admission: &mut Admission<'q>,
        group: &mut Group<'r, 'q>,
        batch: &mut UnorderedBatch<'_, 'q>,
    ) {
        while group.flights.len() < self.parameters.in_flight && !self.is_behind {
            if let Some(PlainGet { identifier, table, key }) = admission.next_get() {
                if let Some(root) = self.root(identifier, table) {
                    group.flights.push(Flight { identifier, scan: None });
                    group.descents.push(self.reader.descend_to_get(self.reader.start(root), key));
                }
            } else if let Some((request, _)) = admission.next(self.completions) {
                if let Read::Unordered(operation) = request.read {
                    batch.add(request.identifier, request.table, operation, self.completions);
                } else if let Some(descent) = self.begin(&request) {
                    let scan = match request.read {
                        Read::Scan { scan, bytes_max } => Some((scan, bytes_max)),
                        _ => None,
                    };
                    group.flights.push(Flight { identifier: request.identifier, scan });
                    group.descents.push(descent);
                }
            } else {
                return;
            }
        }
    }

    /// Returns the root of a table. Rejects the request if the table does not exist.
    #[inline]
    fn root(&mut self, identifier: u64, table: u16) -> Option<Root> {
        let root = self.state.roots.get(table);
        if root.is_none() {
            self.completions.push_rejection(identifier, Status::UnknownTable);
        }
        root
    }

    /// Begins the descent of a get, or of a scan that starts at a key and is not set aside. Returns `None` if
    /// the request is completed or set aside, or is for an unordered table.
    fn begin<'q>(&mut self, request: &Request<'q>) -> Option<Descent<'r, 'q>> {
        let root = self.root(request.identifier, request.table)?;
        let (scan, bytes_max) = match &request.read {
            Read::Get(key) => return Some(self.reader.descend_to_get(self.reader.start(root), key)),
            Read::Scan { scan, bytes_max } => (scan, *bytes_max),
            Read::Function(function) => {
                if !self.set_aside(request) {
                    self.execute_function(request.identifier, root, function);
                }
                return None;
            }
            Read::Unordered(_) => return None,
        };
        if scan.limit > self.parameters.scan_quantum_pairs && self.set_aside(request) {
            return None;
        }
        if let Some(key) = scan.start() {
            return Some(self.reader.descend_to_scan(self.reader.start(root), key, scan.limit));
        }
        if self.completions.reject_if_full(request.identifier) {
            return None;
        }
        let version = self.reader.version();
        let mut emission = Emission::of(self.completions, request.identifier, version, scan, bytes_max);
        self.reader.scan_into(root, &emission.scan(scan), &mut emission);
        emission.finish();
        None
    }

    /// Sets a long scan aside. Returns false if no lease is available for it.
    fn set_aside(&mut self, request: &Request<'_>) -> bool {
        let version = self.long_scans.set_aside(self.state, request);
        self.is_behind |= version > Some(self.reader.version());
        version.is_some()
    }

    /// Executes a function over a range in one quantum, because no lease is available for several.
    #[cold]
    fn execute_function(&mut self, identifier: u64, root: Root, function: &RangeFunction<'_>) {
        let (functions, reader, pairs) = (&*self.state.functions, self.reader, usize::MAX);
        let RangeFunction { lower, upper, .. } = *function;
        let quantum = FunctionQuantum { identifier, functions, reader, root, lower, upper, pairs };
        if !self.completions.reject_if_full(identifier) {
            FunctionProgress::new(function).execute(&quantum, self.completions);
        }
    }

    #[inline]
    fn complete(&mut self, group: &Group<'_, '_>) {
        let version = self.reader.version();
        let (flights, descents) = (&group.flights[..], &group.descents[..]);
        for (Flight { identifier, scan }, descent) in flights.iter().zip(descents) {
            match scan {
                None => {
                    let pair = descent.get().map(|pair| (pair.value, pair.version));
                    self.completions.push_get(*identifier, version, pair);
                }
                Some((scan, bytes_max)) => self.complete_scan(*identifier, scan, *bytes_max, descent),
            }
        }
    }

    fn complete_scan(&mut self, identifier: u64, scan: &Scan<'_>, bytes_max: u32, descent: &Descent<'_, '_>) {
        if self.completions.reject_if_full(identifier) {
            return;
        }
        let version = self.reader.version();
        let mut emission = Emission::of(self.completions, identifier, version, scan, bytes_max);
        descent.scan_into(&emission.scan(scan), &mut emission);
        emission.finish();
    }
}

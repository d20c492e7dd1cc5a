//! The software accelerator: the paper's pipeline as code in the thread that polls (Honeycomb, section 4).
//!
//! Each request is a small state machine, a [`Descent`](honeycomb_btree::Descent): each step ends with a
//! prefetch of the memory that the next step reads. A queue interleaves the steps of many requests, so that
//! the memory accesses of one overlap with the computation of others.

mod emission;
mod pipeline;
mod unordered_batch;

use std::sync::Arc;

use honeycomb_btree::{AccessCounts, AccessStats, Forest, Reader, Root, Scan, Version};
use honeycomb_hashtable::Functions;
use honeycomb_memory::{Lease, LeaseUse};

use crate::accelerator::{Accelerator, Backend, Error, Queue, check_parameter};
use crate::admission::Admission;
use crate::backend_state::BackendState;
use crate::completion::Completions;
use crate::direct_reader::{DirectReader, GROUP};
use crate::function_progress::FunctionQuantum;
use crate::long_scan::{LongScan, LongScans, ScanProgress};
use crate::round_robin::{Executor, RoundRobinQueue, check_common_parameters};
use crate::unordered_tables::{UnorderedTable, UnorderedTables};
use emission::{Emission, ScanEnd};
use pipeline::Pipeline;

/// The greatest allowed value of [`Software::in_flight`].
const IN_FLIGHT_MAX: usize = 64;

/// The parameters of the software accelerator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Software {
    /// Requests of a queue that are interleaved: 1 to 64. Default 32.
    pub in_flight: usize,
    /// Pairs in a quantum of a scan: at least 1. A scan with a smaller limit executes in one quantum. Default
    /// 128.
    pub scan_quantum_pairs: usize,
    /// Capacity of a queue in bytes of requests: at least 131104, the greatest length that the header of a
    /// request can state. Default 1 MiB.
    pub queue_bytes: usize,
    /// Whether to count the memory that searches access. Counting costs a little time. Default false.
    pub count_accesses: bool,
}

impl Default for Software {
    fn default() -> Self {
        Self { in_flight: GROUP, scan_quantum_pairs: 128, queue_bytes: 1 << 20, count_accesses: false }
    }
}

impl Software {
    fn check(&self) -> Result<(), Error> {
        check_common_parameters(self.scan_quantum_pairs, self.queue_bytes)?;
        check_parameter("in_flight", self.in_flight, 1..=IN_FLIGHT_MAX)
    }
}

impl Backend for Software {
    fn attach(
        &self,
        forest: &Arc<Forest>,
        functions: &Arc<Functions>,
    ) -> Result<Box<dyn Accelerator>, Error> {
        self.check()?;
        let touched = self.count_accesses.then(|| Arc::new(AccessStats::default()));
        let state = Arc::new(BackendState::new(forest, functions));
        let unordered = Arc::default();
        Ok(Box::new(SoftwareAccelerator { parameters: *self, state, unordered, touched }))
    }
}

/// The accelerator, and the executor of each of its queues.
#[derive(Clone)]
struct SoftwareAccelerator {
    parameters: Software,
    state: Arc<BackendState>,
    unordered: Arc<UnorderedTables>,
    touched: Option<Arc<AccessStats>>,
}

impl Accelerator for SoftwareAccelerator {
    fn set_root(&self, table: u16, root: Option<Root>) {
        self.state.roots.set(table, root);
    }

    fn pin_version(&self, version: Version, lease: &Arc<Lease>) {
        self.state.pinned_versions.pin(version, lease);
    }

    fn unpin_version(&self, version: Version, lease: &Arc<Lease>) {
        self.state.pinned_versions.unpin(version, lease);
    }

    fn access_counts(&self) -> Option<AccessCounts> {
        self.touched.as_ref().map(|touched| touched.counts())
    }

    fn queue(&self) -> Box<dyn Queue> {
        Box::new(RoundRobinQueue::new(self.clone(), self.parameters.queue_bytes))
    }

    fn direct_reader(&self) -> Option<DirectReader<'_>> {
        let Software { in_flight, scan_quantum_pairs, .. } = self.parameters;
        let (reader, roots) = (self.reader(None), &self.state.roots);
        Some(DirectReader { reader, roots, in_flight, scan_pairs_max: scan_quantum_pairs })
    }

    fn set_unordered(&self, number: u16, table: Option<Arc<dyn UnorderedTable>>) {
        self.unordered.set(number, table);
    }

    fn executes_unordered(&self) -> bool {
        true
    }

    fn page_reader<'a>(&'a self, leased: Option<(&'a LeaseUse<'a>, Version)>) -> Option<Reader<'a>> {
        Some(self.reader(leased))
    }
}

impl SoftwareAccelerator {
    /// Creates a reader of a pinned version under its lease, or of the newest visible version.
    fn reader<'a>(&'a self, pinned: Option<(&'a LeaseUse<'a>, Version)>) -> Reader<'a> {
        let forest = &self.state.forest;
        let reader = match pinned {
            Some((in_use, version)) => forest.reader_at(in_use, version),
            None => forest.reader(),
        };
        reader.with_access_stats(self.touched.as_deref())
    }
}

impl Executor for SoftwareAccelerator {
    fn state(&self) -> &BackendState {
        &self.state
    }

    #[inline]
    fn execute(
        &self,
        pinned: Option<(&LeaseUse<'_>, Version)>,
        admission: &mut Admission<'_>,
        long_scans: &mut LongScans,
        completions: &mut Completions,
    ) {
        let (reader, state, parameters) = (&self.reader(pinned), &*self.state, &self.parameters);
        let unordered = &*self.unordered;
        let is_behind = false;
        Pipeline { reader, state, unordered, parameters, long_scans, completions, is_behind }
            .execute(admission);
    }

    fn execute_quantum(
        &self,
        scan: &mut LongScan,
        in_use: &LeaseUse<'_>,
        completions: &mut Completions,
    ) -> ScanProgress {
        let reader = self.reader(Some((in_use, scan.version)));
        if scan.function.is_some() {
            return self.execute_function(scan, &reader, completions);
        }
        let writer = completions.begin_scan(scan.identifier, scan.version);
        let mut emission = Emission::new(writer, scan.left, self.parameters.scan_quantum_pairs);
        let remaining = emission.scan(&scan.scan(scan.left.pairs));
        reader.scan_into(scan.root, &remaining, &mut emission);
        let (left, last_key) = (emission.left(), emission.last_key().to_vec());
        let end = emission.finish();
        scan.left = left;
        if end != ScanEnd::Quantum {
            return ScanProgress::Finished;
        }
        scan.continue_after(last_key);
        ScanProgress::Unfinished
    }
}

impl SoftwareAccelerator {
    /// Executes a quantum of a function over a range.
    fn execute_function(
        &self,
        scan: &mut LongScan,
        reader: &Reader<'_>,
        completions: &mut Completions,
    ) -> ScanProgress {
        let Some(mut function) = scan.function.take() else { return ScanProgress::Finished };
        let Scan { lower, upper, .. } = scan.scan(0);
        let (identifier, root, pairs) = (scan.identifier, scan.root, self.parameters.scan_quantum_pairs);
        let functions = &*self.state.functions;
        let quantum = FunctionQuantum { identifier, functions, reader, root, lower, upper, pairs };
        let last = function.execute(&quantum, completions);
        let Some(last_key) = last else { return ScanProgress::Finished };
        scan.function = Some(function);
        scan.continue_after(last_key);
        ScanProgress::Unfinished
    }
}

impl std::fmt::Debug for SoftwareAccelerator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SoftwareAccelerator").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

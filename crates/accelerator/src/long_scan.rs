//! Long scans: scans of more pairs than one quantum has, and functions over ranges. A poll executes one
//! quantum of each.
//!
//! Between two quanta a long scan consists of a version, which a lease guards, and the key at which it
//! continues. It refers to no node, so it needs no pin.

use std::collections::VecDeque;
use std::ops::Bound;

use honeycomb_btree::{Root, Scan, Version};
use honeycomb_memory::LeaseUse;

use crate::backend_state::BackendState;
use crate::completion::Completions;
use crate::function_progress::FunctionProgress;
use crate::limits::Limits;
use crate::range_function::RangeFunction;
use crate::request::{REQUEST_BYTES_MAX, Read, Request};
use crate::scan_lease::ScanLease;
use crate::status::Status;

pub(crate) struct LongScan {
    pub(crate) identifier: u64,
    pub(crate) table: u16,
    pub(crate) root: Root,
    pub(crate) version: Version,
    /// The lease that guards the version; `None` if the request named a pinned version.
    own_lease: Option<ScanLease>,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    floor_start: bool,
    backward: bool,
    keys_only: bool,
    /// The pairs and bytes that the scan may still emit. A function has limits of its own.
    pub(crate) left: Limits,
    /// The function over the range, if the request has one.
    pub(crate) function: Option<FunctionProgress>,
}

/// Whether a long scan needs a further quantum.
#[derive(Debug, PartialEq)]
pub(crate) enum ScanProgress {
    Unfinished,
    Finished,
}

impl LongScan {
    /// Creates a long scan of the pinned version that the request names. If the request names no version,
    /// the scan acquires a lease and reads the newest visible version. Returns `None` if no lease is
    /// available, or if the request is of one key, or the table does not exist.
    fn new(state: &BackendState, request: &Request<'_>) -> Option<Self> {
        let (scan, bytes_max, function) = match &request.read {
            Read::Get(_) | Read::Unordered(_) => return None,
            Read::Scan { scan, bytes_max } => (*scan, *bytes_max, None),
            Read::Function(function) => {
                let RangeFunction { lower, upper, .. } = *function;
                (Scan { lower, upper, ..Scan::default() }, 0, Some(FunctionProgress::new(function)))
            }
        };
        let own_lease = match request.version {
            Some(_) => None,
            None => Some(state.scan_leases.acquire(state.forest.memory())?),
        };
        Some(Self {
            identifier: request.identifier,
            table: request.table,
            // Root and version are loaded after the lease is acquired. Their memory is retired later than
            // that, so the lease guards it.
            root: state.roots.get(request.table)?,
            version: request.version.unwrap_or_else(|| state.forest.read_version()),
            own_lease,
            lower: scan.lower.map(<[u8]>::to_vec),
            upper: scan.upper.map(<[u8]>::to_vec),
            floor_start: scan.floor_start,
            backward: scan.backward,
            keys_only: scan.keys_only,
            left: Limits { pairs: scan.limit, bytes: bytes_max as usize },
            function,
        })
    }

    /// A scan of the next `limit` pairs of the remaining range.
    pub(crate) fn scan(&self, limit: usize) -> Scan<'_> {
        Scan {
            lower: self.lower.as_ref().map(Vec::as_slice),
            upper: self.upper.as_ref().map(Vec::as_slice),
            floor_start: self.floor_start,
            backward: self.backward,
            keys_only: self.keys_only,
            limit,
        }
    }

    /// Whether the remaining range is shorter if the scan continues after this key. The first quantum of a
    /// floor start may end before the range.
    pub(crate) fn can_continue_after(&self, key: &[u8]) -> bool {
        let passes = |bound: &[u8]| if self.backward { key < bound } else { key > bound };
        match if self.backward { &self.upper } else { &self.lower } {
            Bound::Included(bound) if !self.floor_start => key == bound || passes(bound),
            Bound::Excluded(bound) if !self.floor_start => passes(bound),
            _ => true,
        }
    }

    /// Shortens the remaining range: the scan continues after this key.
    pub(crate) fn continue_after(&mut self, key: Vec<u8>) {
        self.floor_start = false;
        let bound = if self.backward { &mut self.upper } else { &mut self.lower };
        *bound = Bound::Excluded(key);
    }

    /// Executes a quantum under a lease that guards the version. The scan ends with a rejection if every
    /// lease is revoked or the completions are full.
    fn execute_quantum(
        &mut self,
        state: &BackendState,
        completions: &mut Completions,
        execute: impl FnOnce(&mut Self, &LeaseUse<'_>, &mut Completions) -> ScanProgress,
    ) -> ScanProgress {
        if completions.reject_if_full(self.identifier) {
            return ScanProgress::Finished;
        }
        let (identifier, version, own_lease) = (self.identifier, self.version, self.own_lease.take());
        let progress = match &own_lease {
            Some(lease) => lease.enter().map(|in_use| execute(self, &in_use, completions)),
            None => state.pinned_versions.read(version, |in_use| execute(self, in_use, completions)),
        };
        self.own_lease = own_lease;
        progress.unwrap_or_else(|| {
            completions.push_rejection(identifier, Status::VersionNotPinned);
            ScanProgress::Finished
        })
    }
}

/// The long scans of a queue, in round-robin order.
#[derive(Default)]
pub(crate) struct LongScans(VecDeque<LongScan>);

impl LongScans {
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The share of the queue's capacity that the scans occupy: each counts as the longest valid request.
    pub(crate) fn request_bytes(&self) -> usize {
        self.0.len() * REQUEST_BYTES_MAX
    }

    /// Sets a long scan aside for the next polls, and returns the version that it reads. Returns `None` if no
    /// lease is available for it; then the caller executes it at once.
    pub(crate) fn set_aside(&mut self, state: &BackendState, request: &Request<'_>) -> Option<Version> {
        let scan = LongScan::new(state, request)?;
        let version = scan.version;
        self.0.push_back(scan);
        Some(version)
    }

    /// Executes one quantum of each scan.
    pub(crate) fn execute_quanta(
        &mut self,
        state: &BackendState,
        completions: &mut Completions,
        mut execute: impl FnMut(&mut LongScan, &LeaseUse<'_>, &mut Completions) -> ScanProgress,
    ) {
        for _ in 0..self.0.len() {
            let Some(mut scan) = self.0.pop_front() else { return };
            if scan.execute_quantum(state, completions, &mut execute) == ScanProgress::Unfinished {
                self.0.push_back(scan);
            }
        }
    }
}

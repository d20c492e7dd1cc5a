//! The queue of every backend: the requests of one reader, and the order in which a backend executes them.
//!
//! A poll executes all submitted requests, grouped by the version that they read. Long scans advance by one
//! quantum a poll, in round-robin order, so that they do not delay other requests.

use std::fmt;

use honeycomb_btree::Version;
use honeycomb_memory::LeaseUse;

use crate::accelerator::{Error, Queue, check_parameter};
use crate::admission::{Admission, group_by_version};
use crate::backend_state::BackendState;
use crate::completion::Completions;
use crate::long_scan::{LongScan, LongScans, ScanProgress};
use crate::request::{FRAME_BYTES_MAX, Front};
use crate::status::Status;

/// The part of a backend that executes the requests of a queue.
pub(crate) trait Executor: Send {
    fn state(&self) -> &BackendState;

    /// Executes requests of an admission, at least the first one. They read a pinned version, or the newest
    /// visible version if `pinned` is `None`. It may set long scans aside.
    fn execute(
        &self,
        pinned: Option<(&LeaseUse<'_>, Version)>,
        admission: &mut Admission<'_>,
        long_scans: &mut LongScans,
        completions: &mut Completions,
    );

    /// Executes one quantum of a scan under a lease that guards its version.
    fn execute_quantum(
        &self,
        scan: &mut LongScan,
        in_use: &LeaseUse<'_>,
        completions: &mut Completions,
    ) -> ScanProgress;
}

/// Checks the parameters that all backends have.
pub(crate) fn check_common_parameters(scan_quantum_pairs: usize, queue_bytes: usize) -> Result<(), Error> {
    check_parameter("scan_quantum_pairs", scan_quantum_pairs, 1..=usize::MAX)?;
    check_parameter("queue_bytes", queue_bytes, FRAME_BYTES_MAX..=usize::MAX)
}

pub(crate) struct RoundRobinQueue<E> {
    executor: E,
    /// Capacity in bytes of requests.
    bytes_max: usize,
    /// Submitted requests that no poll has executed yet.
    waiting: Vec<u8>,
    /// Whether the last of them is truncated. Then the queue accepts no bytes before the next poll: they
    /// would become part of the truncated request.
    is_truncated: bool,
    long_scans: LongScans,
}

impl<E: Executor> RoundRobinQueue<E> {
    pub(crate) fn new(executor: E, bytes_max: usize) -> Self {
        let (waiting, long_scans) = (Vec::new(), LongScans::default());
        Self { executor, bytes_max, waiting, is_truncated: false, long_scans }
    }

    /// Bytes of further requests that the queue can accept.
    fn room(&self) -> usize {
        self.bytes_max.saturating_sub(self.waiting.len() + self.long_scans.request_bytes())
    }
}

/// Executes the leading requests that read the same version. Returns the remaining requests.
#[inline]
fn execute_group<'q>(
    executor: &impl Executor,
    requests: &'q [u8],
    long_scans: &mut LongScans,
    completions: &mut Completions,
) -> &'q [u8] {
    let admission = &mut Admission::new(requests);
    let Some(version) = admission.version() else {
        executor.execute(None, admission, long_scans, completions);
        return admission.rest();
    };
    let executed = executor.state().pinned_versions.read(version, |in_use| {
        executor.execute(Some((in_use, version)), admission, long_scans, completions);
    });
    if executed.is_none() {
        admission.reject_all(Status::VersionNotPinned, completions);
    }
    admission.rest()
}

impl<E: Executor> Queue for RoundRobinQueue<E> {
    fn submit(&mut self, requests: &[u8]) -> usize {
        if self.is_truncated {
            return 0;
        }
        let front = Front::of(requests, self.room());
        self.is_truncated = front.is_truncated;
        self.waiting.extend_from_slice(&requests[..front.bytes]);
        front.bytes
    }

    fn poll(&mut self, completions: &mut Completions) -> usize {
        let Self { executor, waiting, is_truncated, long_scans, .. } = self;
        // Long scans of earlier polls come first: they have already waited.
        long_scans.execute_quanta(executor.state(), completions, |scan, in_use, completions| {
            executor.execute_quantum(scan, in_use, completions)
        });
        // Mostly all requests read the newest version. Only the others need the copy that groups them.
        let grouped = group_by_version(execute_group(executor, waiting, long_scans, completions));
        let mut rest = &grouped[..];
        while !rest.is_empty() {
            rest = execute_group(executor, rest, long_scans, completions);
        }
        waiting.clear();
        *is_truncated = false;
        self.long_scans.count()
    }
}

impl<E> fmt::Debug for RoundRobinQueue<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoundRobinQueue")
            .field("waiting_bytes", &self.waiting.len())
            .field("long_scans", &self.long_scans.count())
            .finish_non_exhaustive()
    }
}

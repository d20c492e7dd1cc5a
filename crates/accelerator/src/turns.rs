//! A queue: the requests of one reader, and how they take turns, whatever runs them.
//!
//! A poll works on what was submitted in runs of requests that read the same version, one for each version.
//! Scans of many pairs are set aside and have one turn a poll, so that they hold up nobody.

use std::fmt;

use honeycomb_btree::Version;
use honeycomb_memory::LeaseUse;

use crate::accelerator::{Error, Queue};
use crate::admission::{Admission, by_version};
use crate::completion::Completions;
use crate::known::Known;
use crate::long_scan::{LongScan, LongScans, Turn};
use crate::request::{FRAME_BYTES_MAX, Front};
use crate::status::Status;

/// What runs the requests of a queue.
pub(crate) trait Runner: Send {
    fn known(&self) -> &Known;

    /// Runs all requests of a version that is held, or of what is visible now. Scans of many pairs may be set
    /// aside.
    fn run(
        &self,
        held: Option<(&LeaseUse<'_>, Version)>,
        admission: &mut Admission<'_>,
        long_scans: &mut LongScans,
        completions: &mut Completions,
    );

    /// Emits some pairs of a scan under a lease that guards its version.
    fn turn(&self, scan: &mut LongScan, in_use: &LeaseUse<'_>, completions: &mut Completions) -> Turn;
}

/// Checks the parameters of turns and of a queue's room.
pub(crate) fn check_turns(scan_quantum_pairs: usize, queue_bytes: usize) -> Result<(), Error> {
    let refuse = |name, value, allowed| Err(Error::Parameter { name, value, allowed });
    if scan_quantum_pairs == 0 {
        return refuse("scan_quantum_pairs", 0, "1 and more");
    }
    if queue_bytes < FRAME_BYTES_MAX {
        return refuse("queue_bytes", queue_bytes, "131104 and more");
    }
    Ok(())
}

pub(crate) struct TurnQueue<R> {
    runner: R,
    /// Bytes of requests that there is room for.
    bytes_max: usize,
    /// Requests that were submitted and not looked at.
    waiting: Vec<u8>,
    /// Whether the last of them is cut off. Then no more are taken for now, or they would be read as its
    /// rest.
    is_cut_off: bool,
    long_scans: LongScans,
}

impl<R: Runner> TurnQueue<R> {
    pub(crate) fn new(runner: R, bytes_max: usize) -> Self {
        let (waiting, long_scans) = (Vec::new(), LongScans::default());
        Self { runner, bytes_max, waiting, is_cut_off: false, long_scans }
    }

    /// Bytes of further requests that there is room for.
    fn room(&self) -> usize {
        self.bytes_max.saturating_sub(self.waiting.len() + self.long_scans.request_bytes())
    }
}

/// Works on the first requests, as far as they read the same version. Those that are left.
#[inline]
fn run<'q>(
    runner: &impl Runner,
    requests: &'q [u8],
    long_scans: &mut LongScans,
    completions: &mut Completions,
) -> &'q [u8] {
    let admission = &mut Admission::new(requests);
    let Some(version) = admission.version() else {
        runner.run(None, admission, long_scans, completions);
        return admission.rest();
    };
    let done = runner.known().held.under(version, |in_use| {
        runner.run(Some((in_use, version)), admission, long_scans, completions);
    });
    if done.is_none() {
        admission.refuse_all(Status::VersionNotHeld, completions);
    }
    admission.rest()
}

impl<R: Runner> Queue for TurnQueue<R> {
    fn submit(&mut self, requests: &[u8]) -> usize {
        if self.is_cut_off {
            return 0;
        }
        let front = Front::of(requests, self.room());
        self.is_cut_off = front.is_cut_off;
        self.waiting.extend_from_slice(&requests[..front.bytes]);
        front.bytes
    }

    fn poll(&mut self, completions: &mut Completions) -> usize {
        let Self { runner, waiting, is_cut_off, long_scans, .. } = self;
        // Scans that were set aside before have had to wait: theirs is the first turn.
        long_scans.turn(runner.known(), completions, |scan, in_use, out| runner.turn(scan, in_use, out));
        // Mostly all read "now"; else a run would end each time that another version follows.
        let grouped = by_version(run(runner, waiting, long_scans, completions));
        let mut rest = &grouped[..];
        while !rest.is_empty() {
            rest = run(runner, rest, long_scans, completions);
        }
        waiting.clear();
        *is_cut_off = false;
        self.long_scans.count()
    }
}

impl<R> fmt::Debug for TurnQueue<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnQueue")
            .field("waiting_bytes", &self.waiting.len())
            .field("long_scans", &self.long_scans.count())
            .finish_non_exhaustive()
    }
}

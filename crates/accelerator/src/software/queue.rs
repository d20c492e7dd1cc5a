//! A queue: the requests of one reader.
//!
//! A poll works on what was submitted in runs of requests that read the same version, each under one pin.
//! Scans of many pairs are set aside and have one turn a poll, so that they hold up nobody.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use honeycomb_btree::Reader;

use crate::accelerator::Queue;
use crate::completion::Completions;
use crate::request::{Front, REQUEST_BYTES_MAX};
use crate::software::long_scan::{LongScan, Turn};
use crate::software::pipeline::{Admission, Pipeline};
use crate::software::{Known, Software};
use crate::status::Status;

pub(super) struct SoftwareQueue {
    parameters: Software,
    known: Arc<Known>,
    /// Requests that were submitted and not looked at.
    waiting: Vec<u8>,
    /// Whether the last of them is cut off. Then no more are taken for now, or they would be read as its
    /// rest.
    is_cut_off: bool,
    long_scans: VecDeque<LongScan>,
}

impl SoftwareQueue {
    pub(super) fn new(parameters: Software, known: Arc<Known>) -> Self {
        Self { parameters, known, waiting: Vec::new(), is_cut_off: false, long_scans: VecDeque::new() }
    }

    /// Bytes of further requests that there is room for. A scan that was set aside takes as much as any
    /// request.
    fn room(&self) -> usize {
        let in_flight = self.waiting.len() + self.long_scans.len() * REQUEST_BYTES_MAX;
        self.parameters.queue_bytes.saturating_sub(in_flight)
    }
}

/// What a poll works with, besides the requests.
struct Poll<'q> {
    parameters: &'q Software,
    known: &'q Known,
    long_scans: &'q mut VecDeque<LongScan>,
    completions: &'q mut Completions,
}

impl Poll<'_> {
    /// Gives each scan that was set aside its turn.
    fn turn(&mut self) {
        for _ in 0..self.long_scans.len() {
            let Some(mut scan) = self.long_scans.pop_front() else { return };
            let turn = scan.turn(self.known, self.parameters.scan_pairs_a_turn, self.completions);
            if turn == Turn::Again {
                self.long_scans.push_back(scan);
            }
        }
    }

    /// Works on a run of requests that read the same version.
    #[inline]
    fn run(&mut self, admission: &mut Admission<'_>) {
        let known = self.known;
        let Some(version) = admission.version() else {
            return self.run_at(&known.forest.reader().counting(known.touched.as_ref()), admission);
        };
        let done = known.held.under(version, |in_use| {
            let reader = known.forest.reader_at(in_use, version).counting(known.touched.as_ref());
            self.run_at(&reader, admission);
        });
        if done.is_none() {
            admission.refuse_all(Status::VersionNotHeld, self.completions);
        }
    }

    #[inline]
    fn run_at(&mut self, reader: &Reader<'_>, admission: &mut Admission<'_>) {
        let Self { parameters, known, ref mut long_scans, ref mut completions } = *self;
        Pipeline { reader, known, parameters, long_scans, completions }.run(admission);
    }
}

impl Queue for SoftwareQueue {
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
        let Self { parameters, known, waiting, is_cut_off, long_scans } = self;
        let mut poll = Poll { parameters, known, long_scans, completions };
        // Scans that were set aside before have had to wait: theirs is the first turn.
        poll.turn();
        let mut rest = &waiting[..];
        while !rest.is_empty() {
            let mut admission = Admission::new(rest);
            poll.run(&mut admission);
            rest = admission.rest();
        }
        waiting.clear();
        *is_cut_off = false;
        self.long_scans.len()
    }
}

impl fmt::Debug for SoftwareQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SoftwareQueue")
            .field("waiting_bytes", &self.waiting.len())
            .field("long_scans", &self.long_scans.len())
            .finish_non_exhaustive()
    }
}

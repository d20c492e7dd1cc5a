//! The software accelerator: the paper's pipeline as code on the CPU of whoever polls (Honeycomb, section 4).
//!
//! A request is a small state machine, a [`Descent`](honeycomb_btree::Descent): each step ends by asking
//! memory for what the next one reads. A queue takes each step of many requests together, so that one's
//! memory comes while another computes.

mod emission;
mod pipeline;

use std::sync::Arc;

use honeycomb_btree::{AccessCounts, AccessStats, Forest, Reader, Root, Version};
use honeycomb_memory::{Lease, LeaseUse};

use crate::accelerator::{Accelerator, Backend, Error, Queue};
use crate::admission::Admission;
use crate::completion::Completions;
use crate::known::Known;
use crate::long_scan::{LongScan, LongScans, Turn};
use crate::turns::{Runner, TurnQueue, check_turns};
use emission::{Emission, Ended};
use pipeline::Pipeline;

/// Most requests that a queue may have on their way at once.
const IN_FLIGHT_MAX: usize = 64;

/// The parameters of the software accelerator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Software {
    /// Requests that a queue has on their way at once: 1 to 64. Default 16.
    pub in_flight: usize,
    /// Pairs that a scan reads before other requests have their turn: at least 1. A scan of no more is done
    /// in one go. Default 128.
    pub scan_quantum_pairs: usize,
    /// Bytes of requests that a queue holds: at least 131104, for so long a peer may say that a request is.
    /// Default 1 MiB.
    pub queue_bytes: usize,
    /// Whether to count what looking for keys touches of memory, which costs a little. Default false.
    pub count_touched: bool,
}

impl Default for Software {
    fn default() -> Self {
        Self { in_flight: 16, scan_quantum_pairs: 128, queue_bytes: 1 << 20, count_touched: false }
    }
}

impl Software {
    fn check(&self) -> Result<(), Error> {
        check_turns(self.scan_quantum_pairs, self.queue_bytes)?;
        if (1..=IN_FLIGHT_MAX).contains(&self.in_flight) {
            return Ok(());
        }
        Err(Error::Parameter { name: "in_flight", value: self.in_flight, allowed: "1 to 64" })
    }
}

impl Backend for Software {
    fn attach(&self, forest: &Arc<Forest>) -> Result<Box<dyn Accelerator>, Error> {
        self.check()?;
        let touched = self.count_touched.then(|| Arc::new(AccessStats::default()));
        Ok(Box::new(SoftwareAccelerator { parameters: *self, known: Arc::new(Known::new(forest)), touched }))
    }
}

/// The accelerator, and what runs the requests of each of its queues.
#[derive(Clone)]
struct SoftwareAccelerator {
    parameters: Software,
    known: Arc<Known>,
    touched: Option<Arc<AccessStats>>,
}

impl Accelerator for SoftwareAccelerator {
    fn set_root(&self, table: u16, root: Option<Root>) {
        self.known.roots.set(table, root);
    }

    fn hold(&self, version: Version, lease: &Arc<Lease>) {
        self.known.held.hold(version, lease);
    }

    fn let_go(&self, version: Version, lease: &Arc<Lease>) {
        self.known.held.let_go(version, lease);
    }

    fn touched(&self) -> Option<AccessCounts> {
        self.touched.as_ref().map(|touched| touched.counts())
    }

    fn queue(&self) -> Box<dyn Queue> {
        Box::new(TurnQueue::new(self.clone(), self.parameters.queue_bytes))
    }
}

impl SoftwareAccelerator {
    /// A reader of a version under a lease, or of what is visible now.
    fn reader<'a>(&'a self, held: Option<(&'a LeaseUse<'a>, Version)>) -> Reader<'a> {
        let forest = &self.known.forest;
        let reader = match held {
            Some((in_use, version)) => forest.reader_at(in_use, version),
            None => forest.reader(),
        };
        reader.with_access_stats(self.touched.as_deref())
    }
}

impl Runner for SoftwareAccelerator {
    fn known(&self) -> &Known {
        &self.known
    }

    #[inline]
    fn run(
        &self,
        held: Option<(&LeaseUse<'_>, Version)>,
        admission: &mut Admission<'_>,
        long_scans: &mut LongScans,
        completions: &mut Completions,
    ) {
        let (reader, known, parameters) = (&self.reader(held), &*self.known, &self.parameters);
        Pipeline { reader, known, parameters, long_scans, completions }.run(admission);
    }

    fn turn(&self, scan: &mut LongScan, in_use: &LeaseUse<'_>, completions: &mut Completions) -> Turn {
        let reader = self.known.forest.reader_at(in_use, scan.version);
        let writer = completions.begin_scan(scan.identifier, scan.version);
        let mut emission = Emission::new(writer, scan.left, self.parameters.scan_quantum_pairs);
        let further = emission.scan(&scan.scan(scan.left.pairs));
        reader.scan_into(scan.root, &further, &mut emission);
        let (left, last_key) = (emission.left(), emission.last_key().to_vec());
        let ended = emission.finish();
        scan.left = left;
        if ended != Ended::Turn {
            return Turn::Done;
        }
        scan.go_on_after(last_key);
        Turn::Again
    }
}

impl std::fmt::Debug for SoftwareAccelerator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SoftwareAccelerator").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

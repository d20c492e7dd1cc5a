//! The software accelerator: the paper's pipeline as code on the CPU of whoever polls (Honeycomb, section 4).
//!
//! A request is a small state machine, a [`Descent`](honeycomb_btree::Descent): each step ends by asking
//! memory for what the next one reads. A queue takes steps of many requests in turn, so that one's memory
//! comes while another computes.

mod emission;
mod held;
mod long_scan;
mod own_lease;
mod pipeline;
mod queue;
mod roots;

use std::sync::Arc;

use honeycomb_btree::{Forest, Root, Touched, TouchedCounts, Version};
use honeycomb_memory::Lease;

use crate::accelerator::{Accelerator, Back, Error, Queue};
use crate::request::FRAME_BYTES_MAX;
use held::Held;
pub use own_lease::LONG_SCAN_LEASES;
use own_lease::OwnLeases;
use queue::SoftwareQueue;
use roots::Roots;

/// Most requests that a queue may have on their way at once.
const IN_FLIGHT_MAX: usize = 64;

/// The parameters of the software accelerator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Software {
    /// Requests that a queue has on their way at once: 1 to 64. Default 16.
    pub in_flight: usize,
    /// Pairs that a scan reads before other requests have their turn: at least 1. A scan of no more is done
    /// in one go. Default 128.
    pub scan_pairs_a_turn: usize,
    /// Bytes of requests that a queue holds: at least 131104, for so long a peer may say that a request is.
    /// Default 1 MiB.
    pub queue_bytes: usize,
    /// Whether to count what looking for keys touches of memory, which costs a little. Default false.
    pub count_touched: bool,
}

impl Default for Software {
    fn default() -> Self {
        Self { in_flight: 16, scan_pairs_a_turn: 128, queue_bytes: 1 << 20, count_touched: false }
    }
}

impl Software {
    fn check(&self) -> Result<(), Error> {
        let refuse = |name, value, allowed| Err(Error::Parameter { name, value, allowed });
        match *self {
            Self { in_flight, .. } if !(1..=IN_FLIGHT_MAX).contains(&in_flight) => {
                refuse("in_flight", in_flight, "1 to 64")
            }
            Self { scan_pairs_a_turn: 0, .. } => refuse("scan_pairs_a_turn", 0, "1 and more"),
            Self { queue_bytes, .. } if queue_bytes < FRAME_BYTES_MAX => {
                refuse("queue_bytes", queue_bytes, "131104 and more")
            }
            _ => Ok(()),
        }
    }
}

impl Back for Software {
    fn attach(&self, forest: &Arc<Forest>) -> Result<Box<dyn Accelerator>, Error> {
        self.check()?;
        let touched = self.count_touched.then(Touched::default);
        let (roots, held, own_leases) = (Roots::new(), Held::default(), OwnLeases::default());
        let known = Arc::new(Known { forest: forest.clone(), roots, held, own_leases, touched });
        Ok(Box::new(SoftwareAccelerator { parameters: *self, known }))
    }
}

/// What all queues know.
struct Known {
    forest: Arc<Forest>,
    roots: Roots,
    held: Held,
    own_leases: OwnLeases,
    touched: Option<Touched>,
}

struct SoftwareAccelerator {
    parameters: Software,
    known: Arc<Known>,
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

    fn touched(&self) -> Option<TouchedCounts> {
        self.known.touched.as_ref().map(Touched::counts)
    }

    fn queue(&self) -> Box<dyn Queue> {
        Box::new(SoftwareQueue::new(self.parameters, self.known.clone()))
    }
}

impl std::fmt::Debug for SoftwareAccelerator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SoftwareAccelerator").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

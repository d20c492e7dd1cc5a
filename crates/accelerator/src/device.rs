//! A device: an accelerator that has copies of its own of page table, roots and read version, reads the
//! arena over a bus, and knows nothing of the forest but what it is told.
//!
//! ```text
//!   queues ── requests ──> port ── in order ──> engine ── bus addresses ──> the arena
//!   writers ── mappings, versions ──> port        │
//!   epochs <── operations in flight ── port <─────┘
//! ```
//! The driver is one for all devices: what differs is the [`Engine`]. [`Model`] is one in plain Rust.
//!
//! What makes its reads right, beside the rules for those who tell it
//! ([`Control`](honeycomb_memory::Control)):
//! 1. A request is in the window that the epochs see before the engine takes its read version. So what it
//!    can reach is not reclaimed.
//! 2. A version that a request names is guarded by a lease that is in use until the request is completed.
//!    The window alone would not do: what that version needs may have been retired before the request
//!    came.
//! 3. The answers of a poll are given once the CPU's new readers have the versions that were read.

mod engine;
mod model;
mod port;
mod runner;

use std::fmt;
use std::sync::Arc;

use honeycomb_btree::{AccessCounts, Forest, Root, Version};
use honeycomb_memory::Lease;

use crate::accelerator::{Accelerator, Backend, Error, Queue};
use crate::known::Known;
use crate::turns::{TurnQueue, check_turns};
pub use engine::{Engine, Engines, HostMemory, Window};
pub use model::Model;
use port::Port;
use runner::{DeviceRunner, Shared};

/// The parameters of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceBackend<E> {
    /// What kind of device it is.
    pub engines: E,
    /// Pairs that a scan reads before other requests have their turn: at least 1. A scan of no more is
    /// done in one go. Default 128.
    pub scan_quantum_pairs: usize,
    /// Bytes of requests that a queue holds: at least 131104, for so long a peer may say that a request
    /// is. Default 1 MiB.
    pub queue_bytes: usize,
}

impl<E: Default> Default for DeviceBackend<E> {
    fn default() -> Self {
        Self { engines: E::default(), scan_quantum_pairs: 128, queue_bytes: 1 << 20 }
    }
}

impl<E: Engines> Backend for DeviceBackend<E> {
    /// A device is told of a forest from its beginning: it is attached before the first tree is planted.
    fn attach(&self, forest: &Arc<Forest>) -> Result<Box<dyn Accelerator>, Error> {
        check_turns(self.scan_quantum_pairs, self.queue_bytes)?;
        let engine = self.engines.engine(forest.shape())?;
        let device = forest.memory().device().map_err(|error| Error::Device(error.to_string()))?;
        let port = Arc::new(Port::new(engine, device));
        forest.register(port.clone()).map_err(|error| Error::Device(error.to_string()))?;
        let known = Known::new(forest);
        let shared = Arc::new(Shared { known, port, scan_quantum_pairs: self.scan_quantum_pairs });
        Ok(Box::new(DeviceAccelerator { shared, queue_bytes: self.queue_bytes }))
    }
}

struct DeviceAccelerator {
    shared: Arc<Shared>,
    queue_bytes: usize,
}

impl Accelerator for DeviceAccelerator {
    fn set_root(&self, table: u16, root: Option<Root>) {
        let mut device = self.shared.port.lock();
        self.shared.known.roots.set(table, root);
        device.engine.set_root(table, root.map(Root::lid));
    }

    fn hold(&self, version: Version, lease: &Arc<Lease>) {
        self.shared.known.held.hold(version, lease);
    }

    fn let_go(&self, version: Version, lease: &Arc<Lease>) {
        self.shared.known.held.let_go(version, lease);
    }

    fn touched(&self) -> Option<AccessCounts> {
        None
    }

    fn queue(&self) -> Box<dyn Queue> {
        Box::new(TurnQueue::new(DeviceRunner::new(self.shared.clone()), self.queue_bytes))
    }
}

impl fmt::Debug for DeviceAccelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceAccelerator").field("port", &self.shared.port).finish_non_exhaustive()
    }
}

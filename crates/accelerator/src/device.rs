//! The driver of a device: an accelerator that reads the arena over a bus and has its own copies of page
//! table, roots and read version. It learns of changes only by notifications.
//!
//! ```text
//!   queues ── requests ──> port ── in order ──> engine ── bus addresses ──> the arena
//!   writers ── mappings, versions ──> port        │
//!   epochs <── operations in flight ── port <─────┘
//! ```
//! All devices have the same driver. They differ in their [`Engine`].
//!
//! Reads are correct because of these rules, and the rules for notifications
//! ([`Control`](honeycomb_memory::Control)):
//! 1. A request is in the window that the epochs see before the engine chooses its read version. So memory
//!    that the request can reach is not reclaimed.
//! 2. If a request names a version, a lease guards that version, and the lease is in use until the request
//!    completes. The window is not sufficient: memory of that version may have been retired before the
//!    request was submitted.
//! 3. A poll returns its completions only after new readers on the CPU have the versions that the completions
//!    show.

mod engine;
mod executor;
mod in_flight;
mod port;

use std::fmt;
use std::sync::Arc;

use honeycomb_btree::{AccessCounts, Forest, Root, Version};
use honeycomb_hashtable::Functions;
use honeycomb_memory::Lease;

use crate::accelerator::{Accelerator, Backend, Error, Queue};
use crate::backend_state::BackendState;
use crate::round_robin::{RoundRobinQueue, check_common_parameters};
pub use engine::{Engine, Engines, HostMemory, Window};
use executor::{DeviceExecutor, DeviceState};
use port::Port;

/// The parameters of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceBackend<E> {
    /// The kind of the device.
    pub engines: E,
    /// Pairs in a quantum of a scan: at least 1. A scan with a smaller limit executes in one quantum. Default
    /// 128.
    pub scan_quantum_pairs: usize,
    /// Capacity of a queue in bytes of requests: at least 131104, the greatest length that the header of a
    /// request can state. Default 1 MiB.
    pub queue_bytes: usize,
}

impl<E: Default> Default for DeviceBackend<E> {
    fn default() -> Self {
        Self { engines: E::default(), scan_quantum_pairs: 128, queue_bytes: 1 << 20 }
    }
}

impl<E: Engines> Backend for DeviceBackend<E> {
    /// A device must receive every mapping of the forest, so it is attached before the first tree is created.
    fn attach(
        &self,
        forest: &Arc<Forest>,
        functions: &Arc<Functions>,
    ) -> Result<Box<dyn Accelerator>, Error> {
        check_common_parameters(self.scan_quantum_pairs, self.queue_bytes)?;
        let engine = self.engines.engine(forest.shape().node_bytes)?;
        let device = forest.memory().device().map_err(|error| Error::Device(error.to_string()))?;
        let port = Arc::new(Port::new(engine, device));
        forest.register(port.clone()).map_err(|error| Error::Device(error.to_string()))?;
        let backend = BackendState::new(forest, functions);
        let state = Arc::new(DeviceState { backend, port, scan_quantum_pairs: self.scan_quantum_pairs });
        Ok(Box::new(DeviceAccelerator { state, queue_bytes: self.queue_bytes }))
    }
}

struct DeviceAccelerator {
    state: Arc<DeviceState>,
    queue_bytes: usize,
}

impl Accelerator for DeviceAccelerator {
    fn set_root(&self, table: u16, root: Option<Root>) {
        let mut device = self.state.port.lock();
        self.state.backend.roots.set(table, root);
        device.engine.set_root(table, root.map(Root::lid));
    }

    fn pin_version(&self, version: Version, lease: &Arc<Lease>) {
        self.state.backend.pinned_versions.pin(version, lease);
    }

    fn unpin_version(&self, version: Version, lease: &Arc<Lease>) {
        self.state.backend.pinned_versions.unpin(version, lease);
    }

    fn access_counts(&self) -> Option<AccessCounts> {
        None
    }

    fn queue(&self) -> Box<dyn Queue> {
        Box::new(RoundRobinQueue::new(DeviceExecutor::new(self.state.clone()), self.queue_bytes))
    }
}

impl fmt::Debug for DeviceAccelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceAccelerator").field("port", &self.state.port).finish_non_exhaustive()
    }
}

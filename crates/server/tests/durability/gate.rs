//! A server on a disk that a test stops.

use std::sync::Arc;

use honeycomb_store::SyncPolicy;
use honeycomb_testing::{DiskCall, Gate, ObservedDisk, SimulatedDisk};

use crate::common::{Running, start_durable};

/// Starts a server on a new disk behind a gate. Durable writes, syncs and new checkpoints wait while it is
/// closed. A test drops the gate first, because it declares it last.
pub(crate) fn start_gated(policy: SyncPolicy) -> (Running, Gate) {
    let gate = Gate::default();
    let pass = gate.passage();
    let before = move |call: DiskCall<'_>| match call {
        DiskCall::Create(name) if !name.ends_with(".checkpoint") => {}
        DiskCall::Create(_) | DiskCall::MakeDurable => pass(),
    };
    let disk = ObservedDisk::new(&SimulatedDisk::default(), before);
    (start_durable(Arc::new(disk), policy), gate)
}

//! A server on a disk that a test stops.

use std::sync::{Arc, Condvar, Mutex};

use honeycomb_store::SyncPolicy;
use honeycomb_testing::{DiskCall, ObservedDisk, SimulatedDisk};

use crate::common::{Running, start_durable};

/// A gate in front of a disk. Durable writes, syncs and new checkpoints wait while it is closed. It opens
/// when a test ends or fails, so that the server can stop.
pub(crate) struct Gate(Arc<State>);

#[derive(Default)]
struct State {
    is_closed: Mutex<bool>,
    opened: Condvar,
}

/// Starts a server on a new disk behind a gate. A test drops the gate first, because it declares it last.
pub(crate) fn start_gated(policy: SyncPolicy) -> (Running, Gate) {
    let state = Arc::<State>::default();
    let gate = Gate(state.clone());
    let before = move |call: DiskCall<'_>| match call {
        DiskCall::Create(name) if !name.ends_with(".checkpoint") => {}
        DiskCall::Create(_) | DiskCall::MakeDurable => state.pass(),
    };
    let disk = ObservedDisk::new(&SimulatedDisk::default(), before);
    (start_durable(Arc::new(disk), policy), gate)
}

impl Gate {
    pub(crate) fn close(&self) {
        *self.0.is_closed.lock().unwrap() = true;
    }

    pub(crate) fn open(&self) {
        *self.0.is_closed.lock().unwrap() = false;
        self.0.opened.notify_all();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

impl State {
    /// Waits while the gate is closed.
    fn pass(&self) {
        drop(self.opened.wait_while(self.is_closed.lock().unwrap(), |is_closed| *is_closed).unwrap());
    }
}

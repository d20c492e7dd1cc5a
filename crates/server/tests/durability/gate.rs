//! A disk that a test stops.

use std::sync::{Arc, Condvar, Mutex};

use honeycomb_store::Storage;
use honeycomb_testing::{DiskCall, ObservedDisk, SimulatedDisk};

/// A gate in front of a disk. Durable writes, syncs and new checkpoints wait while it is closed.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Returns a new disk behind the gate.
    pub(crate) fn disk(&self) -> Arc<dyn Storage> {
        let gate = self.clone();
        let before = move |call: DiskCall<'_>| match call {
            DiskCall::Create(name) if !name.ends_with(".checkpoint") => {}
            DiskCall::Create(_) | DiskCall::MakeDurable => gate.pass(),
        };
        Arc::new(ObservedDisk::new(&SimulatedDisk::default(), before))
    }

    pub(crate) fn close(&self) {
        *self.0.0.lock().unwrap() = true;
    }

    pub(crate) fn open(&self) {
        *self.0.0.lock().unwrap() = false;
        self.0.1.notify_all();
    }

    /// Waits while the gate is closed.
    fn pass(&self) {
        let (closed, opened) = &*self.0;
        drop(opened.wait_while(closed.lock().unwrap(), |closed| *closed).unwrap());
    }
}

/// Opens the gate when a test ends or fails, so that the server can stop.
pub(crate) struct OpenAtTheEnd(pub(crate) Gate);

impl Drop for OpenAtTheEnd {
    fn drop(&mut self) {
        self.0.open();
    }
}

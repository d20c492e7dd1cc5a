//! Executes the requests of a queue on a device: submits them as the device accepts them, and steps the
//! device until all are completed. These steps also advance the requests of other queues.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use honeycomb_btree::Version;
use honeycomb_layout::{KEY_BYTES_MAX, KEY_BYTES_MIN};
use honeycomb_memory::LeaseUse;

use crate::admission::Admission;
use crate::backend_state::BackendState;
use crate::completion::{Completion, Completions, parse};
use crate::device::in_flight::InFlight;
use crate::device::port::{Port, identifier};
use crate::long_scan::{LongScan, LongScans, ScanProgress};
use crate::request::{Read, Request, Requests};
use crate::round_robin::Executor;
use crate::status::Status;

/// The state of a device that all its queues use.
pub(super) struct DeviceState {
    pub(super) backend: BackendState,
    pub(super) port: Arc<Port>,
    pub(super) scan_quantum_pairs: usize,
}

pub(super) struct DeviceExecutor {
    state: Arc<DeviceState>,
    queue: u32,
}

/// A request for the device, and the identifier that its reader chose.
struct Outgoing {
    bytes: Vec<u8>,
    identifier: u64,
}

impl DeviceExecutor {
    pub(super) fn new(state: Arc<DeviceState>) -> Self {
        let queue = state.port.lock().open_queue();
        Self { state, queue }
    }

    /// Submits the requests that `next` returns, until it returns `None`, and waits for their completions.
    /// Calls `next` under the lock of the device. Passes each completion to `receive`, with the identifier
    /// that the reader chose; `None` stands for bytes that are not a completion.
    fn run(
        &self,
        mut next: impl FnMut() -> Option<Outgoing>,
        mut receive: impl FnMut(u64, Option<&Completion<'_>>),
    ) {
        let memory = self.state.backend.forest.memory();
        let (mut waiting, mut in_flight) = (None, HashMap::new());
        loop {
            let mut device = self.state.port.lock();
            waiting = waiting.or_else(&mut next);
            while let Some(request) = &mut waiting
                && let Some(device_identifier) = device.submit(self.queue, &mut request.bytes)
            {
                in_flight.insert(device_identifier, InFlight::new(request.identifier));
                waiting = next();
            }
            if waiting.is_none() && in_flight.is_empty() {
                return;
            }
            device.step(memory);
            let received = device.take_completions(self.queue);
            drop(device);
            for bytes in received {
                let Some(device_identifier) = identifier(&bytes) else { continue };
                let Some(request) = in_flight.get_mut(&device_identifier) else { continue };
                let Some(bytes) = request.receive(bytes) else { continue };
                let completion = parse(&bytes).map(|(completion, _)| completion);
                let completion = completion.filter(|one| one.pair_count == 0 || one.has_whole_pairs());
                receive(request.identifier, completion.as_ref());
                if !completion.is_some_and(|completion| completion.continued) {
                    in_flight.remove(&device_identifier);
                }
            }
        }
    }
}

impl Drop for DeviceExecutor {
    fn drop(&mut self) {
        self.state.port.lock().close_queue(self.queue);
    }
}

impl Executor for DeviceExecutor {
    fn state(&self) -> &BackendState {
        &self.state.backend
    }

    fn execute(
        &self,
        _pinned: Option<(&LeaseUse<'_>, Version)>,
        admission: &mut Admission<'_>,
        long_scans: &mut LongScans,
        completions: &mut Completions,
    ) {
        let DeviceState { backend, scan_quantum_pairs, .. } = &*self.state;
        let mut rejected = Completions::default();
        let (mut newest, are_full) = (0, Cell::new(completions.are_full()));
        let next = || loop {
            let (request, bytes) = admission.next(&mut rejected)?;
            if matches!(request.read, Read::Function(_) | Read::Unordered(_)) {
                rejected.push_rejection(request.identifier, Status::UnknownOpcode);
                continue;
            }
            if are_full.get() {
                // There is no room for its completion.
                rejected.push_rejection(request.identifier, Status::NoRoom);
                continue;
            }
            let is_long =
                matches!(&request.read, Read::Scan { scan, .. } if scan.limit > *scan_quantum_pairs);
            if !(is_long && long_scans.set_aside(backend, &request).is_some()) {
                return Some(Outgoing { bytes: bytes.to_vec(), identifier: request.identifier });
            }
        };
        self.run(next, |identifier, completion| match completion {
            Some(completion) => {
                newest = completion.read_version.max(newest);
                completions.push_part(completion, identifier, completion.continued, completion.more);
                are_full.set(completions.are_full());
            }
            None => completions.push_rejection(identifier, Status::Fault),
        });
        completions.append(&mut rejected);
        // The device may read a version that new readers on the CPU do not have yet.
        backend.forest.release_up_to(newest);
    }

    fn execute_quantum(
        &self,
        scan: &mut LongScan,
        _in_use: &LeaseUse<'_>,
        completions: &mut Completions,
    ) -> ScanProgress {
        let pairs = scan.left.pairs.min(self.state.scan_quantum_pairs);
        let read = Read::Scan { scan: scan.scan(pairs), bytes_max: scan.left.bytes as u32 };
        let LongScan { identifier, table, root, version, .. } = *scan;
        let mut requests = Requests::default();
        requests
            .push(&Request { identifier, table, version: Some(version), read })
            .expect("keys of a request");
        let mut outgoing = Some(Outgoing { bytes: requests.bytes().to_vec(), identifier });
        let tree_exists = || self.state.backend.roots.get(table) == Some(root);
        let mut quantum = Quantum { scan, completions, last_key: Vec::new(), state: QuantumState::Open };
        self.run(|| outgoing.take_if(|_| tree_exists()), |_, completion| quantum.receive(completion));
        if outgoing.is_some() {
            quantum.completions.push_rejection(identifier, Status::UnknownTable);
        }
        quantum.finish()
    }
}

/// The completions of one quantum of a scan. The device may be defective, so each is checked: it has the
/// pairs that it states, their keys are keys, and a further quantum has a shorter range.
struct Quantum<'q> {
    scan: &'q mut LongScan,
    completions: &'q mut Completions,
    last_key: Vec<u8>,
    state: QuantumState,
}

#[derive(PartialEq)]
enum QuantumState {
    /// Neither rejected nor at the end of a quantum that a further one follows.
    Open,
    /// A rejection was returned, which is the last completion of a request.
    Rejected,
    HasFurther,
}

impl Quantum<'_> {
    fn receive(&mut self, completion: Option<&Completion<'_>>) {
        if self.state == QuantumState::Rejected {
            return;
        }
        if let Err(status) = self.append(completion) {
            self.state = QuantumState::Rejected;
            self.completions.push_rejection(self.scan.identifier, status);
        }
    }

    fn append(&mut self, completion: Option<&Completion<'_>>) -> Result<(), Status> {
        let part = completion.ok_or(Status::Fault)?;
        if part.status != Status::Found {
            return Err(part.status);
        }
        self.count(part)?;
        // The quantum has ended, but neither the range nor the limits of the scan.
        let has_further = !part.continued && part.more && !self.scan.left.are_reached();
        if has_further && (self.last_key.is_empty() || !self.scan.can_continue_after(&self.last_key)) {
            return Err(Status::Fault);
        }
        let (continued, more) = (part.continued || has_further, part.more && !has_further);
        // The reader takes the parts of a quantum between two polls, so none may be missing.
        self.completions.push_part_of_begun(part, self.scan.identifier, continued, more);
        if has_further {
            self.state = QuantumState::HasFurther;
        }
        Ok(())
    }

    /// Counts the pairs of a part.
    fn count(&mut self, part: &Completion<'_>) -> Result<(), Status> {
        if !part.has_whole_pairs() {
            return Err(Status::Fault);
        }
        for (key, value) in part.pairs() {
            if !(KEY_BYTES_MIN..=KEY_BYTES_MAX).contains(&key.len()) {
                return Err(Status::Fault);
            }
            self.scan.left.count(key.len(), value.len());
            self.last_key.clear();
            self.last_key.extend_from_slice(key);
        }
        Ok(())
    }

    fn finish(self) -> ScanProgress {
        if self.state != QuantumState::HasFurther {
            return ScanProgress::Finished;
        }
        self.scan.continue_after(self.last_key);
        ScanProgress::Unfinished
    }
}

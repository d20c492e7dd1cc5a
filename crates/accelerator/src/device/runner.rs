//! Runs the requests of a queue on a device: hands them over as there is room, and lets the device go on
//! until all are completed. While it does so, those of other queues get on as well.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use honeycomb_btree::Version;
use honeycomb_memory::LeaseUse;

use crate::admission::Admission;
use crate::completion::{Completion, Completions, parse};
use crate::device::port::{Port, identifier};
use crate::known::Known;
use crate::long_scan::{LongScan, LongScans, Turn};
use crate::request::{Read, Request, Requests};
use crate::status::Status;
use crate::turns::Runner;

/// What the queues of a device share.
pub(super) struct Shared {
    pub(super) known: Known,
    pub(super) port: Arc<Port>,
    pub(super) scan_quantum_pairs: usize,
}

pub(super) struct DeviceRunner {
    shared: Arc<Shared>,
    queue: u32,
}

/// A request on its way to the device, and the identifier that it has for who asks.
struct Outgoing {
    bytes: Vec<u8>,
    identifier: u64,
}

impl DeviceRunner {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let queue = shared.port.lock().open_queue();
        Self { shared, queue }
    }

    /// Submits what `next` has, which is asked under the lock of the device, and gives `take` each answer,
    /// or none if it is none, with the identifier that its request had: until all are completed.
    fn work(
        &self,
        mut next: impl FnMut() -> Option<Outgoing>,
        mut take: impl FnMut(u64, Option<&Completion<'_>>),
    ) {
        let memory = self.shared.known.forest.memory();
        let (mut waiting, mut in_flight) = (None, HashMap::new());
        loop {
            let mut device = self.shared.port.lock();
            waiting = waiting.or_else(&mut next);
            while let Some(request) = &mut waiting
                && let Some(known_as) = device.submit(self.queue, &mut request.bytes)
            {
                in_flight.insert(known_as, request.identifier);
                waiting = next();
            }
            if waiting.is_none() && in_flight.is_empty() {
                return;
            }
            device.step(memory);
            let answers = device.take_answers(self.queue);
            drop(device);
            for answer in answers {
                let Some(known_as) = identifier(&answer) else { continue };
                let Some(&asked) = in_flight.get(&known_as) else { continue };
                let completion = parse(&answer).map(|(completion, _)| completion);
                take(asked, completion.as_ref());
                if !completion.is_some_and(|completion| completion.continued) {
                    in_flight.remove(&known_as);
                }
            }
        }
    }
}

impl Drop for DeviceRunner {
    fn drop(&mut self) {
        self.shared.port.lock().close_queue(self.queue);
    }
}

impl Runner for DeviceRunner {
    fn known(&self) -> &Known {
        &self.shared.known
    }

    fn run(
        &self,
        _held: Option<(&LeaseUse<'_>, Version)>,
        admission: &mut Admission<'_>,
        long_scans: &mut LongScans,
        completions: &mut Completions,
    ) {
        let Shared { known, scan_quantum_pairs, .. } = &*self.shared;
        let mut refused = Completions::default();
        let (mut newest, are_full) = (0, Cell::new(completions.are_full()));
        let next = || loop {
            let (request, bytes) = admission.next(&mut refused)?;
            if are_full.get() {
                // Of what the device found now nothing could be kept.
                refused.push_refusal(request.identifier, Status::NoRoom);
                continue;
            }
            let is_long =
                matches!(&request.read, Read::Scan { scan, .. } if scan.limit > *scan_quantum_pairs);
            if !(is_long && long_scans.set_aside(known, &request)) {
                return Some(Outgoing { bytes: bytes.to_vec(), identifier: request.identifier });
            }
        };
        self.work(next, |identifier, answer| match answer {
            Some(answer) => {
                newest = answer.read_version.max(newest);
                completions.push_part(answer, identifier, answer.continued, answer.more);
                are_full.set(completions.are_full());
            }
            None => completions.push_refusal(identifier, Status::Fault),
        });
        completions.append(&mut refused);
        // The device may be ahead: the answers must not be.
        known.forest.release_up_to(newest);
    }

    fn turn(&self, scan: &mut LongScan, _in_use: &LeaseUse<'_>, completions: &mut Completions) -> Turn {
        let pairs = scan.left.pairs.min(self.shared.scan_quantum_pairs);
        let read = Read::Scan { scan: scan.scan(pairs), bytes_max: scan.left.bytes as u32 };
        let LongScan { identifier, table, root, version, .. } = *scan;
        let mut requests = Requests::default();
        requests
            .push(&Request { identifier, table, version: Some(version), read })
            .expect("keys of a request");
        let mut outgoing = Some(Outgoing { bytes: requests.bytes().to_vec(), identifier });
        let is_there = || self.shared.known.roots.get(table) == Some(root);
        let mut emitted = Emitted { scan, completions, last_key: Vec::new(), turn: Turn::Done };
        self.work(|| outgoing.take_if(|_| is_there()), |_, answer| emitted.take(answer));
        if outgoing.is_some() {
            emitted.completions.push_refusal(identifier, Status::UnknownTable);
        }
        emitted.finish()
    }
}

/// What a turn of a scan emits.
struct Emitted<'e> {
    scan: &'e mut LongScan,
    completions: &'e mut Completions,
    last_key: Vec<u8>,
    turn: Turn,
}

impl Emitted<'_> {
    fn take(&mut self, answer: Option<&Completion<'_>>) {
        let identifier = self.scan.identifier;
        let Some(answer) = answer.filter(|answer| answer.status == Status::Found) else {
            let status = answer.map_or(Status::Fault, |answer| answer.status);
            return self.completions.push_refusal(identifier, status);
        };
        for (key, value) in answer.pairs() {
            self.scan.left.take(key.len(), value.len());
            self.last_key.clear();
            self.last_key.extend_from_slice(key);
        }
        // There are more, and no limit but that of the turn says that they are not wanted.
        let goes_on = answer.more && !self.scan.left.are_reached();
        self.completions.push_part(answer, identifier, answer.continued || goes_on, answer.more && !goes_on);
        if goes_on {
            self.turn = Turn::Again;
        }
    }

    fn finish(self) -> Turn {
        if self.turn == Turn::Again {
            self.scan.go_on_after(self.last_key);
        }
        self.turn
    }
}

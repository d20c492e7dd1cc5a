//! Back-pressure.

use honeycomb_accelerator::{Read, Request, Requests};
use honeycomb_btree::Scan;

use crate::conformance::fairness::LONG;
use crate::conformance::world::World;

/// More bytes of requests than the capacity of any queue.
const BYTES_MAX: usize = 64 << 20;

/// A full queue accepts a part of a batch, only whole requests, and then nothing until it is polled.
pub(super) fn a_full_queue_accepts_no_request(world: &mut World) {
    world.fill();
    let mut session = world.session();
    let mut accepted = 0;
    let rest = loop {
        let requests = world.requests(400);
        let bytes = session.offer(world, requests.bytes());
        if bytes < requests.bytes().len() {
            break requests.bytes()[bytes..].to_vec();
        }
        accepted += bytes;
        assert!(accepted < BYTES_MAX, "a queue has a capacity");
    };
    let further = session.offer(world, &rest);
    assert!(further < rest.len(), "a full queue does not accept the rest of a batch");
    session.submit(world, &rest[further..]);
    session.finish(world);
    let requests = world.requests(400);
    assert!(session.offer(world, requests.bytes()) > 0, "a polled queue accepts requests again");
    session.finish(world);
}

/// More long scans than any queue can have in flight.
const SCANS_MAX: usize = 8_000;

/// Long scans in flight count towards the capacity of a queue. A queue with requests in flight can be
/// dropped.
pub(super) fn scans_in_flight_fill_a_queue(world: &mut World) {
    world.create_long_table();
    let version = world.pin_version();
    let mut session = world.session();
    let mut requests = Requests::default();
    let read = Read::Scan { scan: Scan::default(), bytes_max: u32::MAX };
    let mut scans = 0;
    loop {
        requests.clear();
        for _ in 0..1_000 {
            let identifier = world.random.next();
            requests.push(&Request { identifier, table: LONG, version, read }).expect("there are no keys");
        }
        let bytes = session.offer(world, requests.bytes());
        if bytes < requests.bytes().len() {
            break;
        }
        session.poll();
        scans += 1_000;
        assert!(scans < SCANS_MAX, "long scans in flight fill a queue");
    }
    drop(session);
    world.write_long(0);
}

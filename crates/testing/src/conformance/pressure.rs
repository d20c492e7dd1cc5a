//! Back-pressure.

use honeycomb_accelerator::{Read, Request, Requests};
use honeycomb_btree::Scan;

use crate::conformance::fairness::LONG;
use crate::conformance::world::World;

/// More requests than any queue holds.
const BYTES_MAX: usize = 64 << 20;

/// A full queue takes a part of a batch, whole requests only, then nothing; after polls it goes on.
pub(super) fn a_full_queue_takes_no_more(world: &mut World) {
    world.fill();
    let mut session = world.session();
    let mut taken = 0;
    let rest = loop {
        let requests = world.requests(400);
        let bytes = session.offer(world, requests.bytes());
        if bytes < requests.bytes().len() {
            break requests.bytes()[bytes..].to_vec();
        }
        taken += bytes;
        assert!(taken < BYTES_MAX, "a queue is full at some time");
    };
    let more = session.offer(world, &rest);
    assert!(more < rest.len(), "a full queue takes what is left of a batch");
    session.submit(world, &rest[more..]);
    session.finish(world);
    let requests = world.requests(400);
    assert!(session.offer(world, requests.bytes()) > 0, "a queue that was full goes on");
    session.finish(world);
}

/// More scans than any queue has under way: each has its turn in every poll.
const SCANS_MAX: usize = 8_000;

/// So do scans under way, though their requests were looked at. A queue may go with all that is in flight.
pub(super) fn scans_under_way_fill_a_queue(world: &mut World) {
    world.plant_a_long_table();
    let version = world.hold();
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
        assert!(scans < SCANS_MAX, "scans under way fill a queue at some time");
    }
    drop(session);
    world.write_long(0);
}

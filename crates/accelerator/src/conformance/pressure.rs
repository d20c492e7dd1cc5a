//! Back-pressure.

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

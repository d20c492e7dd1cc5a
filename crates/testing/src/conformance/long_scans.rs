//! Long scans: each reads one version, independently of concurrent writers.

use honeycomb_accelerator::{Read, Request, Requests};
use honeycomb_btree::Scan;

use crate::conformance::fairness::LONG;
use crate::conformance::session::Session;
use crate::conformance::world::World;

/// Maximum number of changes of the whole range. Their memory is reclaimed only after the scans have ended.
const GENERATIONS: u64 = 25;

/// Between any two polls, writers change, remove and add pairs in the whole range.
pub(super) fn a_long_scan_reads_one_version(world: &mut World) {
    world.create_long_table();
    world.pin_version();
    let mut requests = Requests::default();
    for (identifier, backward, version) in
        [(1, false, None), (2, true, None), (3, false, world.pinned.keys().next().copied())]
    {
        let scan = Scan { backward, ..Scan::default() };
        let read = Read::Scan { scan, bytes_max: u32::MAX };
        requests.push(&Request { identifier, table: LONG, version, read }).expect("there are no keys");
    }
    let mut session = world.session();
    session.submit(world, requests.bytes());
    poll_between_writes(world, &mut session);
    session.finish(world);
}

/// Polls until no request is in flight. Writers change the long table after each poll.
pub(super) fn poll_between_writes(world: &mut World, session: &mut Session) {
    for generation in 0_u64.. {
        if session.poll() == 0 {
            break;
        }
        if generation < GENERATIONS {
            world.write_long(generation);
            world.forest.memory().reclaim();
        }
    }
}

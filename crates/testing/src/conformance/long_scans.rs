//! Long scans: of one version, whatever writers do meanwhile.

use honeycomb_accelerator::{Read, Request, Requests};
use honeycomb_btree::Scan;

use crate::conformance::fairness::LONG;
use crate::conformance::world::World;

/// After so many changes of all the range none is made: their memory comes back only when the scans are done.
const GENERATIONS: u64 = 25;

/// Writers change, remove and add pairs all over the range between any two polls.
pub(super) fn a_long_scan_is_of_one_version(world: &mut World) {
    world.plant_a_long_table();
    world.hold();
    let mut requests = Requests::default();
    for (identifier, backward, version) in
        [(1, false, None), (2, true, None), (3, false, world.held.keys().next().copied())]
    {
        let scan = Scan { backward, ..Scan::default() };
        let read = Read::Scan { scan, bytes_max: u32::MAX };
        requests.push(&Request { identifier, table: LONG, version, read }).expect("there are no keys");
    }
    let mut session = world.session();
    session.submit(world, requests.bytes());
    for generation in 0_u64.. {
        if session.poll() == 0 {
            break;
        }
        if generation < GENERATIONS {
            world.write_long(generation);
            world.forest.memory().reclaim();
        }
    }
    session.finish(world);
}

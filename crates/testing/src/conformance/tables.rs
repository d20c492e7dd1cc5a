//! Tables: requests can read a table as long as the accelerator has its root.

use honeycomb_accelerator::{Read, Request, Requests, Status};
use honeycomb_btree::Scan;

use crate::conformance::fairness::LONG;
use crate::conformance::session::{Session, one};
use crate::conformance::world::World;

pub(super) fn only_tables_with_a_root_are_read(world: &mut World) {
    let mut session = world.session();
    for table in [0, 1, 255, 256, u16::MAX] {
        read_around(world, &mut session, table);
        world.create_tree(table);
        world.put(table, b"key", &table.to_be_bytes());
        world.record();
        read_around(world, &mut session, table);
        world.remove_root(table);
        read_around(world, &mut session, table);
    }
    a_scan_in_flight_ends(world, &mut session, |_| ());
    // Another table gets the number at once.
    a_scan_in_flight_ends(world, &mut session, |world| world.create_tree(LONG));
}

/// Reads a table and the tables with adjacent numbers.
fn read_around(world: &World, session: &mut Session, table: u16) {
    let mut requests = Requests::default();
    for (identifier, table) in (0..).zip([table.wrapping_sub(1), table, table.wrapping_add(1)]) {
        let scan = Read::Scan { scan: Scan::default(), bytes_max: u32::MAX };
        for (read, identifier) in [(Read::Get(b"key"), 2 * identifier), (scan, 2 * identifier + 1)] {
            let request = Request { identifier, table, version: None, read };
            requests.push(&request).expect("the keys are not too long");
        }
    }
    session.execute(world, requests.bytes());
}

/// A table is dropped while a scan of it is in flight. The scan either completes, or ends with a rejection;
/// its pairs before that are correct.
fn a_scan_in_flight_ends(world: &mut World, session: &mut Session, then: impl FnOnce(&mut World)) {
    world.create_long_table();
    let read = Read::Scan { scan: Scan::default(), bytes_max: u32::MAX };
    let scan = one(&Request { identifier: 1, table: LONG, version: None, read });
    let mut other = world.session();
    other.submit(world, scan.bytes());
    other.poll();
    let all = world.state.remove(&LONG).expect("the table exists");
    world.drop_tree(LONG);
    then(world);
    while other.poll() > 0 {}
    let answer = other.answer(1).expect("the scan is answered");
    let pairs = all.iter().map(|(key, value)| (key.clone(), value.to_vec()));
    assert!(pairs.take(answer.pairs.len()).eq(answer.pairs.iter().cloned()), "the pairs are correct");
    match answer.status {
        Some(Status::Found) => assert_eq!(answer.pairs.len(), all.len()),
        status => assert_eq!(status, Some(Status::UnknownTable)),
    }
    read_around(world, session, LONG);
}

//! Fairness: long scans do not delay other requests.

use honeycomb_accelerator::{Read, Request};
use honeycomb_btree::Scan;

use crate::conformance::PAIRS_OF_A_LONG_SCAN;
use crate::conformance::session::one;
use crate::conformance::world::World;

/// A get completes in one poll, although a long scan is in flight. The scan completes at last.
pub(super) fn a_get_does_not_wait_for_a_scan_of_all_pairs(world: &mut World) {
    world.create_long_table();
    let mut session = world.session();
    let scan = Read::Scan { scan: Scan::default(), bytes_max: u32::MAX };
    let key = 5_u64.to_be_bytes();
    let request = |identifier, read| one(&Request { identifier, table: LONG, version: None, read });
    session.submit(world, request(1, scan).bytes());
    session.submit(world, request(2, Read::Get(&key)).bytes());
    session.poll();
    assert!(session.answer(2).is_some(), "a get completes in one poll");
    assert!(session.answer(1).is_none(), "a scan of all pairs needs several polls");
    session.submit(world, request(3, Read::Get(&key)).bytes());
    session.poll();
    assert!(session.answer(3).is_some(), "a get completes in one poll, although a scan is in flight");
    session.finish(world);
}

/// The table of a long scan.
pub(super) const LONG: u16 = 300;

impl World {
    /// Creates the table of a long scan.
    pub(super) fn create_long_table(&mut self) {
        self.create_tree(LONG);
        for number in 0..PAIRS_OF_A_LONG_SCAN {
            self.put(LONG, &number.to_be_bytes(), b"first");
        }
        self.record();
    }

    /// Changes a large part of that table.
    pub(super) fn write_long(&mut self, generation: u64) {
        let numbers = || (generation % 7..PAIRS_OF_A_LONG_SCAN).step_by(7);
        let keys = numbers().map(|number| number.to_be_bytes().to_vec());
        let changed: Vec<_> = keys.map(|key| (key, generation.to_be_bytes().to_vec())).collect();
        self.put_all(LONG, &changed);
        for number in numbers().step_by(3) {
            self.delete(LONG, &(number + 1).to_be_bytes());
            self.put(LONG, &[&number.to_be_bytes()[..], b"new"].concat(), b"between");
        }
        self.record();
    }
}

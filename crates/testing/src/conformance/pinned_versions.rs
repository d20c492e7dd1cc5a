//! Pinned versions: requests read their state until they are unpinned.

use honeycomb_accelerator::{Read, Request, Requests, Status};
use honeycomb_btree::{Scan, Version};

use crate::conformance::fairness::LONG;
use crate::conformance::session::{Session, one};
use crate::conformance::world::World;

pub(super) fn a_pinned_version_is_read_until_it_is_unpinned(world: &mut World) {
    world.fill();
    let mut session = world.session();
    let (kept, revoked) = (pin(world), pin_after_writes(world));
    world.write(300);
    read_all(world, &mut session, &[kept, revoked]);
    world.pinned[&revoked].iter().for_each(|lease| lease.revoke());
    let leases = world.pinned.remove(&revoked).expect("the version is pinned");
    read_all(world, &mut session, &[kept, revoked]);
    leases.iter().for_each(|lease| world.accelerator.unpin_version(revoked, lease));
    world.unpin_version(kept);
    let never = [kept + 1, world.forest.read_version(), Version::MAX];
    read_all(world, &mut session, &[[kept, revoked].as_slice(), &never].concat());
}

/// Two leases guard a version. Either of them is sufficient.
pub(super) fn one_lease_of_two_is_sufficient(world: &mut World) {
    world.create_long_table();
    for which in 0..2 {
        let version = pin(world);
        assert_eq!(pin(world), version, "there was no write");
        let mut session = world.session();
        session.submit(world, long_scan(1, version).bytes());
        session.poll();
        session.submit(world, long_scan(2, version).bytes());
        let lease = world.pinned.get_mut(&version).expect("the version is pinned").remove(which);
        lease.revoke();
        world.write_long(1);
        session.poll();
        world.accelerator.unpin_version(version, &lease);
        world.write_long(2);
        session.finish(world);
        world.unpin_version(version);
    }
}

/// The scan ends with a rejection, and returns no later writes. Its pairs before that are correct.
pub(super) fn a_long_scan_ends_when_its_version_is_unpinned(world: &mut World) {
    world.create_long_table();
    let version = pin(world);
    let mut session = world.session();
    session.submit(world, long_scan(1, version).bytes());
    for _ in 0..3 {
        session.poll();
    }
    world.pinned[&version].iter().for_each(|lease| lease.revoke());
    world.write_long(0);
    world.forest.memory().reclaim();
    while session.poll() > 0 {}
    let answer = session.answer(1).expect("the scan is answered");
    assert_eq!(answer.status, Some(Status::VersionNotPinned));
    let pairs = world.recorded[&version][&LONG].iter().map(|(key, value)| (key.clone(), value.to_vec()));
    assert!(pairs.take(answer.pairs.len()).eq(answer.pairs.iter().cloned()), "the pairs are correct");
    world.unpin_version(version);
    session.finish(world);
}

fn pin(world: &mut World) -> Version {
    world.pin_version().expect("a lease is available")
}

fn pin_after_writes(world: &mut World) -> Version {
    world.write(100);
    pin(world)
}

fn long_scan(identifier: u64, version: Version) -> Requests {
    let read = Read::Scan { scan: Scan::default(), bytes_max: u32::MAX };
    one(&Request { identifier, table: LONG, version: Some(version), read })
}

/// Executes reads at each version. The oracle expects a rejection if the version is not pinned.
fn read_all(world: &mut World, session: &mut Session, versions: &[Version]) {
    let mut requests = Requests::default();
    for &version in versions {
        for table in [0, 1, 2, 3] {
            let key = world.key(table);
            let scan = Read::Scan { scan: Scan::default(), bytes_max: 100_000 };
            for read in [Read::Get(&key), scan] {
                let identifier = world.random.next();
                let request = Request { identifier, table, version: Some(version), read };
                requests.push(&request).expect("the keys are not too long");
            }
        }
    }
    session.execute(world, requests.bytes());
}

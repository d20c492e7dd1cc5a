//! Held versions: they are read as they were, for as long as they are held.

use honeycomb_accelerator::{Read, Request, Requests, Status};
use honeycomb_btree::{Scan, Version};

use crate::conformance::fairness::LONG;
use crate::conformance::session::{Session, one};
use crate::conformance::world::World;

pub(super) fn a_held_version_is_read_until_it_is_let_go(world: &mut World) {
    world.fill();
    let mut session = world.session();
    let (kept, revoked) = (hold(world), hold_after_writes(world));
    world.write(300);
    read_all(world, &mut session, &[kept, revoked]);
    world.held[&revoked].iter().for_each(|lease| lease.revoke());
    let leases = world.held.remove(&revoked).expect("it is held");
    read_all(world, &mut session, &[kept, revoked]);
    leases.iter().for_each(|lease| world.accelerator.unpin_version(revoked, lease));
    world.let_go(kept);
    let never = [kept + 1, world.forest.read_version(), Version::MAX];
    read_all(world, &mut session, &[[kept, revoked].as_slice(), &never].concat());
}

/// Of two leases that guard a version, either does.
pub(super) fn one_lease_of_two_is_enough(world: &mut World) {
    world.plant_a_long_table();
    for which in 0..2 {
        let version = hold(world);
        assert_eq!(hold(world), version, "nothing was written");
        let mut session = world.session();
        session.submit(world, long_scan(1, version).bytes());
        session.poll();
        session.submit(world, long_scan(2, version).bytes());
        let lease = world.held.get_mut(&version).expect("it is held").remove(which);
        lease.revoke();
        world.write_long(1);
        session.poll();
        world.accelerator.unpin_version(version, &lease);
        world.write_long(2);
        session.finish(world);
        world.let_go(version);
    }
}

/// With a refusal, not with what was written since. What it emitted before is right.
pub(super) fn a_long_scan_ends_when_its_version_is_held_no_more(world: &mut World) {
    world.plant_a_long_table();
    let version = hold(world);
    let mut session = world.session();
    session.submit(world, long_scan(1, version).bytes());
    for _ in 0..3 {
        session.poll();
    }
    world.held[&version].iter().for_each(|lease| lease.revoke());
    world.write_long(0);
    world.forest.memory().reclaim();
    while session.poll() > 0 {}
    let answer = session.answer(1).expect("it is answered");
    assert_eq!(answer.status, Some(Status::VersionNotHeld));
    let pairs = world.noted[&version][&LONG].iter().map(|(key, value)| (key.clone(), value.to_vec()));
    assert!(pairs.take(answer.pairs.len()).eq(answer.pairs.iter().cloned()), "it was right before");
    world.let_go(version);
    session.finish(world);
}

fn hold(world: &mut World) -> Version {
    world.hold().expect("there is a lease")
}

fn hold_after_writes(world: &mut World) -> Version {
    world.write(100);
    hold(world)
}

fn long_scan(identifier: u64, version: Version) -> Requests {
    let read = Read::Scan { scan: Scan::default(), bytes_max: u32::MAX };
    one(&Request { identifier, table: LONG, version: Some(version), read })
}

/// Reads at each version; whether it is refused follows from what the world holds.
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
    session.ask(world, requests.bytes());
}

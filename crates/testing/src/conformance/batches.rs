//! Batches: every request has one correct answer.

use honeycomb_accelerator::{Read, Request, Requests};

use crate::conformance::session::Session;
use crate::conformance::world::World;

/// Executes batches in several queues. Between them, writers consolidate, split and merge nodes.
pub(super) fn random_requests_are_answered(world: &mut World) {
    world.fill();
    let mut sessions: Vec<Session> = (0..2).map(|_| world.session()).collect();
    for round in 0..40 {
        let count = world.random.pick(&[0, 1, 2, 30, 100]);
        for session in &mut sessions {
            let requests = world.requests(count);
            session.execute(world, requests.bytes());
        }
        if world.forest.mvcc() {
            exchange_pinned_versions(world, round);
        }
        let count = world.random.below(100);
        world.write(count);
        world.forget();
    }
}

fn exchange_pinned_versions(world: &mut World, round: u32) {
    if round.is_multiple_of(4) {
        world.pin_version();
    }
    if world.pinned.len() > 2 {
        let oldest = *world.pinned.keys().next().expect("several versions are pinned");
        world.unpin_version(oldest);
    }
}

/// Identifiers can have any value, and several requests can have the same one.
pub(super) fn identifiers_are_echoed(world: &mut World) {
    world.create_tree(9);
    for number in 0..20 {
        world.put(9, &[number], &[number; 3]);
    }
    world.record();
    let mut requests = Requests::default();
    for number in 0..=40_u8 {
        let key = [number];
        for identifier in [0, u64::MAX, u64::MAX - u64::from(number), 1 << (number % 64)] {
            let request = Request { identifier, table: 9, version: None, read: Read::Get(&key) };
            requests.push(&request).expect("the keys are not too long");
        }
    }
    world.session().execute(world, requests.bytes());
}

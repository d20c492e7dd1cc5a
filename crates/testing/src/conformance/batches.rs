//! Batches: every request is answered once, and rightly.

use crate::conformance::session::Session;
use crate::conformance::world::World;
use honeycomb_accelerator::{Read, Request, Requests};

/// Batches in several queues, between which writers merge, split and join nodes.
pub(super) fn any_requests_are_answered(world: &mut World) {
    world.fill();
    let mut sessions: Vec<Session> = (0..2).map(|_| world.session()).collect();
    for round in 0..40 {
        let count = world.random.pick(&[0, 1, 2, 30, 100]);
        for session in &mut sessions {
            let requests = world.requests(count);
            session.ask(world, requests.bytes());
        }
        if world.forest.mvcc() {
            exchange_what_is_held(world, round);
        }
        let count = world.random.below(100);
        world.write(count);
        world.forget();
    }
}

fn exchange_what_is_held(world: &mut World, round: u32) {
    if round.is_multiple_of(4) {
        world.hold();
    }
    if world.held.len() > 2 {
        let oldest = *world.held.keys().next().expect("some are held");
        world.let_go(oldest);
    }
}

/// Whatever they are, and if several requests have the same.
pub(super) fn identifiers_are_echoed(world: &mut World) {
    world.create_tree(9);
    for number in 0..20 {
        world.put(9, &[number], &[number; 3]);
    }
    world.note();
    let mut requests = Requests::default();
    for number in 0..=40_u8 {
        let key = [number];
        for identifier in [0, u64::MAX, u64::MAX - u64::from(number), 1 << (number % 64)] {
            let request = Request { identifier, table: 9, version: None, read: Read::Get(&key) };
            requests.push(&request).expect("the keys are not too long");
        }
    }
    world.session().ask(world, requests.bytes());
}

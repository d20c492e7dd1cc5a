//! The software accelerator passes what every back must pass.
#![allow(missing_docs)]

use std::sync::Arc;

use honeycomb_accelerator::{Back, Software, conformance};
use honeycomb_btree::{Config, Forest};

/// Checks with a seed from the environment, or this one.
fn check(back: Software, seed: u64) {
    let given = std::env::var("HONEYCOMB_SEED").ok().and_then(|text| text.parse().ok());
    conformance::check(&back, given.unwrap_or(seed));
}

#[test]
fn as_it_is_by_default() {
    check(Software::default(), 1);
}

#[test]
fn one_request_at_a_time() {
    check(Software { in_flight: 1, ..Software::default() }, 2);
}

#[test]
fn as_many_requests_at_once_as_there_can_be() {
    check(Software { in_flight: 64, scan_pairs_a_turn: 1_000, ..Software::default() }, 3);
}

#[test]
fn one_pair_a_turn() {
    check(Software { in_flight: 3, scan_pairs_a_turn: 1, ..Software::default() }, 4);
}

#[test]
fn the_smallest_queue() {
    check(Software { scan_pairs_a_turn: 7, queue_bytes: 131_104, ..Software::default() }, 5);
}

#[test]
fn parameters_are_checked_at_below_and_above_their_limits() {
    let forest = Arc::new(Forest::new(Config::default()).unwrap());
    let refusal = |back: Software| back.attach(&forest).err().map(|error| error.to_string());
    let default = Software::default();
    for in_flight in [1, 64] {
        assert_eq!(refusal(Software { in_flight, ..default }), None);
    }
    for in_flight in [0, 65] {
        let text = format!("in_flight is {in_flight}: allowed are 1 to 64");
        assert_eq!(refusal(Software { in_flight, ..default }), Some(text));
    }
    assert_eq!(refusal(Software { scan_pairs_a_turn: 1, queue_bytes: 131_104, ..default }), None);
    let text = "scan_pairs_a_turn is 0: allowed are 1 and more";
    assert_eq!(refusal(Software { scan_pairs_a_turn: 0, ..default }).as_deref(), Some(text));
    let text = "queue_bytes is 131103: allowed are 131104 and more";
    assert_eq!(refusal(Software { queue_bytes: 131_103, ..default }).as_deref(), Some(text));
}

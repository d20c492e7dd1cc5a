//! Histories of reads in flight on the simulated accelerator.
//!
//! `HONEYCOMB_SOAK_SECONDS=3600` repeats the rounds for an hour.
#![allow(missing_docs)]

use std::sync::Arc;

use honeycomb_accelerator::DeviceBackend;
use honeycomb_simulator::Simulator;
use honeycomb_simulator::platform::Platform;
use honeycomb_testing::histories::{AMPLE, Round, SCARCE, run};
use honeycomb_testing::index::Keys;
use honeycomb_testing::soak;

fn round(simulator: Simulator, arena_bytes: usize, log_bytes: usize, keys: Keys, key_count: u64) -> Round {
    let backend =
        Arc::new(DeviceBackend { engines: simulator, scan_quantum_pairs: 20, ..DeviceBackend::default() });
    // A writer waits for the simulation while it has a lock, so most of many writers would retry.
    let (writers, readers, steps) = (2, 2, 80);
    Round { backend, arena_bytes, log_bytes, keys, key_count, writers, readers, steps }
}

#[test]
fn every_result_is_the_state_at_its_version() {
    let ideal = |seed| Simulator { platform: Platform::IDEAL, seed, ..Simulator::default() };
    let bare = Simulator { cache: false, balance: None, levels_on_chip: 0, ..ideal(3) };
    let rounds = [
        round(ideal(1), SCARCE, 128, Keys::Random, 200),
        round(Simulator { in_flight: 9, ..ideal(2) }, AMPLE, 0, Keys::Paths, 400),
        round(bare, AMPLE, 512, Keys::EqualHeads, 12),
        round(Simulator::default(), AMPLE, 200, Keys::AnyLength, 300),
    ];
    soak(&rounds, 1_000, run);
}

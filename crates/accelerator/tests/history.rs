//! Concurrent histories of reads on the software accelerator and on the model of a device.
//!
//! `HONEYCOMB_SOAK_SECONDS=3600` repeats them for an hour.
#![allow(missing_docs)]

use std::sync::Arc;

use honeycomb_accelerator::{Backend, DeviceBackend, Software};
use honeycomb_testing::histories::{AMPLE, Round, SCARCE, run};
use honeycomb_testing::index::Keys;
use honeycomb_testing::{DeviceModel, soak};

fn round(
    backend: impl Backend + 'static,
    arena_bytes: usize,
    log_bytes: usize,
    keys: Keys,
    key_count: u64,
) -> Round {
    let (writers, readers, steps) = (3, 3, 2_000);
    Round { backend: Arc::new(backend), arena_bytes, log_bytes, keys, key_count, writers, readers, steps }
}

#[test]
fn every_answer_is_the_state_at_its_version() {
    let backend =
        |in_flight, scan_quantum_pairs| Software { in_flight, scan_quantum_pairs, ..Software::default() };
    let rounds = [
        round(backend(16, 8), SCARCE, 128, Keys::Random, 200),
        round(backend(64, 40), AMPLE, 0, Keys::Paths, 400),
        round(backend(3, 1), AMPLE, 512, Keys::EqualHeads, 12),
        round(backend(1, 100), AMPLE, 200, Keys::AnyLength, 300),
    ];
    soak(&rounds, 400_000, run);
}

#[test]
fn every_answer_of_a_device_is_the_state_at_its_version() {
    let backend = |in_flight, scan_quantum_pairs| {
        let engines = DeviceModel { in_flight, ..DeviceModel::default() };
        DeviceBackend { engines, scan_quantum_pairs, ..DeviceBackend::default() }
    };
    let rounds = [
        round(backend(16, 8), SCARCE, 128, Keys::Random, 200),
        round(backend(100, 40), SCARCE, 0, Keys::Paths, 400),
        round(backend(3, 1), AMPLE, 512, Keys::EqualHeads, 12),
        round(backend(1, 100), AMPLE, 200, Keys::AnyLength, 300),
    ];
    soak(&rounds, 100_000, run);
}

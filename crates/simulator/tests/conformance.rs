//! The accelerator in SystemVerilog passes what every back must pass.
#![allow(missing_docs)]

use honeycomb_accelerator::DeviceBackend;
use honeycomb_simulator::Simulator;
use honeycomb_simulator::platform::Platform;
use honeycomb_testing::conformance;

/// The least that is allowed: what fills a queue takes all the more cycles the more it holds.
const QUEUE_BYTES_MIN: usize = 131_104;

/// Minutes long: with memory that answers at once, as cycles are what it takes time for.
#[test]
fn it_keeps_what_the_seam_promises() {
    let given = std::env::var("HONEYCOMB_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or(1);
    let engines = Simulator { platform: Platform::IDEAL, seed, ..Simulator::default() };
    conformance::check(
        &DeviceBackend { engines, queue_bytes: QUEUE_BYTES_MIN, ..DeviceBackend::default() },
        seed,
    );
}

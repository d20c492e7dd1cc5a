//! The accelerator in SystemVerilog passes the conformance suite of backends.
#![allow(missing_docs)]

use honeycomb_accelerator::DeviceBackend;
use honeycomb_simulator::Simulator;
use honeycomb_simulator::platform::Platform;
use honeycomb_testing::{conformance, seed_or};

/// The smallest allowed queue, because the cycles of a test that fills a queue grow with its size.
const QUEUE_BYTES_MIN: usize = 131_104;

/// Takes minutes. Uses memory without latency, because each simulated cycle costs time.
#[test]
fn the_simulator_conforms_to_the_seam() {
    let seed = seed_or(1);
    let engines = Simulator { platform: Platform::IDEAL, seed, ..Simulator::default() };
    conformance::check(
        &DeviceBackend { engines, queue_bytes: QUEUE_BYTES_MIN, ..DeviceBackend::default() },
        &conformance::node_configs(),
        seed,
    );
}

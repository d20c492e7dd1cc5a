//! The software accelerator and the model of a device pass the conformance suite.
#![allow(missing_docs)]

use std::sync::Arc;

use honeycomb_accelerator::{Backend, DeviceBackend, Error, Software};
use honeycomb_btree::{Config, Forest};
use honeycomb_testing::{DeviceModel, conformance, seed_or};

/// Runs the suite with the seed from the environment, or with a default seed.
fn check(backend: impl Backend, default_seed: u64) {
    conformance::check(&backend, &conformance::configs(), seed_or(default_seed));
}

#[test]
fn default_parameters() {
    check(Software::default(), 1);
}

#[test]
fn one_request_at_a_time() {
    check(Software { in_flight: 1, ..Software::default() }, 2);
}

#[test]
fn the_maximum_of_requests_at_a_time() {
    check(Software { in_flight: 64, scan_quantum_pairs: 1_000, ..Software::default() }, 3);
}

#[test]
fn quanta_of_one_pair() {
    check(Software { in_flight: 3, scan_quantum_pairs: 1, ..Software::default() }, 4);
}

#[test]
fn the_smallest_queue() {
    check(Software { scan_quantum_pairs: 7, queue_bytes: 131_104, ..Software::default() }, 5);
}

/// A model of a device with these parameters.
fn device(in_flight: usize, result_bytes: usize, scan_quantum_pairs: usize) -> DeviceBackend<DeviceModel> {
    DeviceBackend {
        engines: DeviceModel { in_flight, result_bytes },
        scan_quantum_pairs,
        ..DeviceBackend::default()
    }
}

#[test]
fn a_device() {
    check(DeviceBackend::<DeviceModel>::default(), 6);
}

#[test]
fn a_device_with_one_operation_at_a_time() {
    check(device(1, 1, 100), 7);
}

#[test]
fn a_device_with_many_operations_at_a_time() {
    check(device(200, 100, 3), 8);
}

#[test]
fn a_device_with_the_smallest_queue() {
    check(DeviceBackend { queue_bytes: 131_104, ..device(5, 70_000, 1_000) }, 9);
}

#[test]
fn parameters_are_checked_at_below_and_above_their_limits() {
    let forest = Arc::new(Forest::new(Config::default()).unwrap());
    let error =
        |backend: Software| backend.attach(&forest, &Arc::default()).err().map(|error| error.to_string());
    let default = Software::default();
    for in_flight in [1, 64] {
        assert_eq!(error(Software { in_flight, ..default }), None);
    }
    for in_flight in [0, 65] {
        let text = format!("in_flight is {in_flight}: allowed are 1 to 64");
        assert_eq!(error(Software { in_flight, ..default }), Some(text));
    }
    assert_eq!(error(Software { scan_quantum_pairs: 1, queue_bytes: 131_104, ..default }), None);
    let text = "scan_quantum_pairs is 0: allowed are 1 and more";
    assert_eq!(error(Software { scan_quantum_pairs: 0, ..default }).as_deref(), Some(text));
    let text = "queue_bytes is 131103: allowed are 131104 and more";
    assert_eq!(error(Software { queue_bytes: 131_103, ..default }).as_deref(), Some(text));
}

#[test]
fn parameters_of_a_device_are_checked() {
    let error = |backend: DeviceBackend<DeviceModel>| {
        let forest = Arc::new(Forest::new(Config::default()).unwrap());
        backend.attach(&forest, &Arc::default()).err().map(|error| error.to_string())
    };
    assert_eq!(error(DeviceBackend { queue_bytes: 131_104, ..device(1, 1, 1) }), None);
    let text = |name| Some(format!("{name} is 0: allowed are 1 and more"));
    assert_eq!(error(device(0, 1, 1)), text("in_flight"));
    assert_eq!(error(device(1, 0, 1)), text("result_bytes"));
    assert_eq!(error(device(1, 1, 0)), text("scan_quantum_pairs"));
    let text = "queue_bytes is 131103: allowed are 131104 and more";
    assert_eq!(error(DeviceBackend { queue_bytes: 131_103, ..device(1, 1, 1) }).as_deref(), Some(text));
}

#[test]
fn a_device_is_attached_before_the_first_tree() {
    let config = Config::default();
    let forest = Arc::new(Forest::new(config.clone()).unwrap());
    let first = (0..config.memory.devices)
        .map(|_| DeviceBackend::<DeviceModel>::default().attach(&forest, &Arc::default()).unwrap());
    let devices: Vec<_> = first.collect();
    let error = || DeviceBackend::<DeviceModel>::default().attach(&forest, &Arc::default()).unwrap_err();
    assert_eq!(error(), Error::Device("all 8 devices are in use".into()));
    drop(devices);
    let forest = Arc::new(Forest::new(config).unwrap());
    forest.create_tree().unwrap();
    let late =
        DeviceBackend::<DeviceModel>::default().attach(&forest, &Arc::default()).unwrap_err().to_string();
    assert!(late.ends_with("a device must register before the first tree is created"));
}

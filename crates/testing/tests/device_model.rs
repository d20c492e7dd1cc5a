//! The rules of an engine that the reference model must follow, checked step by step.
#![allow(missing_docs)]

use std::sync::{Arc, Mutex};

use honeycomb_accelerator::{
    Completion, Completions, Engine, Engines, HostMemory, Read, Request, Requests, Window,
};
use honeycomb_btree::{Forest, Operation, Root, Scan};
use honeycomb_memory::{BusAddress, Control, Device, Lid, Memory, MemoryError};
use honeycomb_testing::DeviceModel;
use honeycomb_testing::index::{MIB, forest, tiny};

const TABLE: u16 = 1;
const PAIRS: u64 = 300;

/// A model and its participation in the epochs.
struct AttachedModel {
    engine: Box<dyn Engine>,
    device: Device,
}

/// The arena as the model reads it.
struct Bus<'b>(&'b Memory, &'b Device);

impl HostMemory for Bus<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        self.0.read(self.1, address, into)
    }
}

impl AttachedModel {
    fn publish_window(&mut self) {
        let Window { oldest_in_flight, newest_started } = self.engine.window();
        self.device.publish_window(oldest_in_flight, newest_started);
    }
}

/// Forwards the notifications of writers to a model.
struct Driver(Mutex<AttachedModel>);

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}

impl Control for Driver {
    fn map(&self, lid: Lid, address: BusAddress) {
        self.0.lock().unwrap().engine.map(lid, address);
    }

    fn publish(&self, version: u64) {
        self.0.lock().unwrap().engine.publish(version);
    }
}

/// A tree of [`PAIRS`] pairs, and a model of a device that reads it.
struct Scene {
    forest: Forest,
    root: Root,
    driver: Arc<Driver>,
}

impl Scene {
    fn new() -> Self {
        let forest = forest(tiny(128), 4 * MIB, true);
        let engine = DeviceModel::default().engine(forest.shape().node_bytes).unwrap();
        let device = forest.memory().device().unwrap();
        let driver = Arc::new(Driver(Mutex::new(AttachedModel { engine, device })));
        forest.register(driver.clone()).unwrap();
        let root = forest.create_tree().unwrap();
        driver.0.lock().unwrap().engine.set_root(TABLE, Some(root.lid()));
        let scene = Self { forest, root, driver };
        scene.write(0..PAIRS, b"old");
        scene
    }

    fn write(&self, numbers: impl Iterator<Item = u64>, value: &[u8]) {
        for number in numbers {
            let key = (number % PAIRS).to_be_bytes();
            self.forest.write(self.root, &key, Operation::Put(value)).unwrap();
        }
    }

    /// Submits a read of the newest visible version. Returns whether the model has accepted it.
    fn submit(&self, identifier: u64, read: Read<'_>) -> bool {
        let mut requests = Requests::default();
        requests.push(&Request { identifier, table: TABLE, version: None, read }).unwrap();
        let mut model = self.driver.0.lock().unwrap();
        let is_accepted = model.engine.submit(requests.bytes());
        model.publish_window();
        is_accepted
    }

    fn is_idle(&self) -> bool {
        let Window { oldest_in_flight, newest_started } = self.driver.0.lock().unwrap().engine.window();
        oldest_in_flight > newest_started
    }

    /// Executes one step and appends its completions.
    fn step(&self, completions: &mut Completions) {
        let mut model = self.driver.0.lock().unwrap();
        let AttachedModel { engine, device } = &mut *model;
        engine.step(&Bus(self.forest.memory(), device), &mut |bytes| {
            completions.extend_from_bytes(bytes).unwrap();
        });
        model.publish_window();
    }
}

fn completion_of(completions: &Completions, identifier: u64) -> Completion<'_> {
    completions.iter().find(|completion| completion.identifier == identifier).unwrap()
}

/// Between any two steps of a scan, writers change pairs that it has not read yet, and memory is reclaimed.
/// The values keep their length, so that leaves are replaced, not split: a split leaves the old leaf to the
/// scan.
#[test]
fn memory_that_an_operation_in_flight_can_reach_is_not_reclaimed() {
    let (scan, get) = (1, 2);
    let scene = Scene::new();
    assert!(scene.submit(scan, Read::Scan { scan: Scan::default(), bytes_max: u32::MAX }));
    assert!(scene.submit(get, Read::Get(&7_u64.to_be_bytes())));
    let mut completions = Completions::default();
    for step in 0_u64.. {
        scene.step(&mut completions);
        if scene.is_idle() {
            break;
        }
        scene.write(step * 31..step * 31 + 31, b"new");
        scene.forest.memory().reclaim();
    }
    let value = completion_of(&completions, get).value();
    assert_eq!(value, Some(&b"new"[..]), "the get began after the scan");
    let parts = completions.iter().filter(|part| part.identifier == scan);
    let pairs: Vec<_> = parts.flat_map(|part| part.pairs()).collect();
    let numbers = (0..PAIRS).map(u64::to_be_bytes);
    assert!(pairs.iter().map(|(key, _)| key.to_vec()).eq(numbers.map(|number| number.to_vec())));
    assert!(pairs.iter().all(|(_, value)| value == b"old"), "the scan reads one version");
    scene.forest.memory().reclaim();
    assert_eq!(scene.forest.memory().accounting().retired_nodes, 0, "no operation is in flight");
}

/// Several writers may publish the same versions at the same time.
#[test]
fn an_old_version_does_not_replace_a_newer_one() {
    let scene = Scene::new();
    let visible = scene.forest.read_version();
    scene.driver.publish(1);
    assert!(scene.submit(1, Read::Get(&7_u64.to_be_bytes())));
    let mut completions = Completions::default();
    (0..100).for_each(|_| scene.step(&mut completions));
    let completion = completion_of(&completions, 1);
    assert_eq!((completion.read_version, completion.value()), (visible, Some(&b"old"[..])));
}

#[test]
fn a_full_model_accepts_no_request_until_one_completes() {
    let scene = Scene::new();
    let submit = |identifier| scene.submit(identifier, Read::Get(&7_u64.to_be_bytes()));
    let accepted = (0..100).take_while(|&identifier| submit(identifier));
    assert_eq!(accepted.count(), DeviceModel::default().in_flight);
    let mut completions = Completions::default();
    while completions.is_empty() {
        assert!(!submit(100));
        scene.step(&mut completions);
    }
    assert!(submit(100));
}

//! The host's side of a device: what writers tell it and what queues ask of it come together here.
//!
//! 1. The engine, its window and the answers on their way: under the lock. So what a writer tells is told
//!    before or after a step, not within one.
//! 2. A request is in the window that is published before the lock is given back, and before the next step.
//! 3. Nobody who holds the lock waits for a writer: steps read the arena, and take no locks of nodes.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_layout::completion;
use honeycomb_memory::{BusAddress, Control, Device, Lid, Memory, MemoryError};

use crate::device::engine::{Engine, HostMemory, Window};

#[derive(Debug)]
pub(super) struct Port(Mutex<DeviceBackend>);

/// A device whose lock is held.
pub(super) struct DeviceBackend {
    pub(super) engine: Box<dyn Engine>,
    device: Device,
    /// What each queue has not fetched yet.
    answers: HashMap<u32, Vec<Vec<u8>>>,
    next_queue: u32,
    next_request: u32,
}

impl Port {
    pub(super) fn new(engine: Box<dyn Engine>, device: Device) -> Self {
        let device =
            DeviceBackend { engine, device, answers: HashMap::new(), next_queue: 0, next_request: 0 };
        Self(Mutex::new(device))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, DeviceBackend> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Control for Port {
    fn map(&self, lid: Lid, address: BusAddress) {
        self.lock().engine.map(lid, address);
    }

    fn publish(&self, version: u64) {
        self.lock().engine.publish(version);
    }
}

impl fmt::Debug for DeviceBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceBackend").field("window", &self.engine.window()).finish_non_exhaustive()
    }
}

/// The arena as the device reads it while operations are in its window.
struct Bus<'b> {
    memory: &'b Memory,
    device: &'b Device,
}

impl HostMemory for Bus<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        self.memory.read(self.device, address, into)
    }
}

impl DeviceBackend {
    /// A number for a queue, until it is closed.
    pub(super) fn open_queue(&mut self) -> u32 {
        let queue = self.next_queue;
        self.next_queue += 1;
        self.answers.insert(queue, Vec::new());
        queue
    }

    pub(super) fn close_queue(&mut self, queue: u32) {
        self.answers.remove(&queue);
    }

    /// Submits a request of a queue, if there is room: the identifier that the device knows it by.
    pub(super) fn submit(&mut self, queue: u32, request: &mut [u8]) -> Option<u64> {
        let identifier = u64::from(queue) << 32 | u64::from(self.next_request);
        request[..8].copy_from_slice(&identifier.to_le_bytes());
        if !self.engine.submit(request) {
            return None;
        }
        self.next_request = self.next_request.wrapping_add(1);
        self.publish_window();
        Some(identifier)
    }

    pub(super) fn step(&mut self, memory: &Memory) {
        let Self { engine, device, answers, .. } = self;
        engine.step(&Bus { memory, device }, &mut |answer| {
            let queue =
                identifier(answer).and_then(|identifier| answers.get_mut(&((identifier >> 32) as u32)));
            // Of a queue that is gone nobody wants the answers.
            queue.into_iter().for_each(|answers| answers.push(answer.to_vec()));
        });
        self.publish_window();
    }

    /// What was answered to a queue since it last asked.
    pub(super) fn take_answers(&mut self, queue: u32) -> Vec<Vec<u8>> {
        self.answers.get_mut(&queue).map(std::mem::take).unwrap_or_default()
    }

    fn publish_window(&mut self) {
        let Window { oldest_in_flight, newest_started } = self.engine.window();
        self.device.publish_window(oldest_in_flight, newest_started);
    }
}

/// The identifier of a completion; none if it is none.
pub(super) fn identifier(answer: &[u8]) -> Option<u64> {
    answer.get(completion::IDENTIFIER_OFFSET..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use honeycomb_btree::{Config, Forest, Operation, Root, Scan, Shape};
    use honeycomb_memory::MemoryConfig;

    use super::*;
    use crate::completion::{Completion, parse};
    use crate::device::{Engines, Model};
    use crate::request::{Read, Request, Requests};

    struct Scene {
        forest: Forest,
        root: Root,
        port: Arc<Port>,
        queue: u32,
    }

    const PAIRS: u64 = 300;

    impl Scene {
        fn new() -> Self {
            let shape = Shape {
                node_bytes: 1024,
                log_threshold_bytes: 128,
                segment_bytes_min: 32,
                shortcut_block_bytes: 64,
                ..Shape::default()
            };
            let memory = MemoryConfig { arena_bytes: 4 << 20, huge_pages: false, ..MemoryConfig::default() };
            let forest = Forest::new(Config { memory, shape, ..Config::default() }).unwrap();
            let engine = Model::default().engine(&shape).unwrap();
            let port = Arc::new(Port::new(engine, forest.memory().device().unwrap()));
            forest.register(port.clone()).unwrap();
            let root = forest.create_tree().unwrap();
            let queue = port.lock().open_queue();
            port.lock().engine.set_root(1, Some(root.lid()));
            let scene = Self { forest, root, port, queue };
            scene.write(0..PAIRS, b"old");
            scene
        }

        fn write(&self, numbers: impl Iterator<Item = u64>, value: &[u8]) {
            for number in numbers {
                let key = (number % PAIRS).to_be_bytes();
                self.forest.write(self.root, &key, Operation::Put(value)).unwrap();
            }
        }

        /// Submits a read of what is visible now.
        fn submit(&self, read: Read<'_>) -> u64 {
            let mut requests = Requests::default();
            requests.push(&Request { identifier: 0, table: 1, version: None, read }).unwrap();
            self.port.lock().submit(self.queue, &mut requests.bytes().to_vec()).unwrap()
        }

        fn is_idle(&self) -> bool {
            let Window { oldest_in_flight, newest_started } = self.port.lock().engine.window();
            oldest_in_flight > newest_started
        }

        fn step(&self) -> Vec<Vec<u8>> {
            let mut device = self.port.lock();
            device.step(self.forest.memory());
            device.take_answers(self.queue)
        }
    }

    fn value<'a>(answers: &'a [Vec<u8>], identifier: u64) -> Option<Completion<'a>> {
        let completions = answers.iter().map(|answer| parse(answer).unwrap().0);
        completions.into_iter().find(|completion| completion.identifier == identifier)
    }

    /// Between any two steps of a scan all that it has not come to is changed and reclaimed if it can be.
    #[test]
    fn what_an_operation_in_flight_can_reach_stays() {
        let scene = Scene::new();
        let scan = scene.submit(Read::Scan { scan: Scan::default(), bytes_max: u32::MAX });
        let other = scene.submit(Read::Get(&7_u64.to_be_bytes()));
        let mut answers = Vec::new();
        for step in 0_u64.. {
            answers.extend(scene.step());
            if scene.is_idle() {
                break;
            }
            scene.write(step * 31..step * 31 + 31, b"later");
            scene.forest.memory().reclaim();
        }
        assert_eq!(value(&answers, other).unwrap().value(), Some(&b"later"[..]), "it began after the scan");
        let parts =
            answers.iter().map(|answer| parse(answer).unwrap().0).filter(|part| part.identifier == scan);
        let pairs: Vec<_> = parts.flat_map(|part| part.pairs()).collect();
        let numbers = (0..PAIRS).map(u64::to_be_bytes);
        assert!(pairs.iter().map(|(key, _)| key.to_vec()).eq(numbers.map(|number| number.to_vec())));
        assert!(pairs.iter().all(|(_, value)| value == b"old"), "it is of one version");
        scene.forest.memory().reclaim();
        assert_eq!(scene.forest.memory().accounting().retired_nodes, 0, "nothing is in flight any more");
    }

    /// Writers may tell the same versions at the same time.
    #[test]
    fn a_version_that_comes_late_does_not_count() {
        let scene = Scene::new();
        let visible = scene.forest.read_version();
        scene.port.publish(1);
        let get = scene.submit(Read::Get(&7_u64.to_be_bytes()));
        let answers: Vec<_> = (0..100).flat_map(|_| scene.step()).collect();
        let found = value(&answers, get).unwrap();
        assert_eq!((found.read_version, found.value()), (visible, Some(&b"old"[..])));
    }

    #[test]
    fn a_full_engine_takes_no_more_and_a_queue_that_is_gone_gets_no_answers() {
        let scene = Scene::new();
        let mut requests = Requests::default();
        let read = Read::Scan { scan: Scan::default(), bytes_max: u32::MAX };
        requests.push(&Request { identifier: 0, table: 1, version: None, read }).unwrap();
        let gone = scene.port.lock().open_queue();
        let taken =
            (0..100).take_while(|_| scene.port.lock().submit(gone, &mut requests.bytes().to_vec()).is_some());
        assert_eq!(taken.count(), Model::default().in_flight);
        scene.port.lock().close_queue(gone);
        assert!((0..100_000).all(|_| scene.step().is_empty()));
        let get = scene.submit(Read::Get(&7_u64.to_be_bytes()));
        let answers: Vec<_> = (0..100).flat_map(|_| scene.step()).collect();
        assert!(value(&answers, get).is_some(), "they are over");
    }
}

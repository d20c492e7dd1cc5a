//! The driver's side of a device: it serializes the notifications of writers and the requests of queues.
//!
//! 1. A thread accesses the engine, its window and its undelivered completions only under the lock. So a
//!    notification arrives before or after a step, never during one.
//! 2. The window that contains a request is published before the thread that submitted the request releases
//!    the lock, and before the next step.
//! 3. A thread with the lock never waits for a writer: steps read the arena and lock no node.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_layout::completion as layout;
use honeycomb_memory::{BusAddress, Control, Device, Lid, Memory, MemoryError};

use crate::device::engine::{Engine, HostMemory, Window};

#[derive(Debug)]
pub(super) struct Port(Mutex<AttachedDevice>);

/// The state behind the lock of a port.
pub(super) struct AttachedDevice {
    pub(super) engine: Box<dyn Engine>,
    device: Device,
    /// The completions that each open queue has not received yet.
    completions: HashMap<u32, Vec<Vec<u8>>>,
    next_queue: u32,
    next_request: u32,
}

impl Port {
    pub(super) fn new(engine: Box<dyn Engine>, device: Device) -> Self {
        let completions = HashMap::new();
        Self(Mutex::new(AttachedDevice { engine, device, completions, next_queue: 0, next_request: 0 }))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, AttachedDevice> {
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

impl fmt::Debug for AttachedDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttachedDevice").field("window", &self.engine.window()).finish_non_exhaustive()
    }
}

/// The arena as the device reads it while it has operations in its window.
struct Bus<'b> {
    memory: &'b Memory,
    device: &'b Device,
}

impl HostMemory for Bus<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        self.memory.read(self.device, address, into)
    }
}

impl AttachedDevice {
    /// Opens a queue. Returns its number, which no other open queue has.
    pub(super) fn open_queue(&mut self) -> u32 {
        let queue = self.next_queue;
        self.next_queue += 1;
        self.completions.insert(queue, Vec::new());
        queue
    }

    pub(super) fn close_queue(&mut self, queue: u32) {
        self.completions.remove(&queue);
    }

    /// Submits a request of a queue. Returns the identifier that the driver gives to it, or `None` if the
    /// engine is full.
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
        let Self { engine, device, completions, .. } = self;
        engine.step(&Bus { memory, device }, &mut |completion| {
            let queue = identifier(completion)
                .and_then(|identifier| completions.get_mut(&((identifier >> 32) as u32)));
            // The driver drops the completions of closed queues.
            queue.into_iter().for_each(|completions| completions.push(completion.to_vec()));
        });
        self.publish_window();
    }

    /// Removes and returns the completions of a queue.
    pub(super) fn take_completions(&mut self, queue: u32) -> Vec<Vec<u8>> {
        self.completions.get_mut(&queue).map(std::mem::take).unwrap_or_default()
    }

    fn publish_window(&mut self) {
        let Window { oldest_in_flight, newest_started } = self.engine.window();
        self.device.publish_window(oldest_in_flight, newest_started);
    }
}

/// Returns the identifier of a completion; `None` if the bytes are too short for one.
pub(super) fn identifier(completion: &[u8]) -> Option<u64> {
    completion.get(layout::IDENTIFIER_OFFSET..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use honeycomb_memory::MemoryConfig;

    use super::*;

    const CAPACITY: usize = 3;

    /// Completes the oldest request in each step, with a completion that consists of the request's bytes.
    #[derive(Default)]
    struct EchoEngine {
        requests: Vec<Vec<u8>>,
        submitted: u64,
    }

    impl Engine for EchoEngine {
        fn set_root(&mut self, _: u16, _: Option<Lid>) {}

        fn map(&mut self, _: Lid, _: BusAddress) {}

        fn publish(&mut self, _: u64) {}

        fn submit(&mut self, request: &[u8]) -> bool {
            let is_accepted = self.requests.len() < CAPACITY;
            if is_accepted {
                self.requests.push(request.to_vec());
                self.submitted += 1;
            }
            is_accepted
        }

        fn step(&mut self, memory: &dyn HostMemory, complete: &mut dyn FnMut(&[u8])) {
            let is_in_flight = !matches!(memory.read(0, &mut [0]), Err(MemoryError::NoneInFlight));
            assert_eq!(is_in_flight, !self.requests.is_empty(), "the epochs know the window");
            if !self.requests.is_empty() {
                complete(&self.requests.remove(0));
            }
        }

        fn window(&self) -> Window {
            let oldest_in_flight = self.submitted + 1 - self.requests.len() as u64;
            Window { oldest_in_flight, newest_started: self.submitted }
        }
    }

    #[test]
    fn a_full_engine_accepts_no_request_and_a_closed_queue_receives_no_completion() {
        let config = MemoryConfig { arena_bytes: 1 << 20, huge_pages: false, ..MemoryConfig::default() };
        let memory = Memory::new(config).unwrap();
        let port = Port::new(Box::<EchoEngine>::default(), memory.device().unwrap());
        let [closed, open] = [(), ()].map(|()| port.lock().open_queue());
        let submit = |queue| port.lock().submit(queue, &mut [0; layout::SIZE]);
        let accepted = (0..100).take_while(|_| submit(closed).is_some());
        assert_eq!(accepted.count(), CAPACITY);
        port.lock().close_queue(closed);
        port.lock().step(&memory);
        let request = submit(open).unwrap();
        for _ in 0..CAPACITY - 1 {
            port.lock().step(&memory);
            assert!(port.lock().take_completions(open).is_empty());
        }
        (0..2).for_each(|_| port.lock().step(&memory));
        let completions = port.lock().take_completions(open);
        assert_eq!(completions.iter().map(|bytes| identifier(bytes)).collect::<Vec<_>>(), [Some(request)]);
        assert!(port.lock().take_completions(closed).is_empty());
    }
}

//! The host's side of a card: what writers tell it and what queues ask of it come together here.
//!
//! 1. The engine, its window and the answers on their way: under the lock. So what a writer tells is told before
//!    or after a step, not within one.
//! 2. A request is in the window that is published before the lock is given back, and before the next step.
//! 3. Nobody who holds the lock waits for a writer: steps read the arena, and take no locks of nodes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use honeycomb_layout::completion;
use honeycomb_memory::{BusAddress, Control, Device, Lid, Memory, MemoryError};

use crate::card::engine::{Engine, HostMemory, Window};

#[derive(Debug)]
pub(super) struct Port(Mutex<Card>);

/// A card whose lock is held.
#[derive(Debug)]
pub(super) struct Card {
    pub(super) engine: Box<dyn Engine>,
    device: Device,
    /// What each queue has not fetched yet.
    answers: HashMap<u32, Vec<Vec<u8>>>,
    next_queue: u32,
    next_request: u32,
}

impl Port {
    pub(super) fn new(engine: Box<dyn Engine>, device: Device) -> Self {
        let card = Card { engine, device, answers: HashMap::new(), next_queue: 0, next_request: 0 };
        Self(Mutex::new(card))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Card> {
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

/// The arena as the card reads it while operations are in its window.
struct Bus<'b> {
    memory: &'b Memory,
    device: &'b Device,
}

impl HostMemory for Bus<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        self.memory.read(self.device, address, into)
    }
}

impl Card {
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

    /// Submits a request of a queue, if there is room: the identifier that the card knows it by.
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

//! The model engine: what the accelerator in SystemVerilog does, as plain Rust.
//!
//! It is what that one is checked against, and the other side of the control plane where there is no
//! device. It reads nodes as bytes over the bus, by the layout alone, and shares no code with the ordered
//! index: so it is a second opinion on what the bytes mean. It models what is answered and in which order
//! memory is read, not how long that takes: a step is one visit of a node, or one value, of one
//! operation, and operations take steps in turn.

mod leaf;
mod log;
mod node;
mod operation;
mod reply;
mod scan;
mod toward;

use std::collections::{HashMap, VecDeque};

use honeycomb_btree::{Shape, Version};
use honeycomb_layout as layout;
use honeycomb_memory::{BusAddress, Lid, MemoryError};

use crate::accelerator::Error;
use crate::device::engine::{Engine, Engines, HostMemory, Window};
use node::Geometry;
use operation::{Operation, Progress};

/// The parameters of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// Operations in flight at one time: at least 1. Default 16.
    pub in_flight: usize,
    /// Bytes of pairs after which a part of an answer is given out: at least 1. Default 4096.
    pub result_bytes: usize,
}

impl Default for Model {
    fn default() -> Self {
        Self { in_flight: 16, result_bytes: 4096 }
    }
}

impl Engines for Model {
    fn engine(&self, shape: &Shape) -> Result<Box<dyn Engine>, Error> {
        for (name, value) in [("in_flight", self.in_flight), ("result_bytes", self.result_bytes)] {
            if value == 0 {
                return Err(Error::Parameter { name, value, allowed: "1 and more" });
            }
        }
        Ok(Box::new(ModelEngine::new(*self, shape)))
    }
}

/// What was read is no node, or cannot be read: something that a right host never shows.
struct Fault;

impl From<MemoryError> for Fault {
    fn from(_: MemoryError) -> Self {
        Self
    }
}

/// What the host has told.
struct Told {
    geometry: Geometry,
    /// Bus addresses by LID; 0 for none.
    page_table: Vec<u64>,
    roots: HashMap<u16, Lid>,
    read_version: Version,
    result_bytes: usize,
}

impl Told {
    /// Where the node of a LID is.
    fn address(&self, lid: u64) -> Result<u64, Fault> {
        let address = usize::try_from(lid).ok().and_then(|lid| self.page_table.get(lid)).copied();
        address.filter(|&address| address != 0).ok_or(Fault)
    }
}

struct ModelEngine {
    in_flight_max: usize,
    told: Told,
    newest_started: u64,
    /// In the order of their turns.
    operations: VecDeque<Operation>,
}

impl ModelEngine {
    fn new(parameters: Model, shape: &Shape) -> Self {
        let told = Told {
            geometry: Geometry::new(shape),
            page_table: Vec::new(),
            roots: HashMap::new(),
            read_version: 0,
            result_bytes: parameters.result_bytes,
        };
        Self { in_flight_max: parameters.in_flight, told, newest_started: 0, operations: VecDeque::new() }
    }
}

impl Engine for ModelEngine {
    fn set_root(&mut self, table: u16, root: Option<Lid>) {
        match root {
            Some(lid) => self.told.roots.insert(table, lid),
            None => self.told.roots.remove(&table),
        };
    }

    fn map(&mut self, lid: Lid, address: BusAddress) {
        let index = lid.get() as usize;
        if index >= self.told.page_table.len() {
            self.told.page_table.resize(index + 1, 0);
        }
        self.told.page_table[index] = address.get();
    }

    fn publish(&mut self, version: Version) {
        self.told.read_version = self.told.read_version.max(version);
    }

    fn submit(&mut self, request: &[u8]) -> bool {
        if self.operations.len() == self.in_flight_max {
            return false;
        }
        self.newest_started += 1;
        self.operations.push_back(Operation::new(self.newest_started, request));
        true
    }

    fn step(&mut self, memory: &dyn HostMemory, done: &mut dyn FnMut(&[u8])) {
        let Some(mut operation) = self.operations.pop_front() else { return };
        match operation.step(&self.told, memory, done) {
            Progress::Again => self.operations.push_back(operation),
            Progress::Done => {}
        }
    }

    fn window(&self) -> Window {
        let oldest = self.operations.iter().map(Operation::sequence).min();
        let oldest_in_flight = oldest.unwrap_or(self.newest_started + 1);
        Window { oldest_in_flight, newest_started: self.newest_started }
    }
}

/// A number of some bytes at an offset, little-endian.
fn number(bytes: &[u8], offset: usize, length: usize) -> Result<u64, Fault> {
    let part = offset.checked_add(length).and_then(|end| bytes.get(offset..end)).ok_or(Fault)?;
    let mut word = [0; 8];
    word.get_mut(..length).ok_or(Fault)?.copy_from_slice(part);
    Ok(u64::from_le_bytes(word))
}

/// Bytes of a node from one offset up to another.
fn slice(bytes: &[u8], from: usize, to: usize) -> Result<&[u8], Fault> {
    bytes.get(from..to).ok_or(Fault)
}

const _: () = assert!(layout::LID_BITS < usize::BITS as usize, "a LID is an index");

//! The reference model of a device: the behaviour of the accelerator in SystemVerilog, in plain Rust.
//!
//! Tests compare the accelerator with it, and it is the device of tests that need no simulation. It reads
//! nodes as bytes over the bus, by the layout alone, and shares no code with the ordered index. So it is an
//! independent interpretation of these bytes. It models completions and the order of memory reads, but not
//! time: a step visits one node, or reads one value, of one operation, and operations take steps in
//! round-robin order.

mod leaf;
mod log;
mod node;
mod operation;
mod reply;
mod scan;
mod target;

use std::collections::{HashMap, VecDeque};

use honeycomb_accelerator::{Engine, Engines, Error, HostMemory, Window, check_parameter};
use honeycomb_btree::Version;
use honeycomb_layout as layout;
use honeycomb_memory::{BusAddress, Lid, MemoryError};

use operation::{Operation, Progress};

/// The parameters of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceModel {
    /// Maximum number of operations in flight: at least 1. Default 16.
    pub in_flight: usize,
    /// Bytes of pairs after which the model emits a completion that a further one continues: at least 1.
    /// Default 4096.
    pub result_bytes: usize,
}

impl Default for DeviceModel {
    fn default() -> Self {
        Self { in_flight: 16, result_bytes: 4096 }
    }
}

impl Engines for DeviceModel {
    fn engine(&self, node_bytes: usize) -> Result<Box<dyn Engine>, Error> {
        check_parameter("in_flight", self.in_flight, 1..=usize::MAX)?;
        check_parameter("result_bytes", self.result_bytes, 1..=usize::MAX)?;
        Ok(Box::new(ModelEngine::new(*self, node_bytes)))
    }
}

/// The model read bytes that are not a node, or could not read them. A correct host never causes this.
struct Fault;

impl From<MemoryError> for Fault {
    fn from(_: MemoryError) -> Self {
        Self
    }
}

/// The device's copy of the host's state.
struct HostState {
    node_bytes: usize,
    /// Bus addresses by LID; 0 if the LID is not mapped.
    page_table: Vec<u64>,
    roots: HashMap<u16, Lid>,
    read_version: Version,
    result_bytes: usize,
}

impl HostState {
    /// The bus address of the node of a LID.
    fn address(&self, lid: u64) -> Result<u64, Fault> {
        let address = usize::try_from(lid).ok().and_then(|lid| self.page_table.get(lid)).copied();
        address.filter(|&address| address != 0).ok_or(Fault)
    }
}

struct ModelEngine {
    in_flight_max: usize,
    host: HostState,
    newest_started: u64,
    /// In round-robin order: the first takes the next step.
    operations: VecDeque<Operation>,
}

impl ModelEngine {
    fn new(parameters: DeviceModel, node_bytes: usize) -> Self {
        let host = HostState {
            node_bytes,
            page_table: Vec::new(),
            roots: HashMap::new(),
            read_version: 0,
            result_bytes: parameters.result_bytes,
        };
        Self { in_flight_max: parameters.in_flight, host, newest_started: 0, operations: VecDeque::new() }
    }
}

impl Engine for ModelEngine {
    fn set_root(&mut self, table: u16, root: Option<Lid>) {
        match root {
            Some(lid) => self.host.roots.insert(table, lid),
            None => self.host.roots.remove(&table),
        };
    }

    fn map(&mut self, lid: Lid, address: BusAddress) {
        let index = lid.get() as usize;
        if index >= self.host.page_table.len() {
            self.host.page_table.resize(index + 1, 0);
        }
        self.host.page_table[index] = address.get();
    }

    fn publish(&mut self, version: Version) {
        self.host.read_version = self.host.read_version.max(version);
    }

    fn submit(&mut self, request: &[u8]) -> bool {
        if self.operations.len() == self.in_flight_max {
            return false;
        }
        self.newest_started += 1;
        self.operations.push_back(Operation::new(self.newest_started, request));
        true
    }

    fn step(&mut self, memory: &dyn HostMemory, complete: &mut dyn FnMut(&[u8])) {
        let Some(mut operation) = self.operations.pop_front() else { return };
        match operation.step(&self.host, memory, complete) {
            Progress::Unfinished => self.operations.push_back(operation),
            Progress::Finished => {}
        }
    }

    fn window(&self) -> Window {
        let oldest = self.operations.iter().map(Operation::sequence).min();
        let oldest_in_flight = oldest.unwrap_or(self.newest_started + 1);
        Window { oldest_in_flight, newest_started: self.newest_started }
    }
}

/// Decodes a little-endian number of `length` bytes at an offset.
fn number(bytes: &[u8], offset: usize, length: usize) -> Result<u64, Fault> {
    let part = offset.checked_add(length).and_then(|end| bytes.get(offset..end)).ok_or(Fault)?;
    let mut word = [0; 8];
    word.get_mut(..length).ok_or(Fault)?.copy_from_slice(part);
    Ok(u64::from_le_bytes(word))
}

/// Returns the bytes of a node from one offset up to another.
fn slice(bytes: &[u8], from: usize, to: usize) -> Result<&[u8], Fault> {
    bytes.get(from..to).ok_or(Fault)
}

const _: () = assert!(layout::LID_BITS < usize::BITS as usize, "a LID is an index");

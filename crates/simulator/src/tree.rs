//! A tree in host memory, its writers, and what they tell the accelerator.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_btree::{Config, Forest, Operation, Root, Shape};
use honeycomb_memory::{BusAddress, Control, Device, Lid, MemoryConfig};
use honeycomb_workload::Sizes;

use crate::engine::Simulator;
use crate::machine::{Command, Machine};
use crate::measure::Error;
use crate::platform::LINE_BYTES;

/// What is in the tree, and how its nodes are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// Pairs: at least 1.
    pub pairs: u64,
    /// How long keys and values are.
    pub sizes: Sizes,
    /// Bytes of a node: a power of two from 1024 to 8192. Small ones make a small tree high.
    pub node_bytes: usize,
    /// Bytes that a log block may grow to.
    pub log_bytes: usize,
    /// Whether writes have versions.
    pub mvcc: bool,
}

impl Default for Data {
    fn default() -> Self {
        let shape = Shape::default();
        let (node_bytes, log_bytes) = (shape.node_bytes, shape.log_threshold_bytes);
        Self { pairs: 20_000, sizes: Sizes::DEFAULT, node_bytes, log_bytes, mvcc: true }
    }
}

/// A write of one pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) index: u64,
    /// The number of the change; none for an insert.
    pub(crate) change: Option<u64>,
}

/// A tree, and what its writers told.
pub(crate) struct Tree {
    forest: Forest,
    pub(crate) device: Device,
    root: Root,
    told: Arc<Told>,
    sizes: Sizes,
}

/// Arena for inserts, and what waits to be reclaimed.
const ROOM_BYTES: usize = 128 << 20;

impl Tree {
    /// A tree whose pairs were inserted one by one, in a random order of their keys.
    pub(crate) fn grow(data: &Data) -> Result<Self, Error> {
        let pair_bytes = data.sizes.pair_bytes() as usize * 4 + 64;
        let arena_bytes = (data.pairs as usize * pair_bytes).next_multiple_of(1 << 20) + ROOM_BYTES;
        let memory = MemoryConfig { arena_bytes, huge_pages: false, ..MemoryConfig::default() };
        let (node_bytes, log_threshold_bytes) = (data.node_bytes, data.log_bytes);
        let shape = Shape { node_bytes, log_threshold_bytes, ..Shape::default() };
        let forest = Forest::new(Config { memory, shape, mvcc: data.mvcc, ..Config::default() })?;
        let told = Arc::new(Told::default());
        forest.register(told.clone())?;
        let device = forest.memory().device()?;
        let root = forest.create_tree()?;
        let tree = Self { forest, device, root, told, sizes: data.sizes };
        (0..data.pairs).try_for_each(|index| tree.write(Write { index, change: None }))?;
        Ok(tree)
    }

    /// A machine that was told of the tree.
    pub(crate) fn machine(&self, simulator: &Simulator) -> Result<Machine, Error> {
        let mut machine = simulator.machine(self.forest.shape());
        let mut newest = BTreeMap::new();
        for command in self.take_told() {
            if let Command::Map { lid, address } = command {
                newest.insert(lid, address);
            }
        }
        let max = Simulator::NODES as u64 - 1;
        if let Some((&nodes, _)) = newest.last_key_value().filter(|(lid, _)| **lid > max) {
            return Err(Error::TooManyNodes { nodes, max });
        }
        machine.load(&newest);
        machine.tell(Command::Root { table: 0, lid: self.root.lid().get() });
        machine.tell(Command::Publish { version: self.forest.read_version() });
        machine.settle();
        Ok(machine)
    }

    /// Carries out a write, as a writer on the CPU does. What it tells is to be taken.
    pub(crate) fn write(&self, write: Write) -> Result<(), Error> {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        self.sizes.key(write.index, &mut key);
        self.sizes.value(write.index, write.change.unwrap_or(0), &mut value);
        let operation =
            if write.change.is_some() { Operation::Update(&value) } else { Operation::Insert(&value) };
        let wrote = self.forest.write(self.root, &key, operation)?.wrote();
        if wrote { Ok(()) } else { Err(Error::NotWritten { index: write.index }) }
    }

    /// What was told since it was last taken.
    pub(crate) fn take_told(&self) -> Vec<Command> {
        std::mem::take(&mut self.told.lock())
    }

    /// The key of a pair.
    pub(crate) fn key(&self, index: u64) -> Vec<u8> {
        let mut key = Vec::new();
        self.sizes.key(index, &mut key);
        key
    }

    pub(crate) fn read(&self, address: u64, line: &mut [u8; LINE_BYTES]) -> bool {
        self.forest.memory().read(&self.device, address, line).is_ok()
    }
}

/// What was told, in order.
#[derive(Debug, Default)]
struct Told(Mutex<Vec<Command>>);

impl Told {
    fn lock(&self) -> MutexGuard<'_, Vec<Command>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Control for Told {
    fn map(&self, lid: Lid, address: BusAddress) {
        self.lock().push(Command::Map { lid: lid.get(), address: address.get() });
    }

    fn publish(&self, version: u64) {
        let mut told = self.lock();
        // Of versions that come one after the other the last one says it all.
        match told.last_mut() {
            Some(Command::Publish { version: before }) => *before = version,
            _ => told.push(Command::Publish { version }),
        }
    }
}
